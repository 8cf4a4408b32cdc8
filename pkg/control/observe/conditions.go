// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// roles in the order in which clients are used to see them judged.
func roles() [3]serving.ComponentRole {
	return [3]serving.ComponentRole{serving.Predictor, serving.Transformer, serving.Explainer}
}

func readyCondition(role serving.ComponentRole) serving.ConditionType {
	switch role {
	case serving.Transformer:
		return servingv1beta1.TransformerReady
	case serving.Explainer:
		return servingv1beta1.ExplainerReady
	default:
		return servingv1beta1.PredictorReady
	}
}

func routeCondition(role serving.ComponentRole) serving.ConditionType {
	switch role {
	case serving.Transformer:
		return servingv1beta1.TransformerRouteReady
	case serving.Explainer:
		return servingv1beta1.ExplainerRoutesReady
	default:
		return servingv1beta1.PredictorRouteReady
	}
}

func configurationCondition(role serving.ComponentRole) serving.ConditionType {
	switch role {
	case serving.Transformer:
		return servingv1beta1.TransformerConfigurationReady
	case serving.Explainer:
		return servingv1beta1.ExplainerConfigurationReady
	default:
		return servingv1beta1.PredictorConfigurationReady
	}
}

// dependents are what Ready is made of; the order says whose cause Ready shows.
func dependents() [2]serving.ConditionType {
	return [2]serving.ConditionType{servingv1beta1.PredictorReady, servingv1beta1.IngressReady}
}

// isOurs tells the conditions that this package writes, and takes away when they no longer apply. Others are left as they are.
func isOurs(kind serving.ConditionType) bool {
	switch kind {
	case serving.ConditionReady, servingv1beta1.IngressReady, servingv1beta1.RoutesReady, servingv1beta1.LatestDeploymentReady,
		servingv1beta1.CanaryPredictorReady, servingv1beta1.Stopped, servingv1beta1.OCIImageVolumeCompatible,
		servingv1beta1.AutoscalerReady, servingv1beta1.HostUnique:
		return true
	}
	for _, role := range roles() {
		if kind == readyCondition(role) || kind == routeCondition(role) || kind == configurationCondition(role) {
			return true
		}
	}
	return false
}

// fact is a condition before it has a type and a time.
type fact struct {
	status  corev1.ConditionStatus
	reason  string
	message string
	// weak says that the message knows less than an earlier one with the same reason may have known.
	weak bool
	// tell says that it is a cause which an event tells when it is new.
	tell bool
}

// why stands in messages between what is the case and the cause of it.
const why = ": "

// conditions is the set that a status ends with: sorted by type, Ready following from its dependents, times of transitions kept.
type conditions struct {
	old  []serving.Condition
	now  metav1.Time
	list []serving.Condition
	// tell are the conditions whose causes events tell.
	tell []serving.ConditionType
}

func find(list []serving.Condition, kind serving.ConditionType) *serving.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// put sets a condition. An old message that says the same in other figures stays, so that a retry is not a change.
func (s *conditions) put(kind serving.ConditionType, f fact) {
	c := serving.Condition{Type: kind, Status: f.status, LastTransitionTime: s.now, Reason: f.reason, Message: bounded(f.message, maxMessage)}
	s.tell = slices.DeleteFunc(s.tell, func(k serving.ConditionType) bool { return k == kind })
	if f.tell {
		s.tell = append(s.tell, kind)
	}
	if kind != serving.ConditionReady && kind != servingv1beta1.PredictorReady && kind != servingv1beta1.IngressReady {
		c.Severity = serving.SeverityInfo
	}
	if old := find(s.old, kind); old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
		if old.Reason == c.Reason && old.Message != "" && (f.weak || sameButFigures(old.Message, c.Message)) {
			c.Message = old.Message
		}
	}
	s.keep(c)
}

// keep sets a condition as it is.
func (s *conditions) keep(c serving.Condition) {
	if have := find(s.list, c.Type); have != nil {
		*have = c
		return
	}
	s.list = append(s.list, c)
}

// done closes the set.
func (s *conditions) done() []serving.Condition {
	for i := range s.old {
		if !isOurs(s.old[i].Type) && find(s.list, s.old[i].Type) == nil {
			s.list = append(s.list, s.old[i])
		}
	}
	s.put(serving.ConditionReady, s.ready())
	slices.SortFunc(s.list, func(a, b serving.Condition) int { return strings.Compare(string(a.Type), string(b.Type)) })
	return s.list
}

func (s *conditions) ready() fact {
	worst := fact{status: corev1.ConditionTrue}
	for _, kind := range dependents() {
		c := find(s.list, kind)
		if c == nil {
			s.put(kind, fact{status: corev1.ConditionUnknown})
			c = find(s.list, kind)
		}
		if c.Status == corev1.ConditionFalse && worst.status != corev1.ConditionFalse ||
			c.Status == corev1.ConditionUnknown && worst.status == corev1.ConditionTrue {
			worst = fact{status: c.Status, reason: c.Reason, message: c.Message}
		}
	}
	return worst
}
