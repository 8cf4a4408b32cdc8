// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func ownedBy(apiVersion string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: "InferenceService", Name: "m", UID: "1", Controller: &yes}}
}

func managed() []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate},
		{Manager: plan.FieldManager, Operation: metav1.ManagedFieldsOperationApply},
	}
}

func TestTheCacheKeepsWhatIsOursAndTheNamesOfOthers(t *testing.T) {
	spec := networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "h"}}}
	kept, err := keepOurs(&networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "a", OwnerReferences: ownedBy("serving.kserve.io/v1beta1"), ManagedFields: managed()}, Spec: spec,
	})
	require.NoError(t, err)
	require.Equal(t, spec, kept.(*networkingv1.Ingress).Spec)
	require.Len(t, kept.(*networkingv1.Ingress).ManagedFields, 1)

	kept, err = keepOurs(&networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "y"}, OwnerReferences: ownedBy("example.com/v1"), ManagedFields: managed()}, Spec: spec,
	})
	require.NoError(t, err)
	require.Equal(t, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, kept)

	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "a", "namespace": "n"}, "spec": map[string]any{"big": "x"},
	}}
	kept, err = keepOurs(u)
	require.NoError(t, err)
	require.NotContains(t, kept.(*unstructured.Unstructured).Object, "spec")
	require.Equal(t, "a", kept.(*unstructured.Unstructured).GetName())
}

func TestTheCacheKeepsOfAPodWhatAStatusIsMadeFrom(t *testing.T) {
	kept, err := keepStatus(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"long": "text"}, ManagedFields: managed()},
		Spec: corev1.PodSpec{
			NodeName:   "node",
			Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "SECRET"}}}},
			Volumes:    []corev1.Volume{{Name: "e"}, {Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	})
	require.NoError(t, err)
	pod := kept.(*corev1.Pod)
	require.Equal(t, corev1.PodRunning, pod.Status.Phase)
	require.Equal(t, []corev1.Container{{Name: "c", Image: "i"}}, pod.Spec.Containers)
	require.Len(t, pod.Spec.Volumes, 1)
	require.Empty(t, pod.Annotations)
	require.Empty(t, pod.ManagedFields)
	require.Equal(t, "b", pod.Labels["a"])
}

func TestWhichServicesARuntimeConcerns(t *testing.T) {
	model := func(format string, runtime *string) *servingv1beta1.ModelSpec {
		return &servingv1beta1.ModelSpec{ModelFormat: servingv1beta1.ModelFormat{Name: format}, Runtime: runtime}
	}
	name, another := "r", "another"
	cases := map[string]struct {
		change func(*servingv1beta1.InferenceService)
		want   bool
	}{
		"one that names it":                        {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model = model("x", &name) }, true},
		"one that names another":                   {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model = model("f", &another) }, false},
		"one that would take it for its format":    {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model = model("f", nil) }, true},
		"one with a format that it does not serve": {func(s *servingv1beta1.InferenceService) { s.Spec.Predictor.Model = model("g", nil) }, false},
		"one that uses it though it serves its format no longer": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Model, s.Status.ServingRuntimeName = model("g", nil), name
		}, true},
		"one with containers of its own": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Containers = []corev1.Container{{Name: "c"}}
		}, false},
		"one whose canary names it": {func(s *servingv1beta1.InferenceService) {
			s.Spec.Predictor.Model = model("g", &another)
			s.Spec.Canary = []servingv1beta1.CanarySpec{{Predictor: servingv1beta1.PredictorSpec{Model: model("g", &name)}}}
		}, true},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			svc := &servingv1beta1.InferenceService{}
			c.change(svc)
			require.Equal(t, c.want, concerns(svc, name, []string{"f"}))
		})
	}
}

func TestTheCountersOfAnAutoscalerAreNoNews(t *testing.T) {
	before := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Labels: map[string]string{serving.LabelInferenceService: "m"}}}
	after := before.DeepCopy()
	require.False(t, matters(before, after), "a resync")
	after.ResourceVersion = "2"
	after.Status.CurrentReplicas = 3
	require.False(t, matters(before, after))
	after.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse}}
	require.True(t, matters(before, after))
	after = before.DeepCopy()
	after.ResourceVersion, after.Spec.MaxReplicas = "2", 9
	require.True(t, matters(before, after))
}

func TestFlagsAreChecked(t *testing.T) {
	cases := map[string]string{
		"--max-concurrent-reconciles=0": "--max-concurrent-reconciles", "--kube-api-qps=0": "--kube-api-qps", "--kube-api-burst=0": "--kube-api-burst", "--namespace=": "--namespace",
		"--namespaces=a,a": `"a" twice`, "--namespaces=a,B": `"B"`, "--namespaces=a,": `""`, "--leader-elect-lease-duration=25s": "--leader-elect-renew-deadline",
		"--leader-elect-renew-deadline=6s": "--leader-elect-retry-period", "--leader-elect-retry-period=0s": "--leader-elect-retry-period",
	}
	for flag, says := range cases {
		o := NewOptions()
		fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
		o.BindFlags(fs)
		require.NoError(t, fs.Parse([]string{flag}))
		require.ErrorContains(t, o.check(), says)
	}
	o := NewOptions()
	require.NoError(t, o.check())
}
