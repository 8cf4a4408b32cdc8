// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"iter"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// A request takes the way that a gateway knows, not the way that a route says: what requests were led to goes a while after the route has
// led them elsewhere.
const (
	// settleTime is how long a gateway that has accepted a route may take to follow it.
	settleTime = 2 * time.Second
	// settleLimit ends the wait for a gateway that accepts nothing.
	settleLimit = 30 * time.Second
)

// settling remembers since when what is no longer wanted is not led to any more. Where a new process has lost it, the time at which a route was
// written last stands in for it.
type settling struct {
	mu    sync.Mutex
	since map[string]map[key]time.Time
}

// at is when an object of an owner was last led to; now where that is news.
func (s *settling) at(owner string, k key, now time.Time, ledTo bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.since[owner][k]
	if known && !ledTo {
		return t
	}
	if s.since == nil {
		s.since = map[string]map[key]time.Time{}
	}
	if s.since[owner] == nil {
		s.since[owner] = map[key]time.Time{}
	}
	s.since[owner][k] = now
	return now
}

func (s *settling) known(owner string, k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.since[owner][k]
	return ok
}

func (s *settling) forget(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, owner)
}

// tooEarly says that a route which is there would lead to a Service that cannot answer yet, or not as much as the one that it leaves: until it
// can, the route stays as it is.
func (p *pass) tooEarly(want, there plan.Object) bool {
	if p.w.Served == nil || !isWay(want) || there.GetDeletionTimestamp() != nil {
		return false
	}
	now, then := map[string]bool{}, map[string]bool{}
	for name := range backends(there) {
		now[name] = true
	}
	for name := range backends(want) {
		if len(now) > 0 && !now[name] && !p.w.Served(name) {
			return true
		}
		then[name] = true
	}
	if p.w.Relieves == nil {
		return false
	}
	for left := range now {
		for name := range then {
			if !then[left] && !p.w.Relieves(name, left) {
				return true
			}
		}
	}
	return false
}

// stillUsed says for how long leftovers have to wait: routes for those that take their place, everything else for the routes that led to it.
func (p *pass) stillUsed(leftovers []plan.Object) (ways, rest time.Duration) {
	owner, now := p.w.Owner.UID, p.now()
	if len(leftovers) == 0 || !slices.ContainsFunc(p.w.Objects, isWay) {
		p.settling.forget(owner)
		return 0, 0
	}
	led, accepted := p.ledTo(), p.accepted()
	lately := p.changedLately(accepted)
	for _, o := range leftovers {
		k := keyOf(o)
		isLed := led[o.GetName()] && isServing(o)
		if maybe := lately && isServing(o); !isLed && !maybe && !isWay(o) && !p.settling.known(owner, k) {
			continue
		}
		past := now.Sub(p.settling.at(owner, k, now, isLed))
		wait := time.Duration(0)
		switch {
		case isLed && p.early:
			wait = settleLimit // what the route waits for is watched
		case past < settleTime:
			wait = settleTime - max(past, 0)
		case !accepted && past < settleLimit:
			wait = settleTime
		}
		if isWay(o) {
			ways = max(ways, wait)
		}
		rest = max(rest, wait)
	}
	if rest == 0 {
		p.settling.forget(owner)
	}
	return ways, rest
}

// ledTo are the names of the Services that routes led to before this pass, or lead to still.
func (p *pass) ledTo() map[string]bool {
	names := map[string]bool{}
	for _, o := range p.have {
		for name := range backends(o) {
			names[name] = true
		}
	}
	for _, o := range all(p.outcome.Children) {
		for name := range backends(o) {
			names[name] = true
		}
	}
	return names
}

// accepted says whether all routes that are wanted are there, and accepted as they are now by a Gateway where they have one.
func (p *pass) accepted() bool {
	there := map[key]plan.Object{}
	for _, o := range all(p.outcome.Children) {
		if isWay(o) {
			there[keyOf(o)] = o
		}
	}
	return !slices.ContainsFunc(p.w.Objects, func(o plan.Object) bool {
		u, isRoute := there[keyOf(o)].(*unstructured.Unstructured)
		return isWay(o) && (there[keyOf(o)] == nil || isRoute && !isAccepted(u))
	})
}

// changedLately says that a route was written so short a time ago that a gateway may not have followed it yet. The time is the API server's, in
// whole seconds; one that is far from the clock here says nothing.
func (p *pass) changedLately(accepted bool) bool {
	const whole = time.Second
	limit := settleTime + whole
	if !accepted {
		limit = settleLimit
	}
	for _, o := range p.have {
		if at := plan.WrittenAt(o); isWay(o) && !at.IsZero() && p.now().Sub(at).Abs() < limit {
			return true
		}
	}
	return false
}

// isServing says whether requests can be led to an object, by a Service of its name.
func isServing(o plan.Object) bool {
	switch o.(type) {
	case *corev1.Service, *appsv1.Deployment:
		return true
	}
	return false
}

// isWay says whether an object leads requests in.
func isWay(o plan.Object) bool {
	k := kindOf(o).GroupKind()
	return k == networkingv1.SchemeGroupVersion.WithKind("Ingress").GroupKind() || k == plan.HTTPRoute.GroupKind()
}

// backends are the Services that a route leads to.
func backends(o plan.Object) iter.Seq[string] {
	return func(yield func(string) bool) {
		if in, ok := o.(*networkingv1.Ingress); ok {
			for _, rule := range in.Spec.Rules {
				if rule.HTTP == nil {
					continue
				}
				for _, path := range rule.HTTP.Paths {
					if path.Backend.Service != nil && !yield(path.Backend.Service.Name) {
						return
					}
				}
			}
		}
		u, ok := o.(*unstructured.Unstructured)
		if !ok || !isWay(o) {
			return
		}
		for _, rule := range list(u.Object, "spec", "rules") {
			for _, ref := range list(rule, "backendRefs") {
				if name, _ := ref["name"].(string); name != "" && !yield(name) {
					return
				}
			}
		}
	}
}

// isAccepted says whether a Gateway has seen the route as it is now.
func isAccepted(route *unstructured.Unstructured) bool {
	for _, parent := range list(route.Object, "status", "parents") {
		for _, c := range list(parent, "conditions") {
			seen, says := c["observedGeneration"].(int64)
			if c["type"] == "Accepted" && c["status"] == string(metav1.ConditionTrue) && (!says || seen >= route.GetGeneration()) {
				return true
			}
		}
	}
	return false
}

// list are the objects of a list in an object; what has another shape is passed over.
func list(o map[string]any, path ...string) []map[string]any {
	found, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	items, _ := found.([]any)
	all := make([]map[string]any, 0, len(items))
	for _, i := range items {
		if m, ok := i.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}
