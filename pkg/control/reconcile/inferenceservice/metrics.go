// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
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
)

// Metrics of what is reconciled. A nil Metrics counts nothing.
type Metrics struct {
	reconciled *prometheus.CounterVec
	written    *prometheus.CounterVec
	services   *prometheus.GaugeVec

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
		states: map[types.NamespacedName]string{},
	}
	for _, c := range []prometheus.Collector{m.reconciled, m.written, m.services} {
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
