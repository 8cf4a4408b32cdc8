// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/gather"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// looked is a pass as an event starts it: what is known of the passes before stays known. It says whether the pass had to look.
func (w *world) looked(tb testing.TB) bool {
	tb.Helper()
	unchanged := w.Metrics.reconciled.WithLabelValues(servingv1beta1.InferenceServiceKind, stateUnchanged)
	before := testutil.ToFloat64(unchanged)
	_, err := w.Reconcile(tb.Context(), ctrl.Request{NamespacedName: name})
	require.NoError(tb, err)
	return testutil.ToFloat64(unchanged) == before
}

func TestAnEventThatBringsNothingNewCostsNoPass(t *testing.T) {
	deployment := func() *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-predictor"}}
	}
	for sentence, change := range map[string]func(t *testing.T, w *world){
		"a change of the service is news": func(t *testing.T, w *world) {
			t.Helper()
			svc := w.service(t)
			svc.Labels = map[string]string{"a": "b"}
			require.NoError(t, w.client.Update(t.Context(), svc))
		},
		"a change of a child is news": func(t *testing.T, w *world) {
			t.Helper()
			w.deploymentReady(t)
		},
		"a child that is gone is news": func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, w.client.Delete(t.Context(), deployment()))
		},
		"a pod is news": func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, w.client.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "p", Labels: map[string]string{serving.LabelInferenceService: "m"},
			}}))
		},
		"a runtime of the namespace is news": func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, w.client.Create(t.Context(), &servingv1alpha1.ServingRuntime{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r"}}))
		},
		"a change of a runtime of the cluster is news": func(t *testing.T, w *world) {
			t.Helper()
			var list servingv1alpha1.ClusterServingRuntimeList
			require.NoError(t, w.client.List(t.Context(), &list))
			list.Items[0].Spec.Labels = map[string]string{"a": "b"}
			require.NoError(t, w.client.Update(t.Context(), &list.Items[0]))
		},
		"a storage container is news": func(t *testing.T, w *world) {
			t.Helper()
			require.NoError(t, w.client.Create(t.Context(), &servingv1alpha1.ClusterStorageContainer{ObjectMeta: metav1.ObjectMeta{Name: "c"}}))
		},
		"other settings are news": func(t *testing.T, w *world) {
			t.Helper()
			w.Settings = gather.NewSettings("kserve", "other.local")
			_, err := w.Settings.Take(shipped(t))
			require.NoError(t, err)
		},
		"another release of the cluster is news": func(_ *testing.T, w *world) { w.Release = func() string { return "v1.34.1" } },
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t, sklearn())
			require.True(t, w.looked(t))
			require.False(t, w.looked(t))
			change(t, w)
			require.True(t, w.looked(t))
			require.False(t, w.looked(t))
		})
	}
}

func TestAKindThatTheClusterHasNowIsNews(t *testing.T) {
	without, with := surroundings{definitions: &gather.Definitions{}}, surroundings{definitions: &gather.Definitions{Kinds: []plan.Optional{plan.ScaledObject}}}
	require.NotEqual(t, without.seen("1", &plan.Children{}), with.seen("1", &plan.Children{}))
}

func TestAPassThatFailedIsMadeAgain(t *testing.T) {
	w := newWorld(t, sklearn())
	w.fail = func(_ string, o client.Object) error {
		if _, ok := o.(*appsv1.Deployment); ok {
			return errors.New("no")
		}
		return nil
	}
	for range 2 {
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.Error(t, err)
	}
	w.fail = nil
	require.True(t, w.looked(t))
	require.False(t, w.looked(t))
}

func TestWhatIsReadWithoutAWatchIsReadEachTime(t *testing.T) {
	w := newWorld(t, sklearn(func(svc *servingv1beta1.InferenceService) {
		svc.Spec.Predictor.Model.StorageURI = nil
		svc.Spec.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "s3://b/m"}}
	}))
	require.True(t, w.looked(t))
	require.True(t, w.looked(t), "service accounts and secrets are not watched")
}

func TestWhatStaysInTheWayIsLookedForLessAndLess(t *testing.T) {
	w := newWorld(t, sklearn())
	earlier := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-predictor", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: servingv1beta1.SchemeGroupVersion.String(), Kind: servingv1beta1.InferenceServiceKind, Name: "m", UID: "earlier", Controller: new(true),
	}}}}
	require.NoError(t, w.client.Create(t.Context(), earlier))
	earlier.Labels = map[string]string{"a": "b"}
	require.NoError(t, w.client.Update(t.Context(), earlier), "only the client of tests begins with version 1")
	for age, pause := range map[time.Duration]time.Duration{
		0: 2 * time.Second, 30 * time.Second: 2 * time.Second, 10 * time.Minute: 30 * time.Second, 24 * time.Hour: time.Minute,
	} {
		made := w.service(t).CreationTimestamp.Time
		w.Now = func() time.Time { return made.Add(age) }
		result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		require.Equal(t, pause, result.RequeueAfter, age)
	}
}

func TestACanaryWhoseServiceWasDeletedIsLedToAgain(t *testing.T) {
	w := newCanaryWorld(t, "", func(svc *servingv1beta1.InferenceService) { svc.Spec.Canary[0].TrafficPercent = 20 })
	require.False(t, w.looked(t), "all is as wanted")
	require.NoError(t, w.client.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-v2-predictor"}}))
	require.True(t, w.looked(t))
	require.True(t, w.looked(t), "the pass that made the Service again decided without it")
	require.False(t, w.looked(t))
}

// behind is a cache that has not seen the last write of a service.
type behind struct {
	client.Client
	svc *servingv1beta1.InferenceService
}

func (b *behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if svc, ok := o.(*servingv1beta1.InferenceService); ok {
		b.svc.DeepCopyInto(svc)
		return nil
	}
	return b.Client.Get(ctx, key, o, opts...)
}

func TestAPassBeforeTheCacheHasItsOwnStatusGoesOnFromThere(t *testing.T) {
	w := newWorld(t, sklearn())
	before := w.service(t)
	w.pass(t)
	w.deploymentReady(t)
	w.Client = &behind{w.client, before}
	require.Equal(t, []string{"patch m", "status m"}, w.pass(t), "no conflict, and nothing twice")
	require.Equal(t, corev1.ConditionTrue, w.service(t).Status.Condition(serving.ConditionReady).Status)
}
