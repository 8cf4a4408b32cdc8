// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/control/apply"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// late answers reads with what there was between two things that happen.
type late struct {
	client.Reader
	first, then func()
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	l.first()
	err := l.Reader.Get(ctx, key, o, opts...)
	l.then()
	return err
}

func TestAnObjectThatTookTheNameMeanwhileIsNotTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	yes := true
	service := func(port int32, owner types.UID) *corev1.Service {
		s := &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: w.ns},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}},
		}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "serving.kserve.io/v1beta1", Kind: "InferenceService", Name: "m", UID: owner, Controller: &yes}}
		}
		return s
	}
	foreign := func() types.UID {
		_ = w.Client.Delete(context.WithoutCancel(t.Context()), service(0, ""))
		s := service(80, "")
		s.Spec.Selector = map[string]string{"app": "theirs"}
		require.NoError(t, w.Client.Create(t.Context(), s))
		return s.UID
	}
	owner := &plan.Owner{Kind: "InferenceService", Name: "m", Namespace: w.ns, UID: "1"}
	applied := func(live client.Reader, have *plan.Children) []error {
		a := &apply.Applier{Client: w.Client, Live: live, Kinds: &gather.Kinds{}}
		want := service(80, "1")
		want.Spec.Selector = map[string]string{"app": "ours"}
		return a.Objects(t.Context(), apply.Wanted{Owner: owner, Objects: []plan.Object{want}, Have: have}).Errors
	}
	untouched := func(uid types.UID, errs []error) {
		t.Helper()
		require.Len(t, errs, 1)
		require.True(t, apierrors.IsConflict(errs[0]), "%v", errs[0])
		s := has(w, "s", &corev1.Service{}, nil)
		require.Equal(t, uid, s.UID)
		require.Empty(t, s.OwnerReferences)
		require.Equal(t, map[string]string{"app": "theirs"}, s.Spec.Selector)
	}

	// The cache still has ours, and the name has another object.
	require.Empty(t, applied(w.Client, &plan.Children{}))
	ours := has(w, "s", &corev1.Service{}, nil)
	ours.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}
	ours.Spec.Selector["app"] = "drifted"
	have := &plan.Children{}
	have.Add(ours)
	uid := foreign()
	untouched(uid, applied(w.Client, have))

	// Another object has the name: the request that would make ours is refused, and a look tells whose it is.
	errs := applied(w.Client, &plan.Children{})
	require.Len(t, errs, 1)
	var blocked *plan.Blocked
	require.ErrorAs(t, errs[0], &blocked)
	require.Equal(t, uid, has(w, "s", &corev1.Service{}, nil).UID)

	// It was gone when it was looked for, and then another was there.
	gone := func() { require.NoError(t, w.Client.Delete(context.WithoutCancel(t.Context()), service(0, ""))) }
	errs = applied(&late{w.Client, gone, func() { uid = foreign() }}, &plan.Children{})
	untouched(uid, errs)

	// What we have is gone: the next pass makes it.
	require.NoError(t, w.Client.Delete(t.Context(), service(0, "")))
	errs = applied(w.Client, have)
	require.Len(t, errs, 1)
	require.True(t, apierrors.IsConflict(errs[0]), "%v", errs[0])
	require.Empty(t, applied(w.Client, &plan.Children{}))
}
