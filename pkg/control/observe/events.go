// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// Reasons of events.
const (
	eventReady            = "InferenceServiceReady"
	eventNotReady         = "InferenceServiceNotReady"
	eventNoVirtualService = "VirtualServiceCRDNotFound"
)

// events compares the new status with the old one.
func (o *observer) events() []Event {
	var events []Event
	if o.in.Failure != nil {
		if t := o.trouble(); t.event != "" && told(&o.status, t) && !told(o.old, t) {
			events = append(events, Event{Type: corev1.EventTypeWarning, Reason: t.event, Message: bounded(t.message, maxFailure)})
		}
	}
	events = append(events, o.canaryEvents()...)
	was, is := statusOf(o.old, serving.ConditionReady), statusOf(&o.status, serving.ConditionReady)
	switch {
	case is == corev1.ConditionTrue && was != corev1.ConditionTrue:
		message := "InferenceService [" + o.svc.Name + "] is Ready"
		if o.status.URL != "" {
			message += ", at " + o.status.URL
		}
		events = append(events, Event{Type: corev1.EventTypeNormal, Reason: eventReady, Message: message})
	case was == corev1.ConditionTrue && is == corev1.ConditionFalse:
		events = append(events, Event{Type: corev1.EventTypeWarning, Reason: eventNotReady, Message: o.notReady()})
	}
	if p := o.in.Plan; p != nil && p.Route.Mesh && p.Route.NoVirtualService &&
		statusOf(&o.status, servingv1beta1.IngressReady) == corev1.ConditionTrue && statusOf(o.old, servingv1beta1.IngressReady) != corev1.ConditionTrue {
		events = append(events, Event{
			Type: corev1.EventTypeWarning, Reason: eventNoVirtualService,
			Message: "the cluster has no VirtualServices (networking.istio.io): the service is reached by the URLs that Knative gives; install Istio, or set ingress.disableIstioVirtualHost",
		})
	}
	return events
}

// told says that a status has this trouble in a condition.
func told(s *servingv1beta1.InferenceServiceStatus, t trouble) bool {
	message := bounded(t.message, maxMessage)
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Status != corev1.ConditionFalse || c.Reason != t.reason {
			continue
		}
		said := c.Message
		if _, after, found := strings.Cut(said, "its latest change does not: "); found {
			said = after
		}
		if sameButFigures(said, message) || said == message || strings.HasSuffix(said, "…") && strings.HasPrefix(message, strings.TrimSuffix(said, "…")) {
			return true
		}
	}
	return false
}

// notReady lists the conditions that are False, with their causes.
func (o *observer) notReady() string {
	var causes []string
	for i := range o.status.Conditions {
		c := &o.status.Conditions[i]
		if c.Status != corev1.ConditionFalse || c.Type == serving.ConditionReady || c.Type == servingv1beta1.Stopped {
			continue
		}
		cause := string(c.Type)
		if c.Reason != "" {
			cause += " (" + c.Reason + ")"
		}
		if c.Message != "" {
			cause += ": " + c.Message
		}
		causes = append(causes, cause)
	}
	return bounded("InferenceService ["+o.svc.Name+"] is no longer Ready because of: "+strings.Join(causes, "; "), maxFailure)
}

func statusOf(s *servingv1beta1.InferenceServiceStatus, kind serving.ConditionType) corev1.ConditionStatus {
	if c := s.Condition(kind); c != nil {
		return c.Status
	}
	return corev1.ConditionUnknown
}
