// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// gateway is one of this controller's, with the listeners to which routes attach.
type gateway struct {
	object    *gatewayv1.Gateway
	address   string
	listeners []*listener
	// fault is why it cannot have what it asks for.
	fault *verdict
}

// listener is one of a gateway's.
type listener struct {
	spec     *gatewayv1.Listener
	accepted verdict
	refs     verdict
	conflict bool
	kinds    []gatewayv1.RouteGroupKind
	attached int32
}

func (l *listener) host() string {
	if l.spec.Hostname == nil {
		return ""
	}
	return strings.ToLower(string(*l.spec.Hostname))
}

func (l *listener) serves() bool { return l.accepted.reason == "" && !l.conflict }

func (c *compiler) gateway(o *gatewayv1.Gateway) *gateway {
	g := &gateway{object: o, address: c.Address}
	for _, a := range o.Spec.Addresses {
		if (a.Type == nil || *a.Type == gatewayv1.IPAddressType) && (a.Value == "" || a.Value == c.Address) {
			continue
		}
		g.fault = &verdict{string(gatewayv1.GatewayReasonAddressNotUsable), fmt.Sprintf("address %q is not the one that there is, %s", a.Value, c.Address)}
	}
	for i := range o.Spec.Listeners {
		l := &listener{spec: &o.Spec.Listeners[i]}
		switch {
		case l.spec.Protocol != gatewayv1.HTTPProtocolType:
			l.accepted = verdict{string(gatewayv1.ListenerReasonUnsupportedProtocol), fmt.Sprintf("protocol %s is not spoken here, only %s is", l.spec.Protocol, gatewayv1.HTTPProtocolType)}
		case l.spec.Port != c.Port:
			l.accepted = verdict{string(gatewayv1.ListenerReasonPortUnavailable), fmt.Sprintf("port %d is not served, only %d is", l.spec.Port, c.Port)}
		}
		l.conflict = slices.ContainsFunc(g.listeners, func(other *listener) bool {
			return other.spec.Port == l.spec.Port && other.spec.Protocol == l.spec.Protocol && other.host() == l.host()
		})
		l.allowedKinds()
		g.listeners = append(g.listeners, l)
	}
	return g
}

// allowedKinds are those of the listener's that this gateway knows.
func (l *listener) allowedKinds() {
	own := gatewayv1.RouteGroupKind{Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: kindRoute}
	if l.spec.Protocol != gatewayv1.HTTPProtocolType {
		l.kinds = []gatewayv1.RouteGroupKind{}
		return
	}
	if l.spec.AllowedRoutes == nil || len(l.spec.AllowedRoutes.Kinds) == 0 {
		l.kinds = []gatewayv1.RouteGroupKind{own}
		return
	}
	l.kinds = []gatewayv1.RouteGroupKind{}
	for _, k := range l.spec.AllowedRoutes.Kinds {
		if k.Kind == kindRoute && (k.Group == nil || *k.Group == gatewayv1.GroupName) {
			l.kinds = []gatewayv1.RouteGroupKind{own}
			continue
		}
		l.refs.no(string(gatewayv1.ListenerReasonInvalidRouteKinds), fmt.Sprintf("routes of kind %s are not served here, only %s are", k.Kind, kindRoute))
	}
}

// allows says whether routes of a namespace may attach to a listener.
func (c *compiler) allows(g *gateway, l *listener, namespace string) bool {
	if len(l.kinds) == 0 {
		return false
	}
	from := gatewayv1.NamespacesFromSame
	var selector *metav1.LabelSelector
	if a := l.spec.AllowedRoutes; a != nil && a.Namespaces != nil {
		if a.Namespaces.From != nil {
			from = *a.Namespaces.From
		}
		selector = a.Namespaces.Selector
	}
	switch from {
	case gatewayv1.NamespacesFromAll:
		return true
	case gatewayv1.NamespacesFromSame:
		return namespace == g.object.Namespace
	case gatewayv1.NamespacesFromSelector:
		s, err := metav1.LabelSelectorAsSelector(selector)
		return err == nil && s.Matches(c.Labels(namespace))
	}
	return false
}

// parent is the gateway of ours that a reference names.
func (c *compiler) parent(r *gatewayv1.HTTPRoute, ref *gatewayv1.ParentReference) *gateway {
	if ref.Group != nil && *ref.Group != gatewayv1.GroupName || ref.Kind != nil && *ref.Kind != kindGateway {
		return nil
	}
	name := Name{r.Namespace, string(ref.Name)}
	if ref.Namespace != nil {
		name.Namespace = string(*ref.Namespace)
	}
	return c.gateways[name]
}

// attach adds to hosts those under which a route is served through a parent, and says what was in the way of all of them.
func (c *compiler) attach(r *gatewayv1.HTTPRoute, ref *gatewayv1.ParentReference, fault error, hosts map[string]bool) verdict {
	g := c.parent(r, ref)
	var named, allowed, attached []*listener
	for _, l := range g.listeners {
		if ref.SectionName != nil && *ref.SectionName != l.spec.Name || ref.Port != nil && *ref.Port != l.spec.Port {
			continue
		}
		named = append(named, l)
		if !c.allows(g, l, r.Namespace) {
			continue
		}
		allowed = append(allowed, l)
		if l.serves() && len(common(l.host(), r.Spec.Hostnames)) > 0 {
			attached = append(attached, l)
		}
	}
	who := fmt.Sprintf("Gateway %s", nameOf(g.object))
	switch {
	case len(named) == 0:
		return verdict{string(gatewayv1.RouteReasonNoMatchingParent), who + " has no listener of the name and port that the route asks for"}
	case !slices.ContainsFunc(named, (*listener).serves):
		return verdict{string(gatewayv1.RouteReasonNoMatchingParent), fmt.Sprintf("%s does not serve listener %s: %s", who, named[0].spec.Name, cmp.Or(named[0].accepted.message, "another has its port and host"))}
	case len(allowed) == 0:
		return verdict{string(gatewayv1.RouteReasonNotAllowedByListeners), fmt.Sprintf("no listener of %s allows HTTPRoutes of namespace %s", who, r.Namespace)}
	case len(attached) == 0:
		return verdict{string(gatewayv1.RouteReasonNoMatchingListenerHostname), fmt.Sprintf("no listener of %s has a host of the route", who)}
	case fault != nil:
		return verdict{string(gatewayv1.RouteReasonUnsupportedValue), fault.Error()}
	}
	for _, l := range attached {
		l.attached++
		for _, host := range common(l.host(), r.Spec.Hostnames) {
			hosts[host] = true
		}
	}
	return verdict{}
}

// common are the hosts of a route that a listener serves: of two that overlap the more particular one. Empty is every host.
func common(listener string, route []gatewayv1.Hostname) []string {
	if len(route) == 0 {
		return []string{listener}
	}
	var all []string
	for _, name := range route {
		host := strings.ToLower(string(name))
		switch {
		case listener == "" || listener == host || covers(listener, host):
			all = append(all, host)
		case covers(host, listener):
			all = append(all, listener)
		}
	}
	return all
}

// covers says whether a wildcard has a host, or another wildcard, below it.
func covers(wild, host string) bool {
	below, ok := strings.CutPrefix(wild, "*")
	return ok && strings.HasSuffix(host, below) && len(host) > len(below)
}
