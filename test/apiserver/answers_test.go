// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// pods writes the status of a Deployment of which some of the pods that it shall have serve.
func (w *world) pods(name string, serve, wanted int32) {
	w.t.Helper()
	w.Eventually(w.t, "the status of "+name, func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := w.Client.Get(ctx, w.key(name), d); err != nil {
			return err
		}
		is, reason := corev1.ConditionTrue, "NewReplicaSetAvailable"
		if serve < wanted {
			is, reason = corev1.ConditionFalse, "ReplicaSetUpdated"
		}
		d.Status = appsv1.DeploymentStatus{
			ObservedGeneration: d.Generation, Replicas: wanted, UpdatedReplicas: wanted, ReadyReplicas: serve, AvailableReplicas: serve, UnavailableReplicas: wanted - serve,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: is, Reason: "x"}, {Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason}},
		}
		return w.Client.Status().Update(ctx, d)
	})
}

// told are the events of the namespace, by their reason.
func (w *world) told() map[string][]string {
	w.t.Helper()
	var events corev1.EventList
	require.NoError(w.t, w.Client.List(w.t.Context(), &events, client.InNamespace(w.ns)))
	by := map[string][]string{}
	for i := range events.Items {
		by[events.Items[i].Reason] = append(by[events.Items[i].Reason], events.Items[i].Message)
	}
	return by
}

func TestWhileMorePodsComeTheServiceIsReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	has(w, "m-predictor", &appsv1.Deployment{}, nil)
	w.pods("m-predictor", 1, 3)
	w.settle()
	w.says("m", serving.ConditionReady, "MinimumReplicasUnavailable", "1 of 1 pods are ready") // the first time all are waited for
	w.ready("m")
	w.apply(sklearn("m", "s3://models/iris") + "    minReplicas: 3\n")
	w.pods("m-predictor", 1, 3)
	w.settle()
	svc := has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.Equal(t, "MinimumReplicasUnavailable", svc.Status.Condition(servingv1beta1.PredictorReady).Reason)
	before := len(w.writes())
	w.pods("m-predictor", 2, 3)
	w.settle()
	require.Len(t, w.writes(), before, "one pod more is no news")
	w.pods("m-predictor", 0, 3)
	w.says("m", serving.ConditionReady, "MinimumReplicasUnavailable")
	w.pods("m-predictor", 1, 3)
	has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	w.pods("m-predictor", 3, 3)
	w.settle()
	svc = has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.Equal(t, "NewReplicaSetAvailable", svc.Status.Condition(servingv1beta1.PredictorReady).Reason)
	require.Len(t, w.told()["InferenceServiceNotReady"], 1, "only when there was no pod at all")
}

func TestARenamedPredictorServesUntilItsSuccessorCan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	address := w.ready("m").Status.Address.URL
	w.apply(strings.Replace(sklearn("m", "s3://models/v2"), "predictor:\n", "predictor:\n    name: v2\n", 1))
	has(w, "m-v2-predictor", &appsv1.Deployment{}, nil)
	w.settle()
	svc := has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.Equal(t, "Replacing", svc.Status.Condition(servingv1beta1.PredictorReady).Reason)
	require.Equal(t, address, svc.Status.Address.URL, "what is printed can be called")
	require.Equal(t, servingv1beta1.InProgress, svc.Status.ModelStatus.TransitionStatus)
	svc = w.ready("m")
	require.Equal(t, strings.Replace(address, "m-predictor", "m-v2-predictor", 1), svc.Status.Address.URL)
	gone(w, "m-predictor", &appsv1.Deployment{})
	require.Empty(t, w.told()["InferenceServiceNotReady"])
}

func TestARouteThatChangesIsReadyUntilItIsRefused(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(plan.HTTPRoute.GroupVersionKind)
	generation := has(w, "m", route, nil).GetGeneration()
	w.apply(sklearn("m", "s3://models/iris") + "    timeout: 30\n")
	changed := func(r *unstructured.Unstructured) error {
		if r.GetGeneration() == generation {
			return errors.New("it is as it was")
		}
		return nil
	}
	has(w, "m", route, changed)
	w.settle()
	has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	require.Empty(t, w.told()["InferenceServiceNotReady"])
	says := func(status, reason string) {
		t.Helper()
		w.Eventually(t, "the status of the route", func(ctx context.Context) error {
			if err := w.Client.Get(ctx, w.key("m"), route); err != nil {
				return err
			}
			route.Object["status"] = map[string]any{"parents": []any{map[string]any{
				"controllerName": "example.com/gw", "parentRef": map[string]any{"namespace": "kserve", "name": "kserve-ingress-gateway"},
				"conditions": []any{map[string]any{
					"type": "Accepted", "status": status, "reason": reason, "message": "so says the Gateway", "lastTransitionTime": "2026-01-01T12:00:00Z", "observedGeneration": route.GetGeneration(),
				}},
			}}}
			return w.Client.Status().Update(ctx, route)
		})
	}
	says("Unknown", "Pending")
	w.settle()
	has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	says("False", "UnsupportedValue")
	w.says("m", serving.ConditionReady, "UnsupportedValue", "so says the Gateway")
	w.ready("m") // the Gateway takes up both routes
	require.Len(t, w.told()["UnsupportedValue"], 1)
}

func TestAModelThatCannotBeFetchedIsAnEventOnce(t *testing.T) {
	t.Parallel()
	n := startService(t)
	n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "MinimumReplicasUnavailable")
	n.deploymentSays(0, "aaaa", "ReplicaSetUpdated")
	pod := n.pod("aaaa")
	ended := &corev1.ContainerStateTerminated{
		ExitCode: 1, Reason: "Error", StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
		Message: `{"outcome":"failed","source":"s3://models/iris","kind":"not found","message":"no object has this name"}`,
	}
	n.podSays(pod, corev1.PodPending, scheduled, corev1.ContainerState{Terminated: ended}, waits("PodInitializing"), nil)
	n.wants(servingv1beta1.PredictorReady, corev1.ConditionFalse, "ModelLoadFailed")
	for range 3 {
		n.podSays(pod, corev1.PodPending, scheduled, waits("CrashLoopBackOff"), waits("PodInitializing"), ended)
		n.podSays(pod, corev1.PodPending, scheduled, running(), waits("PodInitializing"), ended)
	}
	w := &world{Cluster: n.c, t: t, ns: n.ns}
	w.settle()
	w.Eventually(t, "the event", func(context.Context) error {
		if told := w.told()["ModelLoadFailed"]; len(told) != 1 || !strings.Contains(told[0], "no object has this name") {
			return fmt.Errorf("%q", told)
		}
		return nil
	})
}

func TestAScaledObjectThatKEDACannotUseIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris", "serving.kserve.io/autoscalerClass: keda"))
	w.ready("m")
	so := &unstructured.Unstructured{}
	so.SetGroupVersionKind(plan.ScaledObject.GroupVersionKind)
	says := func(status, reason string) {
		t.Helper()
		has(w, "m-predictor", so, nil)
		so.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "so says KEDA"}}}
		require.NoError(t, w.Client.Status().Update(t.Context(), so))
	}
	says("False", "ScaledObjectCheckFailed")
	w.says("m", servingv1beta1.AutoscalerReady, "ScaledObjectCheckFailed", "so says KEDA")
	has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	before := len(w.writes())
	says("False", "ScaledObjectCheckFailed")
	w.settle()
	require.Len(t, w.writes(), before)
	says("True", "ScaledObjectReady")
	has(w, "m", &servingv1beta1.InferenceService{}, func(svc *servingv1beta1.InferenceService) error {
		if c := svc.Status.Condition(servingv1beta1.AutoscalerReady); c != nil {
			return fmt.Errorf("%+v", c)
		}
		return isReady(svc)
	})
}
