// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// firstMetrics is how long an autoscaler may do without the metrics of pods that serve: they come a while after the pods.
const firstMetrics = 2 * time.Minute

// autoscalers tells, while a component serves, that its number of pods does not follow what is asked of it. The service is ready all the same.
func (o *observer) autoscalers() {
	if o.in.Plan.Mode != serving.Standard {
		return
	}
	for _, role := range roles() {
		part, c := o.parts[role], o.in.Plan.Component(role)
		if part == nil || c == nil || part.status != corev1.ConditionTrue {
			continue
		}
		if f := o.autoscaler(c); f.reason != "" {
			f.status, f.weak, f.tell = corev1.ConditionFalse, true, true
			f.message = "the " + string(role) + " is not scaled: " + f.message
			o.conditions.put(servingv1beta1.AutoscalerReady, f)
			return
		}
	}
}

// autoscaler is what keeps the autoscaler of a component from its work.
func (o *observer) autoscaler(c *plan.Component) fact {
	if u := o.in.Children.OptionalObject(plan.ScaledObject.Group, plan.ScaledObject.Kind, c.Name); u != nil && u.GetDeletionTimestamp() == nil {
		var s struct {
			Conditions []serving.Condition `json:"conditions,omitempty"`
		}
		if !readStatus(u, &s) {
			return fact{}
		}
		if bad := find(s.Conditions, "Ready"); bad != nil && bad.Status == corev1.ConditionFalse {
			return fact{reason: reasonOr(bad.Reason, ReasonAutoscalerFailed), message: "KEDA cannot use ScaledObject " + c.Name + ": " + sentence(bounded(bad.Message, maxDetail)) + " Correct the metrics of the component, or let KEDA reach what they are read from"}
		}
		if bad := find(s.Conditions, "Fallback"); bad != nil && bad.Status == corev1.ConditionTrue {
			return fact{reason: reasonOr(bad.Reason, ReasonAutoscalerFailed), message: "KEDA cannot read the metrics of ScaledObject " + c.Name + " and keeps the pods of its fallback: " + sentence(bounded(bad.Message, maxDetail)) + " Let KEDA reach what they are read from"}
		}
		return fact{}
	}
	for _, h := range o.in.Children.Autoscalers {
		if h.Name == c.Name && h.DeletionTimestamp.IsZero() {
			return o.podAutoscaler(h, readyCondition(c.Role))
		}
	}
	return fact{}
}

// podAutoscaler is what keeps a HorizontalPodAutoscaler from its work, for longer than it takes pods that serve to be measured.
func (o *observer) podAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler, ready serving.ConditionType) fact {
	for i := range h.Status.Conditions {
		bad := &h.Status.Conditions[i]
		if bad.Status != corev1.ConditionFalse || bad.Reason == "ScalingDisabled" ||
			bad.Type != autoscalingv2.ScalingActive && bad.Type != autoscalingv2.AbleToScale {
			continue
		}
		since := bad.LastTransitionTime
		if serves := find(o.conditions.list, ready); serves != nil && since.Before(&serves.LastTransitionTime) {
			since = serves.LastTransitionTime
		}
		if left := firstMetrics - max(0, o.in.Now.Sub(since.Time)); left > 0 {
			o.lookAgain(left)
			continue
		}
		advice := " Kubernetes tries again every few seconds"
		if strings.Contains(bad.Reason, "Metric") {
			advice += "; see whether the cluster's metrics API answers, and whether the containers request the resource that is measured"
		}
		return fact{reason: reasonOr(bad.Reason, ReasonAutoscalerFailed), message: "HorizontalPodAutoscaler " + h.Name + ": " + sentence(bounded(bad.Message, maxDetail)) + advice}
	}
	return fact{}
}

func reasonOr(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}
