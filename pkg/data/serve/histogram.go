// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram counts in plain numbers, which costs a request less than the library's, and is told to Prometheus when it asks.
type histogram struct {
	bounds []float64
	unit   float64 // what one of the values is in the bounds' unit
	counts []atomic.Uint64
	sum    atomic.Int64
}

func newHistogram(unit float64, bounds ...float64) *histogram {
	return &histogram{bounds: bounds, unit: unit, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(value int64) {
	v := float64(value) * h.unit
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(value)
}

// metric is the histogram as it is now.
func (h *histogram) metric(desc *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	total := uint64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		if i < len(h.bounds) {
			buckets[h.bounds[i]] = total
		}
	}
	return prometheus.MustNewConstHistogram(desc, total, float64(h.sum.Load())*h.unit, buckets, labels...)
}
