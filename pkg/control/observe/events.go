// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"regexp"
	"slices"
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
	events = append(events, o.causes()...)
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

// causes tell, once each, what is new among the causes that somebody may have to look into.
func (o *observer) causes() []Event {
	var events []Event
	for _, kind := range o.conditions.tell {
		c := find(o.status.Conditions, kind)
		if c == nil || said(o.old, c.Reason, c.Message) {
			continue
		}
		message := c.Message
		for _, role := range roles() {
			if kind == readyCondition(role) {
				message = string(role) + ": " + message
			}
		}
		events = append(events, Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Message: bounded(message, maxFailure)})
	}
	return events
}

// told says that a status has this trouble in a condition.
func told(s *servingv1beta1.InferenceServiceStatus, t trouble) bool {
	return said(s, t.reason, bounded(t.message, maxMessage))
}

// said says that a condition has this cause, whichever condition it is.
func said(s *servingv1beta1.InferenceServiceStatus, reason, message string) bool {
	return slices.ContainsFunc(s.Conditions, func(c serving.Condition) bool { return sameCause(c.Reason, c.Message, reason, message) })
}

// sameCause compares causes without what messages say before them: that the service serves all the same, and how many pods it is true of.
func sameCause(reason, message, otherReason, other string) bool {
	if reason != otherReason {
		return false
	}
	a, b := bareCause(message), bareCause(other)
	if sameButFigures(a, b) {
		return true
	}
	cutOff := func(short, long string) bool {
		rest, cut := strings.CutSuffix(short, "…")
		return cut && strings.HasPrefix(long, rest)
	}
	return cutOff(a, b) || cutOff(b, a)
}

var countOfPods = regexp.MustCompile(`^\d+ of \d+ pods: `)

func bareCause(message string) string {
	for _, before := range [...]string{fewerPods, servesAsBefore, servesInPart} {
		if _, after, found := strings.Cut(message, before+why); found {
			message = after
			break
		}
	}
	return strings.TrimPrefix(message, countOfPods.FindString(message))
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
