// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/observe"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// States of a service, as they are counted.
const (
	stateReady    = "ready"
	stateStopped  = "stopped"
	stateBlocked  = "blocked"
	stateWaiting  = "waiting"
	stateFailed   = "failed"
	stateNotReady = "not_ready"
	// stateUnchanged is of passes only.
	stateUnchanged = "unchanged"
)

// Phases of a pass, in their order.
const (
	phaseGather  = "gather"
	phaseResolve = "resolve"
	phaseRender  = "render"
	phaseApply   = "apply"
	phaseObserve = "observe"
	phaseStatus  = "status"
)

// Metrics of what is reconciled. A nil Metrics counts nothing.
type Metrics struct {
	reconciled *prometheus.CounterVec
	written    *prometheus.CounterVec
	services   *prometheus.GaugeVec
	canaries   map[string]prometheus.Counter
	phases     map[string]prometheus.Observer

	mu     sync.Mutex
	states map[types.NamespacedName]string
}

// NewMetrics makes and registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kserve_reconcile_outcomes_total", Help: "Passes over an object, by kind and by what became of it.",
		}, []string{"kind", "outcome"}),
		written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kserve_object_writes_total", Help: "Requests that wrote an object, by kind and verb; dry-run asks without writing.",
		}, []string{"kind", "verb"}),
		services: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kserve_inferenceservices", Help: "InferenceServices by state.",
		}, []string{"state"}),
		states: map[types.NamespacedName]string{}, phases: map[string]prometheus.Observer{},
	}
	phases := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "kserve_reconcile_phase_seconds", Help: "Time that a pass over an InferenceService spends in each of its phases.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"phase"})
	for _, phase := range []string{phaseGather, phaseResolve, phaseRender, phaseApply, phaseObserve, phaseStatus} {
		m.phases[phase] = phases.WithLabelValues(phase)
	}
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kserve_canary_outcomes_total",
		Help: "What became of canary predictors: advanced to a further share or rolled_back by their measurements, promoted to be the predictor.",
	}, []string{"outcome"})
	m.canaries = map[string]prometheus.Counter{
		observe.EventAdvanced:   outcomes.WithLabelValues("advanced"),
		observe.EventRolledBack: outcomes.WithLabelValues("rolled_back"),
		observe.EventPromoted:   outcomes.WithLabelValues("promoted"),
	}
	for _, c := range []prometheus.Collector{m.reconciled, m.written, m.services, outcomes, phases} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Wrote counts a write.
func (m *Metrics) Wrote(kind, verb string) { m.wrote(kind, verb) }

func (m *Metrics) wrote(kind, verb string) {
	if m != nil {
		m.written.WithLabelValues(kind, verb).Inc()
	}
}

// canary counts what an event tells of a canary predictor; other events are not counted.
func (m *Metrics) canary(event string) {
	if m == nil {
		return
	}
	if c := m.canaries[event]; c != nil {
		c.Inc()
	}
}

// stopwatch measures the phases of one pass, one after the other.
type stopwatch struct {
	phases map[string]prometheus.Observer
	last   time.Time
}

func (m *Metrics) stopwatch() *stopwatch {
	if m == nil {
		return &stopwatch{}
	}
	return &stopwatch{phases: m.phases, last: time.Now()}
}

// done ends a phase; what comes now is the next.
func (w *stopwatch) done(phase string) {
	o := w.phases[phase]
	if o == nil {
		return
	}
	now := time.Now()
	o.Observe(now.Sub(w.last).Seconds())
	w.last = now
}

// unchanged counts a pass that was over at once, because nothing had changed since the one before.
func (m *Metrics) unchanged() {
	if m != nil {
		m.reconciled.WithLabelValues(servingv1beta1.InferenceServiceKind, stateUnchanged).Inc()
	}
}

// seen records the state of a service after a pass.
func (m *Metrics) seen(name types.NamespacedName, status *servingv1beta1.InferenceServiceStatus, failure error) {
	if m == nil {
		return
	}
	state := stateOf(status, failure)
	m.reconciled.WithLabelValues(servingv1beta1.InferenceServiceKind, state).Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.states[name]
	if before == state {
		return
	}
	if known {
		m.services.WithLabelValues(before).Dec()
	}
	m.states[name] = state
	m.services.WithLabelValues(state).Inc()
}

// gone forgets a service.
func (m *Metrics) gone(name types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.states[name]; known {
		m.services.WithLabelValues(before).Dec()
		delete(m.states, name)
	}
}

func stateOf(status *servingv1beta1.InferenceServiceStatus, failure error) string {
	var blocked *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(failure, &blocked):
		return stateBlocked
	case errors.As(failure, &waiting):
		return stateWaiting
	case failure != nil:
		return stateFailed
	}
	if c := status.Condition(servingv1beta1.Stopped); c != nil && c.Status == corev1.ConditionTrue {
		return stateStopped
	}
	if c := status.Condition(serving.ConditionReady); c != nil && c.Status == corev1.ConditionTrue {
		return stateReady
	}
	return stateNotReady
}
