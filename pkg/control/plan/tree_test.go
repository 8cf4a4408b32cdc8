// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// overJSON is what a tree is compared with.
func overJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(raw, &m))
	return m
}

// TestTreeIsWhatJSONSays compares trees of every object that the cases of render have, and of what those lack, with JSON written and read.
func TestTreeIsWhatJSONSays(t *testing.T) {
	files, err := filepath.Glob("../render/testdata/*/out/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	seen := map[string]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var kind metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal(raw, &kind))
		typed := map[string]any{
			"apps/v1/Deployment": &appsv1.Deployment{}, "v1/Service": &corev1.Service{}, "v1/Pod": &corev1.Pod{}, "v1/ConfigMap": &corev1.ConfigMap{},
			"autoscaling/v2/HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{}, "networking.k8s.io/v1/Ingress": &networkingv1.Ingress{},
		}[kind.APIVersion+"/"+kind.Kind]
		if typed == nil {
			continue // a kind without a Go type
		}
		require.NoError(t, yaml.Unmarshal(raw, typed))
		tree, err := plan.Tree(typed)
		require.NoError(t, err)
		require.Equal(t, overJSON(t, typed), tree, file)
		seen[kind.Kind]++
	}
	require.Len(t, seen, 5, "%v", seen)
	type small struct {
		Any     map[string]any
		Bytes   []byte             `json:"bytes"`
		Port    intstr.IntOrString `json:"port"`
		Name    *intstr.IntOrString
		Share   float64
		Since   metav1.Time  `json:"since"`
		Never   *metav1.Time `json:"never,omitempty"`
		Skipped string       `json:"-"`
		None    []string
		Empty   []string          `json:"empty"`
		Left    map[string]string `json:"left,omitempty"`
		Big     uint64
		*servingv1beta1.PredictorSpec
	}
	v := &small{
		Any:   map[string]any{"list": []map[string]any{{"deep": []string{"a"}, "n": 7, "no": nil}}, "yes": true, "half": 0.5},
		Bytes: []byte("text"), Port: intstr.FromInt32(8080), Name: new(intstr.FromString("http")), Share: 0.25, Since: metav1.Unix(1700000000, 0), Skipped: "x",
		Empty: []string{}, Left: map[string]string{}, Big: 1 << 40,
		PredictorSpec: &servingv1beta1.PredictorSpec{PodSpec: servingv1beta1.PodSpec{NodeName: "n"}},
	}
	tree, err := plan.Tree(v)
	require.NoError(t, err)
	want := overJSON(t, v)
	require.Equal(t, want, tree)
}

func TestTreeRefuses(t *testing.T) {
	var none *corev1.Pod
	for _, v := range []any{nil, none, corev1.Pod{}, new(1), &struct{ C chan int }{make(chan int)}, &struct{ U uint64 }{math.MaxUint64}, &struct{ M map[int]string }{map[int]string{1: "a"}}} {
		_, err := plan.Tree(v)
		require.Error(t, err, "%T", v)
	}
}
