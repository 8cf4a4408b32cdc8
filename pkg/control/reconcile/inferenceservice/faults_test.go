// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inferenceservice

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/deploy"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// deaf refuses to read objects.
type deaf struct {
	client.Reader
	err error
}

func (d *deaf) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if d.err != nil {
		return d.err
	}
	return d.Reader.Get(ctx, key, o, opts...)
}

func (d *deaf) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if d.err != nil {
		return d.err
	}
	return d.Reader.List(ctx, list, opts...)
}

func TestCredentialsThatCannotBeReadAreTold(t *testing.T) {
	w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) {
		s.Spec.Predictor.Model.StorageURI = nil
		s.Spec.Predictor.StorageURIs = []servingv1beta1.StorageURI{{URI: "s3://b/m"}}
	}))
	live := &deaf{w.client, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "default", errors.New("the role does not allow it"))}
	w.Gather.Live = live
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.Error(t, err, "it is worth another attempt")
	c := w.service(t).Status.Condition(servingv1beta1.PredictorReady)
	require.NotNil(t, c)
	require.Equal(t, servingv1beta1.ReasonReconcileFailed, c.Reason)
	require.Contains(t, c.Message, "read service account default")
	require.Contains(t, c.Message, "the role does not allow it")
	w.writes = nil
	_, err = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.Error(t, err)
	require.Empty(t, w.writes, "it is told once")

	live.err = nil
	require.Contains(t, w.pass(t), "patch m-predictor")
}

func TestPausesAfterConflictsGrow(t *testing.T) {
	kind := schema.GroupResource{Resource: "x"}
	for label, refused := range map[string]func(verb string, o client.Object) bool{
		"of an object":  func(verb string, o client.Object) bool { _, ok := o.(*appsv1.Deployment); return ok && verb == "patch" },
		"of the status": func(verb string, _ client.Object) bool { return verb == "status" },
		"of the finalizer": func(verb string, o client.Object) bool {
			_, ok := o.(*servingv1beta1.InferenceService)
			return ok && verb == "patch"
		},
	} {
		t.Run(label, func(t *testing.T) {
			w := newWorld(t, sklearn(func(s *servingv1beta1.InferenceService) {
				if label == "of the finalizer" {
					s.Finalizers = nil
				}
			}))
			w.fail = func(verb string, o client.Object) error {
				if refused(verb, o) {
					return apierrors.NewConflict(kind, o.GetName(), errors.New("changed"))
				}
				return nil
			}
			for want := firstCalm; want < longestCalm; want *= 2 {
				res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
				require.NoError(t, err)
				require.Equal(t, want, res.RequeueAfter)
			}
			w.fail = nil
			w.pass(t)
			w.pass(t)
			require.Equal(t, firstCalm, w.calm.next(name), "a pass that goes well ends it")
		})
	}
}

func TestABusyServerIsLeftAlone(t *testing.T) {
	w := newWorld(t, sklearn())
	for seconds, least := range map[int]time.Duration{0: retryBusy, 7: 7 * time.Second} {
		w.fail = func(verb string, o client.Object) error {
			if _, ok := o.(*appsv1.Deployment); ok && verb == "patch" {
				return apierrors.NewTooManyRequests("too many requests", seconds)
			}
			return nil
		}
		res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		require.GreaterOrEqual(t, res.RequeueAfter, least)
		require.Contains(t, w.service(t).Status.Condition(servingv1beta1.PredictorReady).Message, "too many requests")
	}
}

func TestAnErrorIsNotForgottenBecauseTheStatusFailsToo(t *testing.T) {
	w := newWorld(t, sklearn())
	w.fail = func(verb string, o client.Object) error {
		switch _, ok := o.(*appsv1.Deployment); {
		case ok && verb == "patch":
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
		case verb == "status":
			return apierrors.NewConflict(schema.GroupResource{Resource: "inferenceservices"}, "m", errors.New("changed"))
		}
		return nil
	}
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.Error(t, err)
}

func TestAConflictDoesNotHideAnotherError(t *testing.T) {
	w := newWorld(t, sklearn())
	w.fail = func(verb string, o client.Object) error {
		switch o.(type) {
		case *appsv1.Deployment:
			return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, o.GetName(), errors.New("changed"))
		case *corev1.Service:
			return apierrors.NewInternalError(errors.New("the disk is full"))
		}
		return nil
	}
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	require.Error(t, err)
	require.Contains(t, w.service(t).Status.Condition(servingv1beta1.PredictorReady).Message, "the disk is full")
}

func TestADeletionDoesNotWaitForEverForTrainedModels(t *testing.T) {
	now := time.Now()
	deleted := func(t *testing.T, fault error) *world {
		t.Helper()
		w := newWorld(t, sklearn())
		require.NoError(t, w.client.Delete(t.Context(), w.service(t)))
		w.Now = func() time.Time { return now }
		w.Live = &deaf{w.client, fault}
		return w
	}
	gone := func(w *world) bool {
		return apierrors.IsNotFound(w.client.Get(t.Context(), name, &servingv1beta1.InferenceService{}))
	}
	t.Run("that the cluster does not have", func(t *testing.T) {
		w := deleted(t, apierrors.NewNotFound(schema.GroupResource{Resource: "trainedmodels"}, ""))
		w.pass(t)
		require.True(t, gone(w))
	})
	t.Run("that cannot be listed", func(t *testing.T) {
		w := deleted(t, apierrors.NewForbidden(schema.GroupResource{Resource: "trainedmodels"}, "", errors.New("no role")))
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.ErrorContains(t, err, "no role")
		require.False(t, gone(w))
		require.Contains(t, <-w.events.Events, "the deletion waits for the trained models")
		now = now.Add(lettingGo + 2*time.Second)
		w.pass(t)
		require.True(t, gone(w))
		require.Contains(t, <-w.events.Events, "no role")
	})
	t.Run("that hold on themselves", func(t *testing.T) {
		model := &servingv1alpha1.TrainedModel{ObjectMeta: metav1.ObjectMeta{
			Name: "tm", Namespace: "ns", Labels: map[string]string{serving.LabelTrainedModelParent: "m"}, Finalizers: []string{"trainedmodel.finalizer"},
		}}
		w := newWorld(t, sklearn(), model)
		require.NoError(t, w.client.Delete(t.Context(), w.service(t)))
		w.pass(t)
		require.True(t, gone(w))
	})
}

// TestAClockThatJumps lets the time of each pass be any within ten years around the true one.
func TestAClockThatJumps(t *testing.T) {
	w := newWorld(t, sklearn())
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Now = func() time.Time {
		return start.Add(time.Duration(random.Int64N(int64(10*365*24*time.Hour))) - 5*365*24*time.Hour)
	}
	pass := func() []string {
		t.Helper()
		w.writes = nil
		res, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
		require.NoError(t, err)
		require.GreaterOrEqual(t, res.RequeueAfter, time.Duration(0), "a pause below zero is none, and the service would sleep for ever")
		require.LessOrEqual(t, res.RequeueAfter, time.Hour, "nor is it longer than the longest of all pauses")
		return w.writes
	}
	pass()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", Labels: map[string]string{serving.LabelInferenceService: "m", "app": "isvc.m-predictor", serving.LabelComponent: "predictor"},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kserve-container"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: start},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "kserve-container", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: start}}}}},
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Time{Time: start}}},
		},
	}
	require.NoError(t, w.client.Create(t.Context(), pod))
	for i := range 50 {
		for _, write := range pass() {
			require.Equal(t, "status m", write, fmt.Sprint("pass ", i))
		}
	}
	require.NoError(t, w.client.Delete(t.Context(), pod))
	w.deploymentReady(t)
	pass()
	ready := w.service(t).Status.Condition(serving.ConditionReady)
	require.Equal(t, corev1.ConditionTrue, ready.Status)
	for range 50 {
		require.Empty(t, pass(), "what has not changed is not written, whatever time it is")
	}
	require.Equal(t, ready, w.service(t).Status.Condition(serving.ConditionReady))
}

// meddling reads, and lets something happen before it answers.
type meddling struct {
	client.Reader
	then func()
}

func (m *meddling) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if m.then != nil {
		m.then()
	}
	return m.Reader.List(ctx, list, opts...)
}

func TestSettingsThatChangeInTheMiddleOfAPassAreForTheNext(t *testing.T) {
	w := newWorld(t, sklearn())
	w.pass(t)
	w.deploymentReady(t)
	w.pass(t)
	before := w.service(t).Status.URL
	edited := &corev1.ConfigMap{}
	require.NoError(t, yaml.Unmarshal(deploy.Config(), edited))
	edited.Data["ingress"] = strings.Replace(edited.Data["ingress"], "example.com", "example.org", 1)
	w.Gather.Cache = &meddling{w.client, func() {
		_, err := w.Settings.Take(edited)
		require.NoError(t, err)
	}}
	require.Empty(t, w.pass(t), "a pass has one value of the settings")
	require.Equal(t, before, w.service(t).Status.URL)
	require.NotEmpty(t, w.pass(t))
	require.Equal(t, strings.Replace(before, "example.com", "example.org", 1), w.service(t).Status.URL)
}

func TestThePhasesOfAPassAreMeasured(t *testing.T) {
	w := newWorld(t, sklearn())
	registry := prometheus.NewRegistry()
	var err error
	w.Metrics, err = NewMetrics(registry)
	require.NoError(t, err)
	w.pass(t)
	w.pass(t)
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]uint64{}
	for _, f := range families {
		if f.GetName() == "kserve_reconcile_phase_seconds" {
			for _, m := range f.GetMetric() {
				counts[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	require.Equal(t, map[string]uint64{"gather": 2, "resolve": 2, "render": 2, "apply": 2, "observe": 2, "status": 2}, counts)
}
