// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

func hostOf(service, host string) *networkingv1.Ingress {
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: service, ResourceVersion: "1", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: service, UID: types.UID(service), Controller: yes(),
		}}},
		Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/"}}},
		}}}},
	}
}

// TestRoutesOfOneHostWakeEachOther: the store has what there is besides the route of the event.
func TestRoutesOfOneHostWakeEachOther(t *testing.T) {
	c := office(t)
	store := fake.NewClientBuilder().WithIndex(&networkingv1.Ingress{}, gather.IndexWay, gather.WaysOf).Build()
	c.services.Gather = &gather.Gatherer{Cache: store, Kinds: &gather.Kinds{}}
	h := c.routeHandler()
	first, second := hostOf("first", "h"), hostOf("second", "h")
	require.Empty(t, told(t, h, event.CreateEvent{Object: first}), "nobody else has the host")
	require.NoError(t, store.Create(t.Context(), unmade(first)))
	require.Equal(t, []string{"a/first", "a/second"}, told(t, h, event.CreateEvent{Object: second}))
	require.Empty(t, told(t, h, event.CreateEvent{Object: second, IsInInitialList: true}), "at first all are looked at")
	require.NoError(t, store.Create(t.Context(), unmade(second)))
	require.Equal(t, []string{"a/third"}, told(t, h, event.CreateEvent{Object: hostOf("third", "h")}), "the others have told it")

	moved := hostOf("first", "elsewhere")
	moved.ResourceVersion = "2"
	require.Equal(t, []string{"a/first", "a/second"}, told(t, h, event.UpdateEvent{ObjectOld: first, ObjectNew: moved}))
	same := first.DeepCopy()
	same.ResourceVersion = "2"
	require.Equal(t, []string{"a/first"}, told(t, h, event.UpdateEvent{ObjectOld: first, ObjectNew: same}), "its own service only")
	require.Equal(t, []string{"a/first", "a/second"}, told(t, h, event.DeleteEvent{Object: first}))

	for i := range 40 {
		require.NoError(t, store.Create(t.Context(), unmade(hostOf(fmt.Sprintf("more-%02d", i), "h"))))
	}
	require.Len(t, told(t, h, event.DeleteEvent{Object: first}), mostWoken+1, "not all of them at once")
}

// unmade is a route as it is sent to be made.
func unmade(in *networkingv1.Ingress) *networkingv1.Ingress {
	in = in.DeepCopy()
	in.ResourceVersion = ""
	return in
}
