// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func ingress(namespace, name string, hosts ...string) *networkingv1.Ingress {
	in := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: name, UID: types.UID(namespace + "/" + name), Controller: new(true),
	}}}}
	for _, host := range hosts {
		in.Spec.Rules = append(in.Spec.Rules, networkingv1.IngressRule{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/"}}},
		}})
	}
	return in
}

func route(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte("apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: m, namespace: a, ownerReferences: [" +
		"{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, name: m, uid: a/m, controller: true}]}\n" + text))
	require.NoError(t, err)
	u := &unstructured.Unstructured{}
	require.NoError(t, u.UnmarshalJSON(raw))
	return u
}

func TestWhatARouteMatches(t *testing.T) {
	nobodys := ingress("a", "m", "h")
	nobodys.OwnerReferences = nil
	for sentence, c := range map[string]struct {
		route client.Object
		want  []string
	}{
		"an Ingress of two hosts":   {ingress("a", "m", "m.example.com", "p.example.com", "m.example.com"), []string{"m.example.com /", "p.example.com /"}},
		"an Ingress of nobody":      {nobodys, nil},
		"an Ingress without a host": {ingress("a", "m", ""), nil},
		"an HTTPRoute of two hosts and two rules": {
			route(t, "spec: {hostnames: [m.x, m.y], rules: [{matches: [{path: {type: Exact, value: /a}}]}, {matches: [{path: {value: /}}, {path: {value: /}}]}]}"),
			[]string{"m.x /a", "m.y /a", "m.x /", "m.y /"},
		},
		"an HTTPRoute of another shape": {route(t, "spec: {hostnames: 3, rules: [{matches: {path: x}}, 5]}"), nil},
		"an HTTPRoute without a spec":   {route(t, "status: {}"), nil},
	} {
		t.Run(sentence, func(t *testing.T) { require.Equal(t, c.want, gather.WaysOf(c.route)) })
	}
}

func TestTheFirstOfThoseThatClaimTheSameHostIsTold(t *testing.T) {
	mine := ingress("b", "m", "same.example.com", "own.example.com")
	cache := fake.NewClientBuilder().WithIndex(&networkingv1.Ingress{}, gather.IndexWay, gather.WaysOf).
		WithObjects(mine, ingress("c", "m", "same.example.com"), ingress("b", "z", "same.example.com"), ingress("a", "m", "other.example.com")).Build()
	g := &gather.Gatherer{Cache: cache, Kinds: &gather.Kinds{}}
	children := &plan.Children{}
	children.Add(mine)
	clash, err := g.Clash(t.Context(), children, "b/m")
	require.NoError(t, err)
	require.Equal(t, &plan.Clash{Host: "same.example.com", Namespace: "b", Name: "z"}, clash)
	for _, gone := range []*networkingv1.Ingress{ingress("c", "m"), ingress("b", "z")} {
		require.NoError(t, cache.Delete(t.Context(), gone))
	}
	clash, err = g.Clash(t.Context(), children, "b/m")
	require.NoError(t, err)
	require.Nil(t, clash, "its own route is no clash")
}
