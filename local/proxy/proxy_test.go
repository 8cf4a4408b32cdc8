// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

func TestAClientKeepsItsEndpointWhereTheServiceSaysSo(t *testing.T) {
	all := []string{"10.88.0.2:80", "10.88.0.3:80", "10.88.0.4:80"}
	e := &endpoints{affinity: map[string]string{}}
	e.set(all, true)
	e.chosen("10.88.0.9", all[1])
	for range 50 {
		order := e.order("10.88.0.9")
		require.Equal(t, all[1], order[0])
		require.ElementsMatch(t, all, order, "the others are tried when it does not answer")
	}
	seen := map[string]bool{}
	for range 200 {
		seen[e.order("10.88.0.10")[0]] = true
	}
	require.Len(t, seen, 3, "another client gets any")
	e.set([]string{all[0]}, true)
	require.Equal(t, []string{all[0]}, e.order("10.88.0.9"), "one that is gone is not asked")
	e.set(all, false)
	e.set(all, true)
	e.chosen("10.88.0.9", all[2])
	require.Equal(t, all[2], e.order("10.88.0.9")[0])
}

func TestWhoGetsTraffic(t *testing.T) {
	yes, no := true, false
	name, port := "http", int32(8080)
	endpoint := func(ip string, ready, serving *bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving}}
	}
	for sentence, c := range map[string]struct {
		all  []discoveryv1.Endpoint
		port string
		want []string
	}{
		"the ready ones": {[]discoveryv1.Endpoint{endpoint("10.88.0.2", &yes, &yes), endpoint("10.88.0.3", &no, &no), endpoint("10.88.0.4", nil, nil)}, name, []string{"10.88.0.2:8080", "10.88.0.4:8080"}},
		"while none is, those that end and answer": {[]discoveryv1.Endpoint{endpoint("10.88.0.2", &no, &yes), endpoint("10.88.0.3", &no, &no)}, name, []string{"10.88.0.2:8080"}},
		"nobody of another port":                   {[]discoveryv1.Endpoint{endpoint("10.88.0.2", &yes, &yes)}, "grpc", nil},
		"nobody without an address":                {[]discoveryv1.Endpoint{{}}, name, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			i := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
			require.NoError(t, i.Add(&discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-x", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
				Endpoints:  c.all, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
			}))
			got := Targets(discoverylisters.NewEndpointSliceLister(i), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}, c.port)
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}
