// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gatewayapi thinks about the Gateway API: from GatewayClasses, Gateways and HTTPRoutes it makes the table by which requests find
// their rule, and what the status of each of these objects has to say. It does no I/O.
//
// Called by: ingress.
// Next: ingress, which forwards by the table and writes the statuses.
package gatewayapi

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
)

const (
	kindGateway = "Gateway"
	kindRoute   = "HTTPRoute"
	kindService = "Service"

	// manyPatterns is when the patterns of routes that are gone are forgotten.
	manyPatterns = 4096
)

// World is what is known of the cluster.
type World struct {
	Classes  []*gatewayv1.GatewayClass
	Gateways []*gatewayv1.Gateway
	Routes   []*gatewayv1.HTTPRoute
	Grants   []*gatewayv1beta1.ReferenceGrant
	// Service is nil for one that does not exist.
	Service func(namespace, name string) *corev1.Service
	// Labels are those of a namespace.
	Labels func(namespace string) labels.Set
}

// Compiler makes tables. It must not be used from several goroutines.
type Compiler struct {
	// Controller is the name under which this gateway's classes are known.
	Controller string
	// Address and Port are where it listens.
	Address string
	Port    int32

	patterns map[string]*regexp.Regexp
}

// Result is what follows from a world.
type Result struct {
	Table *Table
	// Classes, Gateways and Routes are the statuses that objects should have, of those that concern this gateway.
	Classes  map[string]gatewayv1.GatewayClassStatus
	Gateways map[Name]gatewayv1.GatewayStatus
	// Routes are the parents of this gateway's alone; a route without any is not in it.
	Routes map[Name][]gatewayv1.RouteParentStatus
}

// Name is an object's.
type Name struct{ Namespace, Name string }

func (n Name) String() string { return n.Namespace + "/" + n.Name }

func nameOf(o metav1.Object) Name { return Name{o.GetNamespace(), o.GetName()} }

// compiler is one run of a Compiler.
type compiler struct {
	*Compiler
	World
	result   *Result
	gateways map[Name]*gateway
	refs     *verdict
}

// Rule is what is done with a request that one of its matches has.
type Rule struct {
	Filters
	// Route is the name of its HTTPRoute, for messages.
	Route string
	// Timeout is nothing where there is none.
	Timeout time.Duration

	backends []Backend
	share    *share
}

// Backend is a port of a Service with its share of a rule's requests.
type Backend struct {
	Filters
	Namespace, Service string
	Port               int32
	// Fault says why no request can be sent there.
	Fault string

	weight uint64
}

// Pick is the backend whose turn it is, nil where no backend gets any request.
func (r *Rule) Pick() *Backend {
	if r.share == nil {
		return nil
	}
	if len(r.backends) == 1 {
		return &r.backends[0]
	}
	turn := r.share.turn()
	for i := range r.backends {
		b := &r.backends[i]
		if turn < b.weight {
			return b
		}
		turn -= b.weight
	}
	return nil // the total is the sum
}

// Compile makes the table and the statuses of a world.
func (c *Compiler) Compile(w World) *Result {
	if c.patterns == nil || len(c.patterns) > manyPatterns {
		c.patterns = map[string]*regexp.Regexp{}
	}
	run := &compiler{Compiler: c, World: w, gateways: map[Name]*gateway{}, result: &Result{
		Table:   &Table{exact: map[string][]*Match{}, below: map[string][]*Match{}},
		Classes: map[string]gatewayv1.GatewayClassStatus{}, Gateways: map[Name]gatewayv1.GatewayStatus{}, Routes: map[Name][]gatewayv1.RouteParentStatus{},
	}}
	own := run.classes()
	for _, g := range sorted(w.Gateways) {
		if own[string(g.Spec.GatewayClassName)] {
			run.gateways[nameOf(g)] = run.gateway(g)
		}
	}
	for _, r := range sorted(w.Routes) {
		run.route(r)
	}
	run.result.Table.sort()
	for name, g := range run.gateways {
		run.result.Gateways[name] = g.status()
	}
	return run.result
}

// sorted puts the oldest first, as the standard settles what two objects want.
func sorted[T metav1.Object](list []T) []T {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b T) int {
		at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(at.Compare(bt.Time), strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return list
}

// route attaches a route to each of its parents that is a gateway of ours.
func (c *compiler) route(r *gatewayv1.HTTPRoute) {
	var parents []*gatewayv1.ParentReference
	for i := range r.Spec.ParentRefs {
		if c.parent(r, &r.Spec.ParentRefs[i]) != nil {
			parents = append(parents, &r.Spec.ParentRefs[i])
		}
	}
	if len(parents) == 0 {
		return // another controller's
	}
	c.refs = &verdict{}
	matches, err := c.rules(r)
	hosts := map[string]bool{}
	for _, ref := range parents {
		accepted := c.attach(r, ref, err, hosts)
		c.result.Routes[nameOf(r)] = append(c.result.Routes[nameOf(r)], c.parentStatus(r, ref, accepted))
	}
	for host := range hosts {
		c.result.Table.add(host, matches)
	}
}

// rules reads those of a route, and finds its backends. An error says that a part of the route is beyond this gateway: then none is served.
func (c *compiler) rules(r *gatewayv1.HTTPRoute) ([]*Match, error) {
	var all []*Match
	for i := range r.Spec.Rules {
		matches, err := c.rule(r, &r.Spec.Rules[i])
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", i, err)
		}
		all = append(all, matches...)
	}
	return all, nil
}

func (c *compiler) rule(r *gatewayv1.HTTPRoute, spec *gatewayv1.HTTPRouteRule) ([]*Match, error) {
	rule := &Rule{Route: nameOf(r).String()}
	given := spec.Matches
	if len(given) == 0 {
		given = []gatewayv1.HTTPRouteMatch{{}}
	}
	var matches []*Match
	prefixed := true
	for i := range given {
		m, err := c.match(&given[i])
		if err != nil {
			return nil, err
		}
		m.Rule = rule
		if m.kind == everyPath {
			m.Prefix = "/"
		}
		prefixed = prefixed && m.Prefix != ""
		matches = append(matches, m)
	}
	var err error
	if rule.Filters, err = c.filters(r, spec.Filters, prefixed); err != nil {
		return nil, err
	}
	if rule.Timeout, err = timeout(spec.Timeouts); err != nil {
		return nil, err
	}
	total := uint64(0)
	for i := range spec.BackendRefs {
		ref := &spec.BackendRefs[i]
		b := c.backend(r, ref.BackendObjectReference)
		if b.Filters, err = c.filters(r, ref.Filters, prefixed); err != nil {
			return nil, err
		}
		b.weight = 1
		if ref.Weight != nil {
			b.weight = uint64(max(*ref.Weight, 0))
		}
		if b.weight == 0 {
			continue
		}
		total += b.weight
		rule.backends = append(rule.backends, b)
	}
	if total > 0 {
		rule.share = newShare(total)
	}
	return matches, nil
}

// timeout is the shorter one of those of a rule: no request is sent twice here.
func timeout(t *gatewayv1.HTTPRouteTimeouts) (time.Duration, error) {
	if t == nil {
		return 0, nil
	}
	var shortest time.Duration
	for _, given := range []*gatewayv1.Duration{t.Request, t.BackendRequest} {
		if given == nil {
			continue
		}
		d, err := time.ParseDuration(string(*given))
		if err != nil || d < 0 {
			return 0, fmt.Errorf("the timeout %q cannot be read", *given)
		}
		if d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest, nil
}

// backend finds what a reference of a route names. What is wrong with it is told in the route's status and to the clients of its share.
func (c *compiler) backend(r *gatewayv1.HTTPRoute, ref gatewayv1.BackendObjectReference) Backend {
	b := Backend{Namespace: r.Namespace, Service: string(ref.Name)}
	if ref.Namespace != nil {
		b.Namespace = string(*ref.Namespace)
	}
	group, kind := "", kindService
	if ref.Group != nil {
		group = string(*ref.Group)
	}
	if ref.Kind != nil {
		kind = string(*ref.Kind)
	}
	name := Name{b.Namespace, b.Service}.String()
	fault := func(reason gatewayv1.RouteConditionReason, format string, args ...any) Backend {
		b.Fault = fmt.Sprintf(format, args...)
		c.refs.no(string(reason), b.Fault)
		return b
	}
	if group != "" || kind != kindService {
		return fault(gatewayv1.RouteReasonInvalidKind, "%s %s is no Service, to which alone requests can be sent here", strings.TrimPrefix(group+"/"+kind, "/"), name)
	}
	if b.Namespace != r.Namespace && !c.granted(r.Namespace, b.Namespace, b.Service) {
		return fault(gatewayv1.RouteReasonRefNotPermitted, "no ReferenceGrant of namespace %s lets HTTPRoutes of %s use Service %s", b.Namespace, r.Namespace, name)
	}
	s := c.Service(b.Namespace, b.Service)
	if s == nil {
		return fault(gatewayv1.RouteReasonBackendNotFound, "Service %s does not exist", name)
	}
	if ref.Port == nil {
		return fault(gatewayv1.RouteReasonBackendNotFound, "the reference to Service %s names no port", name)
	}
	b.Port = *ref.Port
	if !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == b.Port }) {
		return fault(gatewayv1.RouteReasonBackendNotFound, "Service %s has no port %d", name, b.Port)
	}
	return b
}

// granted says whether routes of one namespace may use a Service of another.
func (c *compiler) granted(from, to, service string) bool {
	return slices.ContainsFunc(c.Grants, func(g *gatewayv1beta1.ReferenceGrant) bool {
		return g.Namespace == to &&
			slices.ContainsFunc(g.Spec.From, func(f gatewayv1beta1.ReferenceGrantFrom) bool {
				return f.Group == gatewayv1.GroupName && f.Kind == kindRoute && string(f.Namespace) == from
			}) &&
			slices.ContainsFunc(g.Spec.To, func(t gatewayv1beta1.ReferenceGrantTo) bool {
				return t.Group == "" && t.Kind == kindService && (t.Name == nil || *t.Name == "" || string(*t.Name) == service)
			})
	})
}
