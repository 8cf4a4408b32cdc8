// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// still is a cache and an index that note what they are asked to do.
type still struct {
	cache.Cache
	defined  bool
	watching int
	removed  int
	indexed  int
}

// watcher is the controller whose watches are counted.
type watcher struct {
	controller.Controller
	*still
}

func (w watcher) Watch(source.Source) error { w.watching++; return nil }

func (s *still) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	s.indexed++
	return nil
}

func (s *still) RemoveInformer(context.Context, client.Object) error { s.removed++; return nil }

func (s *still) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if s.defined {
		return nil
	}
	return notDefinedError(key.Name)
}

type notDefinedError string

func (e notDefinedError) Error() string { return string(e) + " is not defined" }

// kindsWorld is what follows optional kinds, before a server that serves HTTPRoutes or not.
func kindsWorld(t *testing.T) (k *kinds, w *still, r *reviews, serves *bool) {
	t.Helper()
	yes := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if !yes || q.URL.Path != "/apis/gateway.networking.k8s.io/v1" {
			http.NotFound(w, q)
			return
		}
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "httproutes", Kind: "HTTPRoute"}}})
	}))
	t.Cleanup(server.Close)
	d, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	w, r = &still{}, &reviews{}
	c := &controllers{log: zap.NewNop(), cache: w, indexer: w, main: watcher{still: w}, surroundings: &surroundings{
		discovery: d, access: &access{client: r, namespaces: []string{"a"}}, kinds: &gather.Kinds{},
	}}
	return &kinds{controllers: c, changed: make(chan event.GenericEvent, 16), indexed: map[string]bool{}}, w, r, &yes
}

func TestAnOptionalKindComesAndGoes(t *testing.T) {
	k, w, _, serves := kindsWorld(t)
	pass := func() ctrl.Result {
		t.Helper()
		res, err := k.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: plan.HTTPRoute.CRD}})
		require.NoError(t, err)
		return res
	}
	require.Zero(t, pass())
	w.defined = true
	require.Equal(t, lookAgain, pass().RequeueAfter, "it is defined and not served yet")
	require.False(t, k.kinds.Has(plan.HTTPRoute.GroupKind()))
	*serves = true
	require.Zero(t, pass())
	require.True(t, k.kinds.Has(plan.HTTPRoute.GroupKind()))
	require.Equal(t, still{defined: true, watching: 1, indexed: 2}, *w)
	require.Len(t, k.changed, 1, "services are told")
	require.Zero(t, pass())
	require.Len(t, k.changed, 1, "once")

	w.defined, *serves = false, false
	require.Zero(t, pass())
	require.False(t, k.kinds.Has(plan.HTTPRoute.GroupKind()))
	require.Equal(t, 1, w.removed)
	require.Len(t, k.changed, 2)

	w.defined, *serves = true, true
	require.Zero(t, pass())
	require.Equal(t, 2, w.watching, "and it may come again")
	res, err := k.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "others.example.com"}})
	require.NoError(t, err)
	require.Zero(t, res)
}

func TestAKindThatMayNotBeWatchedIsNotUsedUntilItMay(t *testing.T) {
	k, w, r, serves := kindsWorld(t)
	w.defined, *serves = true, true
	r.denied = []string{"list httproutes a"}
	for range 2 {
		res, err := k.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: plan.HTTPRoute.CRD}})
		require.NoError(t, err)
		require.Equal(t, lookAround, res.RequeueAfter)
	}
	require.Zero(t, w.watching, "its first list would never come, and every pass would wait for it")
	require.False(t, k.kinds.Has(plan.HTTPRoute.GroupKind()))
	require.Contains(t, k.kinds.Denied(plan.HTTPRoute.GroupKind()), "list httproutes")
	require.Len(t, k.changed, 1)

	r.denied = nil
	present, err := k.settle(t.Context(), plan.HTTPRoute)
	require.NoError(t, err)
	require.True(t, present)
	require.True(t, k.kinds.Has(plan.HTTPRoute.GroupKind()))
	require.Empty(t, k.kinds.Denied(plan.HTTPRoute.GroupKind()))
	require.Len(t, k.changed, 2)

	// A kind that goes while it may not be watched leaves nothing behind.
	*serves, r.denied = false, []string{"list httproutes a"}
	_, err = k.settle(t.Context(), plan.HTTPRoute)
	require.NoError(t, err)
	require.Empty(t, k.kinds.Denied(plan.HTTPRoute.GroupKind()))
}
