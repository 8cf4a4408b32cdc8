// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kserve-go/kserve-go/pkg/control/admit/follow/followtest"
)

func config(name, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kserve", Name: name}, Data: map[string]string{"text": text}}
}

// server is a stand-in for an API server; funcs may break it.
func server(funcs interceptor.Funcs, objects ...client.Object) client.WithWatch {
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	return followtest.Client(fake.NewClientBuilder().WithObjects(objects...).WithIndex(&corev1.ConfigMap{}, metav1.ObjectNameField, byName).WithInterceptorFuncs(funcs).Build())
}

// following starts a follower of ConfigMaps and counts the changes that it tells.
func following(t *testing.T, c client.WithWatch, name string, log *zap.Logger) (*Follower[*corev1.ConfigMap], *atomic.Int64) {
	t.Helper()
	var changes atomic.Int64
	target := Target{List: &corev1.ConfigMapList{}, Object: &corev1.ConfigMap{}, Namespace: "kserve", Name: name}
	f, err := New[*corev1.ConfigMap](c, target, log, func() { changes.Add(1) })
	require.NoError(t, err)
	require.False(t, f.Synced(), "nothing is read before it runs")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return f, &changes
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, time.Minute, time.Millisecond, what)
}

func TestOneObjectIsFollowedByItsName(t *testing.T) {
	c := server(interceptor.Funcs{}, config("mine", "a"), config("other", "x"))
	f, changes := following(t, c, "mine", zap.NewNop())
	says := func(text string) func() bool {
		return func() bool {
			cm, ok := f.One()
			return ok && cm.Data["text"] == text
		}
	}
	eventually(t, "the first value", says("a"))
	eventually(t, "the first list", f.Synced)
	require.Len(t, f.All(), 1, "others of its kind are not asked for")
	require.Equal(t, "ConfigMap kserve/mine", f.What())

	before := changes.Load()
	cm := &corev1.ConfigMap{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(config("mine", "")), cm))
	cm.Data["text"] = "b"
	require.NoError(t, c.Update(t.Context(), cm))
	eventually(t, "the new value", says("b"))
	eventually(t, "the news of it", func() bool { return changes.Load() > before })

	before = changes.Load()
	require.NoError(t, c.Delete(t.Context(), cm))
	eventually(t, "the end", func() bool { _, there := f.One(); return !there })
	eventually(t, "the news of it", func() bool { return changes.Load() > before })
	require.NoError(t, c.Create(t.Context(), config("mine", "c")))
	eventually(t, "a new one", says("c"))
}

func TestAllOfAKindAreFollowed(t *testing.T) {
	f, _ := following(t, server(interceptor.Funcs{}, config("a", ""), config("b", "")), "", zap.NewNop())
	eventually(t, "both", func() bool { return len(f.All()) == 2 })
	require.Equal(t, "ConfigMaps", f.What())
	require.Equal(t, "ConfigMap a", Target{Object: &corev1.ConfigMap{}, Name: "a"}.String(), "one outside of namespaces")
}

func TestAServerThatRefusesAtFirstIsAskedAgain(t *testing.T) {
	var lists atomic.Int64
	core, logged := observer.New(zap.WarnLevel)
	c := server(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if lists.Add(1) == 1 {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "mine", errors.New("no role"))
		}
		return c.List(ctx, list, opts...)
	}}, config("mine", "a"))
	f, _ := following(t, c, "mine", zap.New(core))
	eventually(t, "the first list", f.Synced)
	require.Equal(t, 1, logged.Len())
	require.Contains(t, logged.All()[0].Message, "ConfigMap kserve/mine; the process's role needs list and watch on it")
}

func TestWatchesThatEndAreStartedAgain(t *testing.T) {
	watches := make(chan watch.Interface, 100)
	c := server(interceptor.Funcs{Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
		w, err := c.Watch(ctx, list, opts...)
		if err == nil {
			watches <- w
		}
		return w, err
	}}, config("mine", "a"))
	f, _ := following(t, c, "mine", zap.NewNop())
	eventually(t, "the first list", f.Synced)
	(<-watches).Stop()
	cm := config("mine", "b")
	require.NoError(t, c.Update(t.Context(), cm))
	eventually(t, "what happened meanwhile", func() bool {
		cm, ok := f.One()
		return ok && cm.Data["text"] == "b"
	})
}

func TestTroubleIsLoggedOnceInAWhile(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	tell := complain(Target{Object: &corev1.Secret{}, Namespace: "kserve", Name: "s"}, zap.New(core))
	for _, ordinary := range []error{io.EOF, fmt.Errorf("x: %w", io.EOF), apierrors.NewResourceExpired("too old")} {
		tell(t.Context(), nil, ordinary)
	}
	require.Zero(t, logged.Len(), "watches end now and then")
	for range 10 {
		tell(t.Context(), nil, errors.New("connection refused"))
	}
	require.Equal(t, 1, logged.Len())
	require.Equal(t, "cannot follow Secret kserve/s", logged.All()[0].Message)
}
