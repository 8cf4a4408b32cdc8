// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// IndexWay finds routes by what they match, a host and a path.
const IndexWay = "way"

// WaysOf are the keys of IndexWay: what an Ingress or an HTTPRoute of a service matches, "host path" each. They belong to the cache.
func WaysOf(o client.Object) []string {
	if metav1.GetControllerOfNoCopy(o) == nil {
		return nil
	}
	switch o := o.(type) {
	case *networkingv1.Ingress:
		return ingressWays(o)
	case *unstructured.Unstructured:
		if _, small := o.Object[packed]; !small {
			return routeWays(o)
		}
		kept, _ := o.Object[waysOf].([]any)
		ways := make([]string, 0, len(kept))
		for _, way := range kept {
			if text, ok := way.(string); ok {
				ways = append(ways, text)
			}
		}
		return ways
	}
	return nil
}

func ingressWays(o *networkingv1.Ingress) []string {
	var ways []string
	for i := range o.Spec.Rules {
		r := &o.Spec.Rules[i]
		for j := 0; r.HTTP != nil && j < len(r.HTTP.Paths); j++ {
			ways = withWay(ways, r.Host, r.HTTP.Paths[j].Path)
		}
	}
	return ways
}

func routeWays(o *unstructured.Unstructured) []string {
	var ways []string
	spec, _ := o.Object["spec"].(map[string]any)
	hosts, _ := spec["hostnames"].([]any)
	rules, _ := spec["rules"].([]any)
	for _, rule := range rules {
		r, _ := rule.(map[string]any)
		matches, _ := r["matches"].([]any)
		for _, match := range matches {
			m, _ := match.(map[string]any)
			path, _ := m["path"].(map[string]any)
			value, _ := path["value"].(string)
			for _, host := range hosts {
				name, _ := host.(string)
				ways = withWay(ways, name, value)
			}
		}
	}
	return ways
}

func withWay(ways []string, host, path string) []string {
	if way := host + " " + path; host != "" && !slices.Contains(ways, way) {
		return append(ways, way)
	}
	return ways
}

// Claimants are the services that routes of the same kind belong to which match the same, but the one of that UID. They may be told more than once.
func (g *Gatherer) Claimants(ctx context.Context, route client.Object, way string, but types.UID) ([]types.NamespacedName, error) {
	var found []types.NamespacedName
	add := func(o client.Object) {
		if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.UID != but {
			found = append(found, types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name})
		}
	}
	of := []client.ListOption{client.MatchingFields{IndexWay: way}, client.UnsafeDisableDeepCopy}
	if _, ok := route.(*networkingv1.Ingress); ok {
		var list networkingv1.IngressList
		if err := g.Cache.List(ctx, &list, of...); err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for i := range list.Items {
			add(&list.Items[i])
		}
		return found, nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(plan.HTTPRoute.GroupVersionKind)
	if err := g.Cache.List(ctx, list, of...); err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	for i := range list.Items {
		add(&list.Items[i])
	}
	return found, nil
}

// Clash is the first of the services whose routes match what routes of the children match; nil where there is none, as there should be.
func (g *Gatherer) Clash(ctx context.Context, children *plan.Children, owner types.UID) (*plan.Clash, error) {
	var first *plan.Clash
	for _, o := range children.All() {
		if _, isIngress := o.(*networkingv1.Ingress); !isIngress && o.GetObjectKind().GroupVersionKind().GroupKind() != plan.HTTPRoute.GroupKind() {
			continue
		}
		for _, way := range WaysOf(o) {
			others, err := g.Claimants(ctx, o, way, owner)
			if err != nil {
				return nil, err
			}
			host, _, _ := strings.Cut(way, " ")
			for _, other := range others {
				if c := (plan.Clash{Host: host, Namespace: other.Namespace, Name: other.Name}); first == nil || c.Less(first) {
					first = &c
				}
			}
		}
	}
	return first, nil
}
