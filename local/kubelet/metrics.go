// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/kserve-go/kserve-go/local/node"
	"github.com/kserve-go/kserve-go/local/usage"
)

// window is the least time over which a rate is taken.
const window = 5 * time.Second

// resourceMetrics is what a metrics server reads from a kubelet.
func (s *Server) resourceMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	n := s.Usage.Node()
	ms := n.At.UnixMilli()
	line := func(name, kind, labels string, v float64) {
		fmt.Fprintf(w, "# TYPE %s %s\n%s%s %g %d\n", name, kind, name, labels, v, ms)
	}
	line("node_cpu_usage_seconds_total", "counter", "", n.CPU)
	line("node_memory_working_set_bytes", "gauge", "", float64(n.Memory))
	uses := s.Node.Uses()
	for _, family := range []struct {
		name, kind string
		value      func(node.Used) float64
	}{
		{"container_cpu_usage_seconds_total", "counter", func(u node.Used) float64 { return u.CPU }},
		{"container_memory_working_set_bytes", "gauge", func(u node.Used) float64 { return float64(u.Memory) }},
		{"container_start_time_seconds", "gauge", func(u node.Used) float64 { return float64(u.Since.UnixMilli()) / 1000 }},
	} {
		fmt.Fprintf(w, "# TYPE %s %s\n", family.name, family.kind)
		for _, u := range uses {
			fmt.Fprintf(w, "%s{container=%q,namespace=%q,pod=%q} %g %d\n", family.name, u.Container, u.Pod.Namespace, u.Pod.Name, family.value(u), u.At.UnixMilli())
		}
	}
	_, _ = io.WriteString(w, "# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n") // a client that left
}

// rates turns growing counters into processors in use.
type rates struct {
	mu   sync.Mutex
	last map[string]point
}

// point is the sample before the newest window, and the rate since.
type point struct {
	usage.Sample
	prev usage.Sample
}

// rate is the processors that key used lately.
func (r *rates) rate(key string, now usage.Sample, since time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.last[key]
	if !ok || now.CPU < p.CPU {
		p = point{Sample: usage.Sample{At: since}, prev: usage.Sample{At: since}}
	}
	if now.At.Sub(p.At) >= window {
		p.prev, p.Sample = p.Sample, now
	}
	r.last[key] = p
	from := p.prev
	if d := now.At.Sub(from.At).Seconds(); d > 0 {
		return (now.CPU - from.CPU) / d
	}
	return 0
}

func (r *rates) keep(keys map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.last {
		if !keys[k] {
			delete(r.last, k)
		}
	}
}

// metricsAPI answers as the aggregated API metrics.k8s.io.
func (s *Server) metricsAPI(mux *http.ServeMux) {
	const base = "/apis/metrics.k8s.io/v1beta1"
	r := &rates{last: map[string]point{}}
	started := time.Now()
	mux.HandleFunc("GET "+base, func(w http.ResponseWriter, _ *http.Request) {
		verbs := metav1.Verbs{"get", "list"}
		writeJSON(w, metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: metricsv1beta1.SchemeGroupVersion.String(),
			APIResources: []metav1.APIResource{{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs}, {Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs}},
		})
	})
	nodeMetrics := func() metricsv1beta1.NodeMetrics {
		n := s.Usage.Node()
		return metricsv1beta1.NodeMetrics{
			TypeMeta:   metav1.TypeMeta{Kind: "NodeMetrics", APIVersion: metricsv1beta1.SchemeGroupVersion.String()},
			ObjectMeta: metav1.ObjectMeta{Name: s.NodeName}, Timestamp: metav1.NewTime(n.At), Window: metav1.Duration{Duration: window},
			Usage: amounts(r.rate("node", n, started), n.Memory),
		}
	}
	mux.HandleFunc("GET "+base+"/nodes", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, metricsv1beta1.NodeMetricsList{TypeMeta: listMeta("NodeMetricsList"), Items: []metricsv1beta1.NodeMetrics{nodeMetrics()}})
	})
	mux.HandleFunc("GET "+base+"/nodes/{name}", func(w http.ResponseWriter, req *http.Request) {
		if req.PathValue("name") != s.NodeName {
			fail(w, fmt.Errorf("node %q: %w", req.PathValue("name"), node.ErrNotFound))
			return
		}
		writeJSON(w, nodeMetrics())
	})
	list := func(w http.ResponseWriter, req *http.Request) {
		sel, err := labels.Parse(req.URL.Query().Get("labelSelector"))
		if err != nil {
			fail(w, fmt.Errorf("labelSelector: %w", err))
			return
		}
		ns := req.PathValue("namespace")
		items := slices.DeleteFunc(s.podMetrics(r), func(p metricsv1beta1.PodMetrics) bool {
			return (ns != "" && p.Namespace != ns) || !sel.Matches(labels.Set(p.Labels))
		})
		writeJSON(w, metricsv1beta1.PodMetricsList{TypeMeta: listMeta("PodMetricsList"), Items: items})
	}
	mux.HandleFunc("GET "+base+"/pods", list)
	mux.HandleFunc("GET "+base+"/namespaces/{namespace}/pods", list)
	mux.HandleFunc("GET "+base+"/namespaces/{namespace}/pods/{name}", func(w http.ResponseWriter, req *http.Request) {
		for _, p := range s.podMetrics(r) {
			if p.Namespace == req.PathValue("namespace") && p.Name == req.PathValue("name") {
				writeJSON(w, p)
				return
			}
		}
		fail(w, fmt.Errorf("pod %q: %w", req.PathValue("name"), node.ErrNotFound))
	})
}

func listMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: kind, APIVersion: metricsv1beta1.SchemeGroupVersion.String()}
}

func amounts(cpu float64, memory int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(cpu*1e9), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}
}

func (s *Server) podMetrics(r *rates) []metricsv1beta1.PodMetrics {
	out := []metricsv1beta1.PodMetrics{}
	keys := map[string]bool{"node": true}
	for _, u := range s.Node.Uses() {
		key := strings.Join([]string{string(u.Pod.UID), u.Container}, "/")
		keys[key] = true
		c := metricsv1beta1.ContainerMetrics{Name: u.Container, Usage: amounts(r.rate(key, u.Sample, u.Since), u.Memory)}
		if n := len(out); n > 0 && out[n-1].Name == u.Pod.Name && out[n-1].Namespace == u.Pod.Namespace {
			out[n-1].Containers = append(out[n-1].Containers, c)
			continue
		}
		out = append(out, metricsv1beta1.PodMetrics{
			TypeMeta:   metav1.TypeMeta{Kind: "PodMetrics", APIVersion: metricsv1beta1.SchemeGroupVersion.String()},
			ObjectMeta: metav1.ObjectMeta{Name: u.Pod.Name, Namespace: u.Pod.Namespace, Labels: u.Pod.Labels, CreationTimestamp: metav1.NewTime(u.Since)},
			Timestamp:  metav1.NewTime(u.At), Window: metav1.Duration{Duration: window}, Containers: []metricsv1beta1.ContainerMetrics{c},
		})
	}
	r.keep(keys)
	return out
}
