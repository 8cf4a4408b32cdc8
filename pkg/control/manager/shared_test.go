// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/gather"
)

func fresh(text string) string { return strings.Clone(text) }

func likeAnother() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Name: fresh("m"), CreationTimestamp: metav1.Now().Rfc3339Copy(), Labels: map[string]string{fresh("app"): fresh("x")},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: fresh("kserve-go"), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: fresh("c"), Env: []corev1.EnvVar{{Name: fresh("E"), Value: fresh("v")}},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
	}}
	return d
}

func TestObjectsThatLookAlikeShareTexts(t *testing.T) {
	var s shared
	one, other := likeAnother(), likeAnother()
	other.CreationTimestamp = one.CreationTimestamp
	before := other.DeepCopy()
	s.everything(one)
	s.everything(other)
	require.Equal(t, before, other, "nothing that can be told changes")
	data := func(text string) *byte { return unsafe.StringData(text) }
	c, d := one.Spec.Template.Spec.Containers[0], other.Spec.Template.Spec.Containers[0]
	require.Same(t, data(c.Env[0].Value), data(d.Env[0].Value))
	require.Same(t, data(one.Labels["app"]), data(other.Labels["app"]))
	for key := range one.Labels {
		for same := range other.Labels {
			require.Same(t, data(key), data(same))
		}
	}
	require.Equal(t, reflect.ValueOf(c.Resources.Limits).Pointer(), reflect.ValueOf(d.Resources.Limits).Pointer())
	require.NotEqual(t, reflect.ValueOf(c.Resources.Limits).Pointer(), reflect.ValueOf(s.amounts(corev1.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi")})).Pointer())
	require.Same(t, s.managed(one.ManagedFields[0].FieldsV1), s.managed(other.ManagedFields[0].FieldsV1))
}

func TestWhatIsRememberedToBeSharedIsBounded(t *testing.T) {
	var s shared
	for i := range 3 * mostTexts {
		s.text(fmt.Sprint(i))
		s.managed(metav1.NewFieldsV1(fmt.Sprint(i)))
	}
	require.LessOrEqual(t, len(s.texts), mostTexts)
	require.LessOrEqual(t, len(s.fields), mostTexts)
	long := strings.Repeat("x", longestText+1)
	require.Equal(t, long, s.text(long))
	require.NotContains(t, s.texts, long)
}

func TestTheCacheHoldsRoutesOfServicesSmall(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "spec": map[string]any{"hostnames": []any{"h"}},
		"metadata": map[string]any{"name": "a", "namespace": "n", "ownerReferences": []any{
			map[string]any{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "a", "uid": "1", "controller": true},
		}},
	}}
	whole := u.DeepCopy()
	kept, err := cacheOptions("kserve", nil).DefaultTransform(u)
	require.NoError(t, err)
	small := kept.(*unstructured.Unstructured)
	require.NotContains(t, small.Object, "spec")
	require.Equal(t, []string{"1"}, gather.ControllerOf(small))
	back, err := gather.Unpack(small)
	require.NoError(t, err)
	require.Equal(t, whole, back)
}
