// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is the pod's state as the API shows it.
func (w *worker) status() corev1.PodStatus {
	s := corev1.PodStatus{
		HostIP: w.node.Address, HostIPs: []corev1.HostIP{{IP: w.node.Address}}, StartTime: &w.started, Reason: w.reason, Message: w.message,
		QOSClass: w.pod.Status.QOSClass, ObservedGeneration: w.pod.Generation,
	}
	if a := w.address.Load(); a != nil {
		s.PodIP, s.PodIPs = *a, []corev1.PodIP{{IP: *a}}
	}
	var notReady, notInitialized []string
	for _, c := range w.containers {
		st := c.shown()
		if c.init {
			s.InitContainerStatuses = append(s.InitContainerStatuses, st)
			if !c.succeeded() && !(c.sidecar() && c.started) {
				notInitialized = append(notInitialized, c.spec.Name)
			}
			if c.sidecar() && !st.Ready {
				notReady = append(notReady, c.spec.Name)
			}
			continue
		}
		s.ContainerStatuses = append(s.ContainerStatuses, st)
		if !st.Ready {
			notReady = append(notReady, c.spec.Name)
		}
	}
	if w.initialized {
		notInitialized = nil
	}
	s.Phase = w.currentPhase()
	w.conditions(&s, notReady, notInitialized)
	return s
}

func (c *container) shown() corev1.ContainerStatus {
	st := *c.status.DeepCopy()
	started := c.started && st.State.Running != nil
	st.Started = &started
	st.Ready = c.ready && st.State.Running != nil
	if c.init && !c.sidecar() {
		st.Ready = c.succeeded()
	}
	return st
}

func (w *worker) currentPhase() corev1.PodPhase {
	if w.phase == corev1.PodSucceeded || w.phase == corev1.PodFailed {
		return w.phase
	}
	for _, c := range w.containers {
		if !c.init && (c.status.State.Running != nil || c.status.State.Terminated != nil || c.status.RestartCount > 0) {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

func (w *worker) conditions(s *corev1.PodStatus, notReady, notInitialized []string) {
	over := s.Phase == corev1.PodSucceeded
	list := func(what string, names []string) string {
		return "containers with " + what + " status: [" + strings.Join(names, " ") + "]"
	}
	w.condition(s, corev1.PodReadyToStartContainers, w.sandbox != nil && w.volumes != nil, "", "")
	w.condition(s, corev1.PodScheduled, true, "", "")
	switch {
	case len(notInitialized) > 0:
		w.condition(s, corev1.PodInitialized, false, "ContainersNotInitialized", list("incomplete", notInitialized))
	case over:
		w.condition(s, corev1.PodInitialized, true, "PodCompleted", "")
	default:
		w.condition(s, corev1.PodInitialized, true, "", "")
	}
	if over {
		w.condition(s, corev1.ContainersReady, false, "PodCompleted", "")
		w.condition(s, corev1.PodReady, false, "PodCompleted", "")
		return
	}
	ready := len(notReady) == 0 && s.Phase == corev1.PodRunning
	reason, message := "", ""
	if !ready {
		reason, message = "ContainersNotReady", list("unready", notReady)
	}
	w.condition(s, corev1.ContainersReady, ready, reason, message)
	for _, g := range w.pod.Spec.ReadinessGates {
		if !isTrue(w.pod.Status.Conditions, g.ConditionType) && ready {
			ready, reason, message = false, "ReadinessGatesNotReady", "corresponding condition of pod readiness gate \""+string(g.ConditionType)+"\" does not exist or is not True"
		}
	}
	w.condition(s, corev1.PodReady, ready, reason, message)
}

func isTrue(all []corev1.PodCondition, t corev1.PodConditionType) bool {
	for _, c := range all {
		if c.Type == t {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// condition adds one and keeps the time of its last change.
func (w *worker) condition(s *corev1.PodStatus, t corev1.PodConditionType, value bool, reason, message string) {
	c := corev1.PodCondition{
		Type: t, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.Now(), ObservedGeneration: w.pod.Generation,
	}
	if value {
		c.Status = corev1.ConditionTrue
	}
	for _, old := range append(append([]corev1.PodCondition{}, w.shownConditions...), w.pod.Status.Conditions...) {
		if old.Type == t {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			break
		}
	}
	s.Conditions = append(s.Conditions, c)
}

func (w *worker) setView() {
	v := &view{pod: w.pod, containers: map[string]*running{}}
	if a := w.address.Load(); a != nil && !w.closed {
		v.address = *a
	}
	v.sandbox = w.sandbox
	for _, c := range w.containers {
		if c.run != nil {
			v.containers[c.spec.Name] = &running{
				proc: c.run.proc, watch: c.run.watch, input: c.run.input, env: c.run.env, dir: c.run.dir, user: c.run.user, log: c.run.log, prev: c.run.prev, since: c.run.since,
			}
		} else {
			v.containers[c.spec.Name] = nil
		}
	}
	w.view.Store(v)
}
