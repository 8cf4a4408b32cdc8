// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kserve-go/kserve-go/pkg/data/serve/batch"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// startCounting makes what counts the waits and the batches of a lane.
func (l *lane) startCounting() {
	l.waits = newHistogram(1e-9, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
	l.batchRows = newHistogram(1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
	l.batchRequests = newHistogram(1, 1, 2, 4, 8, 16, 32, 64, 128, 256)
	l.batch = batch.New[*repository.Loaded](batch.Options{}, func(requests, rows int) {
		l.batchRequests.observe(int64(requests))
		l.batchRows.observe(int64(rows))
	})
}

// modelCounts tells Prometheus of queues, batches and memory, model by model.
type modelCounts struct {
	*metrics

	waits, batchRows, batchRequests *prometheus.Desc
	memory, limit, loads, evictions *prometheus.Desc
	config, configFaults, settings  *prometheus.Desc
}

func newModelCounts(m *metrics) *modelCounts {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"model_name"}, nil)
	}
	return &modelCounts{
		metrics:       m,
		waits:         desc("kserve_prediction_queue_seconds", "How long predictions waited for their turn and to be joined with others."),
		batchRows:     desc("kserve_batch_rows", "Rows of one prediction of a model whose requests may be joined."),
		batchRequests: desc("kserve_batch_requests", "Requests that one prediction of such a model answered."),
		memory: prometheus.NewDesc("kserve_model_memory_bytes", "Memory that a model takes; 0 for one that is not in memory.",
			[]string{"model_name", "version"}, nil),
		limit:        prometheus.NewDesc("kserve_model_memory_limit_bytes", "Memory that all models together may take.", nil, nil),
		loads:        prometheus.NewDesc("kserve_model_loads_total", "Times that a model was loaded, or could not be.", []string{"model_name", "result"}, nil),
		evictions:    desc("kserve_model_evictions_total", "Times that a model was let go of to make room for others."),
		config:       prometheus.NewDesc("kserve_model_config_valid", "1 when the list of models could be read the last time, else 0.", nil, nil),
		configFaults: prometheus.NewDesc("kserve_model_config_faults", "Entries of the list of models that are not served as they are.", nil, nil),
		settings:     prometheus.NewDesc("kserve_settings_valid", "1 when the settings file could be used the last time, else 0.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *modelCounts) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.waits, c.batchRows, c.batchRequests, c.memory, c.limit, c.loads, c.evictions, c.config, c.configFaults, c.settings} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *modelCounts) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, l := range c.lanes {
		ch <- l.waits.metric(c.waits, name)
		if l.batch.On() {
			ch <- l.batchRows.metric(c.batchRows, name)
			ch <- l.batchRequests.metric(c.batchRequests, name)
		}
	}
	c.collectModels(ch)
}

func (c *modelCounts) collectModels(ch chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	}
	counter := func(desc *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
	}
	for _, e := range c.index() {
		gauge(c.memory, float64(e.Bytes), e.Name, e.Version)
	}
	limit := c.models.Memory()
	for name, t := range c.models.Tallies() {
		counter(c.loads, t.Loads, name, "loaded")
		counter(c.loads, t.Failures, name, "failed")
		if limit > 0 {
			counter(c.evictions, t.Evictions, name)
		}
	}
	if limit > 0 {
		gauge(c.limit, float64(limit))
	}
	if state := c.metrics.config.Load(); state != 0 {
		gauge(c.config, float64(max(state, 0)))
		gauge(c.configFaults, float64(c.list.Load().faults.Load()))
	}
	if state := c.metrics.settings.Load(); state != 0 {
		gauge(c.settings, float64(max(state, 0)))
	}
}
