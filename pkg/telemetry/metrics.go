// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"net/http"
	"sort"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/version"
)

// NewRegistry makes a registry with the process's, the Go runtime's and the build's metrics.
func NewRegistry() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "kserve_build_info",
		Help:        "Always 1; the labels tell the build.",
		ConstLabels: prometheus.Labels{"version": version.Version, "commit": version.Commit},
	})
	info.Set(1)
	reg.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
		info,
	)
	return reg
}

// Handler serves the registry as Prometheus text, or as OpenMetrics when the client asks for it.
//
// In the text format each request histogram has a gauge <name>_created beside it, as the Python client library writes it and
// dashboards made for it expect; OpenMetrics has such samples of its own.
func Handler(reg *prometheus.Registry) http.Handler {
	text := promhttp.HandlerFor(withCreated{reg}, promhttp.HandlerOpts{})
	open := promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		EnableOpenMetrics:                   true,
		EnableOpenMetricsTextCreatedSamples: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w = &plainType{ResponseWriter: w}
		if expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...).FormatType() == expfmt.TypeOpenMetrics {
			open.ServeHTTP(w, r)
			return
		}
		text.ServeHTTP(w, r)
	})
}

// plainType takes the escaping parameter off the content type: no metric here has a name that needs escaping, and
// clients compare the type as the Python client library wrote it.
type plainType struct {
	http.ResponseWriter
	done bool
}

func (w *plainType) Write(p []byte) (int, error) {
	if !w.done {
		w.done = true
		plain, _, _ := strings.Cut(w.Header().Get("Content-Type"), "; escaping=")
		w.Header().Set("Content-Type", plain)
	}
	return w.ResponseWriter.Write(p)
}

type withCreated struct{ prometheus.Gatherer }

// Gather adds a gauge family of creation times for each request_*_seconds histogram.
func (g withCreated) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.Gatherer.Gather()
	for _, f := range families {
		name := f.GetName()
		if f.GetType() != dto.MetricType_HISTOGRAM || !strings.HasPrefix(name, "request_") {
			continue
		}
		created := &dto.MetricFamily{
			Name: proto.String(name + "_created"),
			Help: f.Help,
			Type: dto.MetricType_GAUGE.Enum(),
		}
		for _, m := range f.GetMetric() {
			at := m.GetHistogram().GetCreatedTimestamp()
			created.Metric = append(created.Metric, &dto.Metric{
				Label: m.GetLabel(),
				Gauge: &dto.Gauge{Value: proto.Float64(float64(at.AsTime().UnixNano()) / 1e9)},
			})
		}
		families = append(families, created)
	}
	sort.Slice(families, func(i, j int) bool { return families[i].GetName() < families[j].GetName() })
	return families, err
}
