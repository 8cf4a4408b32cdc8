// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// red is the rate, errors and duration of requests by model. Only names and versions of models that are here become labels: what clients make
// up does not.
type red struct {
	seconds *prometheus.HistogramVec
	index   func() []repository.Entry

	series atomic.Pointer[map[redKey]prometheus.Observer] // read without a lock, copied for each new one
	mu     sync.Mutex
}

type redKey struct {
	wire          wire
	name, version string
	code          int
}

func newRED(index func() []repository.Entry) *red {
	r := &red{index: index, seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "kserve_model_request_seconds",
		Help:    "Requests for predictions and explanations, from the end of the header to the end of the answer, refused ones too.",
		Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
	}, []string{"protocol", "model_name", "model_version", "code"})}
	r.series.Store(&map[redKey]prometheus.Observer{})
	return r
}

// Describe implements prometheus.Collector.
func (r *red) Describe(ch chan<- *prometheus.Desc) { r.seconds.Describe(ch) }

// Collect implements prometheus.Collector.
func (r *red) Collect(ch chan<- prometheus.Metric) {
	r.keep(r.index())
	r.seconds.Collect(ch)
}

func (r *red) observe(k redKey, took time.Duration) {
	series := (*r.series.Load())[k]
	if series == nil {
		series = r.add(k)
	}
	series.Observe(took.Seconds())
}

func (r *red) add(k redKey) prometheus.Observer {
	r.mu.Lock()
	defer r.mu.Unlock()
	bigger := maps.Clone(*r.series.Load())
	if bigger[k] == nil {
		bigger[k] = r.seconds.WithLabelValues(k.wire.String(), k.name, k.version, strconv.Itoa(k.code))
		r.series.Store(&bigger)
	}
	return bigger[k]
}

// keep drops the series of models and versions that are not in the index any more.
func (r *red) keep(index []repository.Entry) {
	type model struct{ name, version string }
	here := make(map[model]bool, len(index))
	for _, e := range index {
		here[model{e.Name, e.Version}] = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := maps.Clone(*r.series.Load())
	for k := range kept {
		if !here[model{k.name, k.version}] {
			delete(kept, k)
			r.seconds.DeleteLabelValues(k.wire.String(), k.name, k.version, strconv.Itoa(k.code))
		}
	}
	if len(kept) < len(*r.series.Load()) {
		r.series.Store(&kept)
	}
}

// observe counts a request for a model. One for a model that is not here is counted by its code alone, elsewhere.
func (s *Server) observe(on wire, name, version string, code int, took time.Duration) {
	entry, err := s.models.Status(name, version)
	if err != nil && version != "" {
		entry, err = s.models.Status(name, "")
	}
	if err == nil {
		s.metrics.red.observe(redKey{on, entry.Name, entry.Version, code}, took)
	}
}
