// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// verdict is why a condition is not as one would have it; empty is that it is.
type verdict struct{ reason, message string }

// no keeps the first reason.
func (v *verdict) no(reason, message string) {
	if v.reason == "" {
		v.reason, v.message = reason, message
	}
}

// condition is True, or what the verdict says.
func (v verdict) condition(kind, good string, generation int64) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: good, ObservedGeneration: generation}
	if v.reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v.reason, v.message
	}
	return c
}

// classes says which classes are this controller's, and accepts them.
func (c *compiler) classes() map[string]bool {
	own := map[string]bool{}
	for _, class := range c.Classes {
		if string(class.Spec.ControllerName) != c.Controller {
			continue
		}
		var v verdict
		if class.Spec.ParametersRef != nil {
			v.no(string(gatewayv1.GatewayClassReasonInvalidParameters), "this gateway has no parameters")
		}
		own[class.Name] = v.reason == ""
		c.result.Classes[class.Name] = gatewayv1.GatewayClassStatus{Conditions: []metav1.Condition{
			v.condition(string(gatewayv1.GatewayClassConditionStatusAccepted), string(gatewayv1.GatewayClassReasonAccepted), class.Generation),
		}}
	}
	return own
}

func (g *gateway) status() gatewayv1.GatewayStatus {
	generation := g.object.Generation
	out := gatewayv1.GatewayStatus{Addresses: []gatewayv1.GatewayStatusAddress{{Type: new(gatewayv1.IPAddressType), Value: g.address}}}
	bad, served := "", 0
	for _, l := range g.listeners {
		s := l.status(generation)
		out.Listeners = append(out.Listeners, s)
		if l.serves() && l.refs.reason == "" {
			served++
		} else if bad == "" {
			bad = string(l.spec.Name)
		}
	}
	accepted := verdict{}.condition(string(gatewayv1.GatewayConditionAccepted), string(gatewayv1.GatewayReasonAccepted), generation)
	programmed := verdict{}
	if bad != "" {
		// The standard: True with this reason as long as a listener works.
		accepted.Reason, accepted.Message = string(gatewayv1.GatewayReasonListenersNotValid), fmt.Sprintf("see the conditions of listener %s", bad)
	}
	if served == 0 {
		accepted.Status = metav1.ConditionFalse
		programmed = verdict{string(gatewayv1.GatewayReasonInvalid), "no listener can be served"}
	}
	if g.fault != nil {
		programmed = *g.fault
	}
	out.Conditions = []metav1.Condition{accepted, programmed.condition(string(gatewayv1.GatewayConditionProgrammed), string(gatewayv1.GatewayReasonProgrammed), generation)}
	return out
}

func (l *listener) status(generation int64) gatewayv1.ListenerStatus {
	programmed := l.accepted
	conflict := metav1.Condition{
		Type: string(gatewayv1.ListenerConditionConflicted), Status: metav1.ConditionFalse, Reason: string(gatewayv1.ListenerReasonNoConflicts), ObservedGeneration: generation,
	}
	if l.conflict {
		conflict.Status, conflict.Reason, conflict.Message = metav1.ConditionTrue, string(gatewayv1.ListenerReasonHostnameConflict), "another listener has this port and host"
		programmed.no(string(gatewayv1.ListenerReasonInvalid), conflict.Message)
	}
	if programmed.reason != "" {
		programmed.reason = string(gatewayv1.ListenerReasonInvalid)
	}
	return gatewayv1.ListenerStatus{
		Name: l.spec.Name, SupportedKinds: l.kinds, AttachedRoutes: l.attached,
		Conditions: []metav1.Condition{
			l.accepted.condition(string(gatewayv1.ListenerConditionAccepted), string(gatewayv1.ListenerReasonAccepted), generation),
			programmed.condition(string(gatewayv1.ListenerConditionProgrammed), string(gatewayv1.ListenerReasonProgrammed), generation),
			l.refs.condition(string(gatewayv1.ListenerConditionResolvedRefs), string(gatewayv1.ListenerReasonResolvedRefs), generation),
			conflict,
		},
	}
}

func (c *compiler) parentStatus(r *gatewayv1.HTTPRoute, ref *gatewayv1.ParentReference, accepted verdict) gatewayv1.RouteParentStatus {
	return gatewayv1.RouteParentStatus{
		ParentRef: *ref, ControllerName: gatewayv1.GatewayController(c.Controller),
		Conditions: []metav1.Condition{
			accepted.condition(string(gatewayv1.RouteConditionAccepted), string(gatewayv1.RouteReasonAccepted), r.Generation),
			c.refs.condition(string(gatewayv1.RouteConditionResolvedRefs), string(gatewayv1.RouteReasonResolvedRefs), r.Generation),
		},
	}
}

// Conditions are the wanted ones, with the times of those that were the same before, and the old ones of types that are not wanted here:
// somebody else writes them.
func Conditions(old, want []metav1.Condition, now metav1.Time) []metav1.Condition {
	out := make([]metav1.Condition, 0, len(want))
	for _, w := range want {
		w.LastTransitionTime = now
		for _, o := range old {
			if o.Type == w.Type && o.Status == w.Status && !o.LastTransitionTime.IsZero() {
				w.LastTransitionTime = o.LastTransitionTime
			}
		}
		out = append(out, w)
	}
	for _, o := range old {
		if !has(want, o.Type) {
			out = append(out, o)
		}
	}
	return out
}

func has(list []metav1.Condition, kind string) bool {
	for _, c := range list {
		if c.Type == kind {
			return true
		}
	}
	return false
}
