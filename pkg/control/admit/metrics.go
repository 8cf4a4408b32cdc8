// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kserve-go/kserve-go/pkg/control/admit/certificates"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// metrics of the webhook. Every label has few values: none is made of what a request says.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer, keeper *certificates.Keeper, w *world) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kserve_webhook_requests_total", Help: "Admission reviews by what they are about, operation and outcome.",
		}, []string{"resource", "operation", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "kserve_webhook_request_duration_seconds", Help: "Time to answer an admission review.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"resource", "operation"}),
	}
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value)
	}
	const expiry, expiryHelp = "kserve_webhook_certificate_expiry_timestamp_seconds", "When a certificate ends, in seconds since 1970; 0 while there is none."
	registry.MustRegister(
		m.requests, m.seconds,
		gauge(expiry, expiryHelp, prometheus.Labels{"certificate": "serving"}, func() float64 {
			served, _, _ := keeper.Expiry()
			return seconds(served)
		}),
		gauge(expiry, expiryHelp, prometheus.Labels{"certificate": "authority"}, func() float64 {
			_, authority, _ := keeper.Expiry()
			return seconds(authority)
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "kserve_webhook_certificate_rotations_total", Help: "Certificates that were replaced by a newer one while serving.",
		}, func() float64 {
			_, _, rotations := keeper.Expiry()
			return float64(rotations)
		}),
		gauge(settings.MetricValid, "1 while the operator's ConfigMap can be used, 0 while the last good settings (if any) stand in for it.", nil, func() float64 {
			if _, fault := w.held.Current(); fault != nil {
				return 0
			}
			return 1
		}),
	)
	return m
}

func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}

// observer counts the reviews of one path.
func (m *metrics) observer(resource string) func(operation, outcome string, took time.Duration) {
	return func(operation, outcome string, took time.Duration) {
		switch operation {
		case "CREATE", "UPDATE", "DELETE", "CONNECT":
		default:
			operation = "none"
		}
		m.requests.WithLabelValues(resource, operation, outcome).Inc()
		m.seconds.WithLabelValues(resource, operation).Observe(took.Seconds())
	}
}
