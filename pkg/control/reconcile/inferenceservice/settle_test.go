// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/apply"
)

// served says that all pods of a Deployment answer.
func (w *world) served(tb testing.TB, deployment string) {
	tb.Helper()
	d := &appsv1.Deployment{}
	require.NoError(tb, w.client.Get(tb.Context(), client.ObjectKey{Namespace: "ns", Name: deployment}, d))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
	}}
	require.NoError(tb, w.client.Status().Update(tb.Context(), d))
}

// leadsTo is the Service of the first rule of the Ingress.
func (w *world) leadsTo(tb testing.TB) string {
	tb.Helper()
	in := &networkingv1.Ingress{}
	require.NoError(tb, w.client.Get(tb.Context(), name, in))
	return in.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name
}

func (w *world) has(tb testing.TB, workload string) bool {
	tb.Helper()
	key := client.ObjectKey{Namespace: "ns", Name: workload}
	d, s := w.client.Get(tb.Context(), key, &appsv1.Deployment{}), w.client.Get(tb.Context(), key, &corev1.Service{})
	require.Equal(tb, apierrors.IsNotFound(d), apierrors.IsNotFound(s), "Deployment and Service stay together")
	return d == nil
}

func TestAPredictorServesUntilRequestsAreLedToItsSuccessor(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Name = "one" }))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	w.Now, w.Apply.Now = clock, clock
	w.pass(t)
	w.served(t, "m-one-predictor")
	w.pass(t)
	require.Equal(t, "m-one-predictor", w.leadsTo(t))

	svc := w.service(t)
	svc.Spec.Predictor.Name = "two"
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	require.Equal(t, "m-one-predictor", w.leadsTo(t), "the other cannot answer yet")
	require.True(t, w.has(t, "m-one-predictor"))
	now = now.Add(time.Hour)
	w.pass(t)
	require.True(t, w.has(t, "m-one-predictor"), "however long that takes")

	w.served(t, "m-two-predictor")
	res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(t, err)
	require.Equal(t, "m-two-predictor", w.leadsTo(t))
	require.True(t, w.has(t, "m-one-predictor"), "a gateway may not have followed yet")
	require.Positive(t, res.RequeueAfter)
	require.LessOrEqual(t, res.RequeueAfter, 5*time.Second)
	now = now.Add(time.Second)
	require.Empty(t, w.pass(t))
	now = now.Add(res.RequeueAfter)
	require.Equal(t, []string{"delete m-one-predictor", "delete m-one-predictor"}, w.pass(t))
	require.Empty(t, w.pass(t))
}

func TestANewProcessWaitsForTheGatewayToo(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Name = "one" }))
	now := time.Now() // the stand-in records when an object was written
	clock := func() time.Time { return now }
	anew := func() { w.Apply = &apply.Applier{Client: w.client, Live: w.client, Kinds: w.Gather.Kinds, Now: clock} }
	anew()
	w.Now = clock
	w.pass(t)
	w.served(t, "m-one-predictor")
	w.pass(t)
	svc := w.service(t)
	svc.Spec.Predictor.Name = "two"
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	w.served(t, "m-two-predictor")
	w.pass(t)
	require.Equal(t, "m-two-predictor", w.leadsTo(t))

	anew()
	res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(t, err)
	require.True(t, w.has(t, "m-one-predictor"), "the route was written a moment ago")
	require.Positive(t, res.RequeueAfter)
	now = now.Add(res.RequeueAfter)
	w.pass(t)
	require.False(t, w.has(t, "m-one-predictor"))
}

func TestANewProcessDoesNotWaitForARouteOfLongAgo(t *testing.T) {
	w := newWorld(t, sklearn())
	now := time.Now().Add(time.Hour)
	clock := func() time.Time { return now }
	w.Now, w.Apply.Now = clock, clock
	w.pass(t)
	w.served(t, "m-predictor")
	w.pass(t)
	leftover := &appsv1.Deployment{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-predictor"}, leftover))
	leftover.Name, leftover.ResourceVersion = "m-old-predictor", ""
	require.NoError(t, w.client.Create(t.Context(), leftover))
	require.Equal(t, []string{"delete m-old-predictor"}, w.pass(t))
}

func TestWhatNobodyIsLedToGoesAtOnce(t *testing.T) {
	w := newWorld(t, sklearn())
	w.pass(t)
	w.served(t, "m-predictor")
	w.pass(t)
	svc := w.service(t)
	svc.Annotations[serving.AnnotationStop] = "true"
	require.NoError(t, w.client.Update(t.Context(), svc))
	w.pass(t)
	require.False(t, w.has(t, "m-predictor"), "a service that is stopped leads nobody anywhere")
}
