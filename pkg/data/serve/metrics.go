// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kserve-go/kserve-go/pkg/data/serve/batch"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// lane is what the requests of one model share, whatever its version.
type lane struct {
	gate
	preprocess, predict, postprocess prometheus.Observer

	incomplete atomic.Uint64 // predictions of rows with too few columns

	patience                        atomic.Int64 // the longest wait, in nanoseconds
	batch                           *batch.Batcher[*repository.Loaded]
	waits, batchRows, batchRequests *histogram
}

// wire numbers the protocols in the request counters.
type wire int

const (
	wireOther wire = iota
	wireV1
	wireV2
	wireGRPC
	wires
)

func (w wire) String() string { return [...]string{"other", "v1", "v2", "grpc"}[w] }

// codeCount bounds the status codes that have a counter: HTTP's, and below 100 gRPC's.
const codeCount = 600

// metrics counts what the server does. Names, labels, help texts and buckets of the four request histograms are those that dashboards
// for KServe's model servers know.
type metrics struct {
	preprocess, postprocess, predict, explain *prometheus.HistogramVec

	red      *red
	requests [wires][codeCount]atomic.Uint64
	panics   atomic.Uint64

	opts   Options
	index  func() []repository.Entry
	models *repository.Repository
	// config and settings are 1 when these files could be used the last time, -1 when not, 0 without one.
	config, settings atomic.Int32
	list             atomic.Pointer[modelConfig]

	mu       sync.Mutex
	lanes    map[string]*lane
	standard Limits                    // of models that have no settings of their own
	own      map[string]*modelSettings // of those that have
}

func newMetrics(o Options) *metrics {
	m := &metrics{opts: o, lanes: map[string]*lane{}, standard: o.Limits, own: map[string]*modelSettings{}}
	m.red = newRED(func() []repository.Entry { return m.index() })
	histogram := func(step, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "request_" + step + "_seconds",
			Help:    help + " request latency",
			Buckets: []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10},
		}, []string{"model_name"})
	}
	m.preprocess = histogram("preprocess", "pre-process")
	m.postprocess = histogram("postprocess", "post-process")
	m.predict = histogram("predict", "predict")
	m.explain = histogram("explain", "explain")
	o.Registry.MustRegister(m.preprocess, m.postprocess, m.predict, m.explain, m.red, newCounts(m), newModelCounts(m))
	return m
}

// lane finds or makes the lane of a model.
func (m *metrics) lane(name string) *lane {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lanes[name]
	if l == nil {
		m.explain.WithLabelValues(name)
		l = &lane{
			preprocess:  m.preprocess.WithLabelValues(name),
			predict:     m.predict.WithLabelValues(name),
			postprocess: m.postprocess.WithLabelValues(name),
		}
		l.startCounting()
		l.set(m.limits(name))
		m.lanes[name] = l
	}
	return l
}

// forget drops the series of a model that is gone, so that names that come and go do not pile up.
func (m *metrics) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lanes, name)
	for _, h := range []*prometheus.HistogramVec{m.preprocess, m.postprocess, m.predict, m.explain} {
		h.DeleteLabelValues(name)
	}
}

func (m *metrics) answered(w wire, code int) {
	if code >= 0 && code < codeCount {
		m.requests[w][code].Add(1)
	}
}

// counts is the part of metrics that is kept in plain numbers and told to Prometheus when it asks.
type counts struct {
	*metrics

	requests, panics, running, queued, rejected, incomplete, ready *prometheus.Desc
}

func newCounts(m *metrics) *counts {
	model := []string{"model_name"}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &counts{
		metrics:    m,
		requests:   desc("kserve_requests_total", "Requests answered, by protocol and HTTP status or gRPC code.", "protocol", "code"),
		panics:     desc("kserve_panics_total", "Requests that ended in a fault of the server's own and were answered 500."),
		running:    desc("kserve_predictions_running", "Predictions that run now.", model...),
		queued:     desc("kserve_predictions_queued", "Predictions that wait for their turn.", model...),
		rejected:   desc("kserve_predictions_rejected_total", "Predictions refused because the queue was full or the wait too long, or given up in the queue.", model...),
		incomplete: desc("kserve_predictions_incomplete_total", "Predictions of rows with fewer columns than the model was trained on.", model...),
		ready:      desc("kserve_model_ready", "1 for a model that can be used, else 0.", "model_name", "version"),
	}
}

// Describe implements prometheus.Collector.
func (c *counts) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.requests, c.panics, c.running, c.queued, c.rejected, c.incomplete, c.ready} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *counts) Collect(ch chan<- prometheus.Metric) {
	counter := func(desc *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for w := range wires {
		for code := range codeCount {
			if n := c.metrics.requests[w][code].Load(); n > 0 {
				counter(c.requests, n, w.String(), strconv.Itoa(code))
			}
		}
	}
	counter(c.panics, c.metrics.panics.Load())
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, l := range c.lanes {
		inside, waiting, refused := l.load()
		joining := min(l.batch.Waiting(), inside)
		inside, waiting = inside-joining, waiting+joining
		gauge(c.running, inside, name)
		gauge(c.queued, waiting, name)
		counter(c.rejected, refused, name)
		counter(c.incomplete, l.incomplete.Load(), name)
	}
	for _, e := range c.index() {
		ready := 0
		if e.State == repository.Ready {
			ready = 1
		}
		gauge(c.ready, ready, e.Name, e.Version)
	}
}
