// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// countsOf records every number of pods that a Deployment was ever told to have, until the test asks for them.
func (w *world) countsOf(name string) func() []int32 {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	events, err := w.Client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(w.ns))
	require.NoError(w.t, err)
	done := make(chan []int32)
	go func() {
		var seen []int32
		for e := range events.ResultChan() {
			if d, ok := e.Object.(*appsv1.Deployment); ok && e.Type != watch.Deleted && d.Name == name && d.Spec.Replicas != nil {
				seen = append(seen, *d.Spec.Replicas)
			}
		}
		done <- slices.Compact(seen)
	}()
	return func() []int32 { stop(); return <-done }
}

func (w *world) scaleTo(name string, n int32) {
	w.t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}}
	require.NoError(w.t, w.Client.SubResource("scale").Update(w.t.Context(), d, client.WithSubResourceBody(&autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}, Spec: autoscalingv1.ScaleSpec{Replicas: n},
	})))
}

func replicas(n int32) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if d.Spec.Replicas == nil || *d.Spec.Replicas != n {
			return fmt.Errorf("replicas are %v, not %d", d.Spec.Replicas, n)
		}
		return nil
	}
}

func TestTheNumberOfPodsIsNeverFoughtOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const class = "serving.kserve.io/autoscalerClass"
	w.apply(sklearn("m", "s3://models/iris", class+": none") + "    minReplicas: 5\n    maxReplicas: 9\n")
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(5))
	seen := w.countsOf("m-predictor")
	w.scaleTo("m-predictor", 2)
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(5)) // without an autoscaler the service says it
	w.settle()

	svc := w.service("m")
	w.change(svc, `{"metadata": {"annotations": {"`+class+`": "hpa"}}}`)
	has(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{}, nil)
	w.settle()
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(5))

	w.scaleTo("m-predictor", 7) // the autoscaler
	w.change(svc, `{"spec": {"predictor": {"model": {"storageUri": "s3://models/other"}}}}`)
	w.settle()
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(7))

	w.change(svc, `{"metadata": {"annotations": {"`+class+`": "external"}}}`)
	gone(w, "m-predictor", &autoscalingv2.HorizontalPodAutoscaler{})
	w.scaleTo("m-predictor", 0)
	w.change(svc, `{"spec": {"predictor": {"model": {"storageUri": "s3://models/third"}}}}`)
	w.settle()
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(0))

	w.change(svc, `{"metadata": {"annotations": {"`+class+`": "none"}}}`)
	has(w, "m-predictor", &appsv1.Deployment{}, replicas(5))
	w.settle()
	require.Equal(t, []int32{5, 2, 5, 7, 0, 5}, seen(), "no number in between")
}

const multiNodeRuntime = `apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: mn}
spec:
  supportedModelFormats: [{name: llm, autoSelect: true}]
  containers: [{name: kserve-container, image: "registry.test/v:1"}]
  workerSpec: {pipelineParallelSize: 2, tensorParallelSize: 1, containers: [{name: worker-container, image: "registry.test/w:1"}]}`

func TestTheObjectsOfSeveralNodesStayAndThoseOfAnEarlierGenerationGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(multiNodeRuntime, `apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m, annotations: {serving.kserve.io/deploymentMode: Standard, serving.kserve.io/autoscalerClass: none}}
spec: {predictor: {model: {modelFormat: {name: llm}, storageUri: "pvc://claim/m"}, workerSpec: {pipelineParallelSize: 3}}}`)
	svc := w.ready("m")
	g := svc.Generation
	name := func(what string, generation int64) string { return fmt.Sprintf("m-%s-%d", what, generation) }
	worker := has(w, "m-predictor-worker", &appsv1.Deployment{}, replicas(2))
	for _, what := range []string{"head", "workers"} {
		s := has(w, name(what, g), &corev1.Service{}, nil)
		require.Equal(t, corev1.ClusterIPNone, s.Spec.ClusterIP)
		require.Equal(t, fmt.Sprint(g), s.Spec.Selector["isvc.generation"])
	}
	before := len(w.writes())
	w.change(svc, `{"metadata": {"labels": {"touched": "yes"}, "annotations": {"example.com/touched": "yes"}}}`)
	w.change(svc, `{"metadata": {"labels": {"touched": null}, "annotations": {"example.com/touched": null}}}`)
	w.settle()
	for _, write := range w.writes()[before:] {
		require.NotContains(t, write, "delete", "nothing of several nodes is ever made anew")
	}
	require.Equal(t, worker.UID, has(w, "m-predictor-worker", &appsv1.Deployment{}, nil).UID)

	w.change(svc, `{"spec": {"predictor": {"workerSpec": {"pipelineParallelSize": 4}}}}`)
	has(w, "m-predictor-worker", &appsv1.Deployment{}, replicas(3))
	gone(w, name("head", g), &corev1.Service{})
	gone(w, name("workers", g), &corev1.Service{})
	svc = w.ready("m")
	has(w, name("head", svc.Generation), &corev1.Service{}, nil)
	has(w, name("workers", svc.Generation), &corev1.Service{}, nil)
	require.Equal(t, worker.UID, has(w, "m-predictor-worker", &appsv1.Deployment{}, nil).UID)

	w.change(svc, `{"spec": {"predictor": {"workerSpec": {"tensorParallelSize": 7, "containers": [{"name": "worker-container", "resources": {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}}]}, "model": {"resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}}}}`)
	has(w, "m", &servingv1beta1.InferenceService{}, func(s *servingv1beta1.InferenceService) error {
		if c := s.Status.Condition(servingv1beta1.LatestDeploymentReady); c == nil || c.Reason != servingv1beta1.ReasonInvalidGPUAllocation {
			return fmt.Errorf("the conditions are %+v", s.Status.Conditions)
		}
		return nil
	})
	has(w, "m-predictor-worker", &appsv1.Deployment{}, replicas(3)) // what serves, serves on
}

func TestARouteIsReadyWhenItsGatewaySaysSo(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.apply(sklearn("m", "s3://models/iris"))
	w.ready("m")
	route := &unstructured.Unstructured{}
	route.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
	says := func(condition, reason string) {
		t.Helper()
		has(w, "m", route, nil)
		status := map[string]any{"parents": []any{map[string]any{
			"controllerName": "example.com/gw", "parentRef": map[string]any{"namespace": "kserve", "name": "kserve-ingress-gateway"},
			"conditions": []any{map[string]any{
				"type": "Accepted", "status": condition, "reason": reason, "message": "so says the Gateway", "lastTransitionTime": "2026-01-01T12:00:00Z", "observedGeneration": route.GetGeneration(),
			}},
		}}}
		route.Object["status"] = status
		require.NoError(t, w.Client.Status().Update(t.Context(), route))
	}
	says("False", "NoMatchingListenerHostname")
	w.says("m", servingv1beta1.IngressReady, "NoMatchingListenerHostname", "so says the Gateway")
	w.says("m", serving.ConditionReady, "NoMatchingListenerHostname")
	says("True", "Accepted")
	has(w, "m", &servingv1beta1.InferenceService{}, isReady)
	w.settle()
	before := len(w.writes())
	says("True", "Accepted") // said again, with nothing new
	w.settle()
	require.Empty(t, w.writes()[before:])
}

func TestTheStatusIsTrueWithinSecondsOfTheCause(t *testing.T) {
	t.Parallel()
	n := startService(t)
	n.deploymentSays(0, "aaaa", "ReplicaSetUpdated")
	pod := n.pod("aaaa")
	fetched := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}
	oom := &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", StartedAt: metav1.Now(), FinishedAt: metav1.Now()}
	steps := []struct {
		says   string
		cause  func()
		kind   serving.ConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{"no node takes the pod", func() {
			n.podSays(pod, corev1.PodPending, map[corev1.PodConditionType]string{corev1.PodScheduled: "Unschedulable: 0/1 nodes are available."}, corev1.ContainerState{}, corev1.ContainerState{}, nil)
		}, servingv1beta1.PredictorReady, corev1.ConditionFalse, "Unschedulable"},
		{"the initializer is killed for memory", func() {
			n.podSays(pod, corev1.PodPending, scheduled, waits("CrashLoopBackOff"), waits("PodInitializing"), oom)
		}, servingv1beta1.PredictorReady, corev1.ConditionFalse, "OOMKilled"},
		{"the image cannot be pulled", func() {
			n.podSays(pod, corev1.PodPending, scheduled, fetched, waits("ImagePullBackOff"), nil)
		}, servingv1beta1.PredictorReady, corev1.ConditionFalse, "ImagePullBackOff"},
		{"the service serves", func() {
			n.podSays(pod, corev1.PodRunning, serves, fetched, running(), nil)
			n.deploymentSays(1, "aaaa", "NewReplicaSetAvailable")
		}, serving.ConditionReady, corev1.ConditionTrue, ""},
		{"the server is killed for memory", func() {
			n.podSays(pod, corev1.PodRunning, map[corev1.PodConditionType]string{corev1.PodScheduled: "", corev1.PodInitialized: "", corev1.PodReady: "ContainersNotReady"}, fetched, corev1.ContainerState{Terminated: oom}, nil)
			n.deploymentSays(0, "aaaa", "NewReplicaSetAvailable")
		}, serving.ConditionReady, corev1.ConditionFalse, "OOMKilled"},
	}
	const bound = 10 * time.Second // far above what is measured: the machine of a test has other things to do
	for _, s := range steps {
		ctx, stop := context.WithTimeout(t.Context(), bound)
		events, err := n.c.Client.Watch(ctx, &servingv1beta1.InferenceServiceList{}, client.InNamespace(n.ns))
		require.NoError(t, err)
		begin := time.Now()
		s.cause()
		took, last := time.Duration(0), "no change"
		for e := range events.ResultChan() {
			svc, ok := e.Object.(*servingv1beta1.InferenceService)
			if !ok {
				continue
			}
			c := svc.Status.Condition(s.kind)
			last = fmt.Sprintf("%+v", c)
			if c != nil && c.Status == s.status && (s.reason == "" || c.Reason == s.reason) {
				took = max(time.Since(begin), 1)
				break
			}
		}
		stop()
		require.Positive(t, took, "%s: not told within %s: %s", s.says, bound, last)
		t.Logf("%-40s told after %s", s.says, took.Round(time.Millisecond))
	}
}

func TestAStatusThatCannotBeWrittenAtFirstIsWrittenThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(sklearn("m", "s3://models/iris"))
	// Whoever else writes the service meanwhile makes the controller's status a conflict.
	svc := w.service("m")
	for i := range 20 {
		w.change(svc, fmt.Sprintf(`{"metadata": {"annotations": {"example.com/n": "%d"}}}`, i))
	}
	has(w, "m", &servingv1beta1.InferenceService{}, func(s *servingv1beta1.InferenceService) error {
		if s.Status.ObservedGeneration != s.Generation || len(s.Status.Conditions) == 0 {
			return errors.New("there is no status yet")
		}
		return nil
	})
	w.ready("m")
	requests, err := w.Requests(cluster.ControllerAccount)
	require.NoError(t, err)
	for _, r := range requests {
		require.False(t, r.Namespace == w.ns && r.Code >= 500, "%+v", r)
		require.False(t, r.Namespace == w.ns && strings.Contains(r.Kind(), "inferenceservices") && r.Code == 403, "%+v", r)
	}
}

func TestRoutesAndScalersAreWhatTheirKindsTake(t *testing.T) {
	w := newWorld(t)
	w.withSetting("ingress", "enableGatewayApi", true)
	w.withSetting("ingress", "pathTemplate", "/serving/{{ .Namespace }}/{{ .Name }}")
	w.withSetting("ingress", "additionalIngressDomains", []string{"additional.example.com"})
	const keda = "serving.kserve.io/autoscalerClass: keda"
	two := func(name, annotations, predictor string) string {
		return fmt.Sprintf(`apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: %s, annotations: {serving.kserve.io/deploymentMode: Standard, %s}}
spec:
  predictor:
    containers: [{name: kserve-container, image: "registry.test/a:1", ports: [{name: h2c, containerPort: 8033}, {name: http, containerPort: 8080}, {name: admin, containerPort: 80}]}]
    timeout: 200000
    %s
  explainer: {containers: [{name: kserve-container, image: "registry.test/e:1"}]}
`, name, annotations, predictor)
	}
	w.apply(
		two("a", "", ""),
		two("b", keda, "minReplicas: 0\n    maxReplicas: 3\n    "+`autoScaling: {metrics: [{type: External, external: {metric: {backend: prometheus, serverAddress: "http://p", query: up}, authenticationRef: {authModes: bearer, authenticationRef: {name: creds}}, target: {type: Value, value: "100.5"}}}, {type: External, external: {metric: {backend: graphite, serverAddress: "http://g", query: a}, target: {type: Value, value: "1"}}}], behavior: {scaleDown: {selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}`),
		two("c", keda, ""),
		two("d", "", "minReplicas: 2\n    maxReplicas: 5\n    "+`autoScaling: {metrics: [{type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1500Mi}}}, {type: Resource, resource: {name: cpu}}], behavior: {scaleDown: {stabilizationWindowSeconds: 42}, scaleUp: {selectPolicy: Max, policies: [{type: Percent, value: 100, periodSeconds: 15}]}}}`),
	)
	for _, name := range []string{"a", "b", "c", "d"} {
		w.ready(name)
		for _, route := range []string{name, name + "-predictor", name + "-explainer", name + ".path"} {
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
			has(w, route, o, nil)
		}
	}
	svc := has(w, "a", &servingv1beta1.InferenceService{}, isReady)
	require.Equal(t, fmt.Sprintf("grpc://a-predictor-%s.example.com:80", w.ns), svc.Status.Components[serving.Predictor].GRPCURL)
	for _, name := range []string{"b-predictor", "c-predictor", "c-explainer"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"})
		has(w, name, o, nil)
	}
	before := len(w.writes())
	w.withSetting("ingress", "pathMatchType", "PathPrefix")
	w.settle()
	for _, name := range []string{"a", "b", "c", "d"} {
		w.ready(name)
	}
	require.NotEmpty(t, w.writes()[before:], "every route is written anew")
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"})
	text := fmt.Sprint(has(w, "a", o, nil).Object["spec"])
	require.NotContains(t, text, "RegularExpression")

	before = len(w.writes())
	w.withSetting("ingress", "unknown", "what nobody reads") // a look at everything
	w.settle()
	require.Empty(t, w.writes()[before:], "what is as it should be costs no write")
}
