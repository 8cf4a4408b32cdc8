// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func route() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{
			"name": "m", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(3), "labels": map[string]any{"a": "b"},
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"ownerReferences": []any{
				map[string]any{"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "3"},
				map[string]any{"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "name": "m", "uid": "1", "controller": true, "blockOwnerDeletion": true},
			},
			"managedFields": []any{map[string]any{"manager": "kserve-go", "operation": "Apply", "fieldsV1": `{"f:spec":{}}`}},
		},
		"spec": map[string]any{
			"hostnames": []any{"m.example.com"}, "weight": int64(20), "share": 0.5, "none": nil, "empty": []any{},
			"rules": []any{map[string]any{"matches": []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/v1"}}}}},
		},
		"status": map[string]any{"parents": []any{map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}}}}},
	}}
}

func TestWhatIsPackedIsFoundAndComesBackWhole(t *testing.T) {
	before := route()
	asked := map[string]int{}
	small := Pack(before, func(s string) string { asked[s]++; return s })
	require.Equal(t, route(), before, "the object that is packed stays as it is")
	require.Equal(t, 1, asked[`{"f:spec":{}}`])
	require.Equal(t, before.GroupVersionKind(), small.GroupVersionKind())
	require.Equal(t, []string{"m", "ns", "u", "7"}, []string{small.GetName(), small.GetNamespace(), string(small.GetUID()), small.GetResourceVersion()})
	require.Equal(t, metav1.GetControllerOf(before), metav1.GetControllerOf(small))
	require.Equal(t, []string{"1"}, ControllerOf(small))
	require.Equal(t, []string{"m.example.com /v1"}, WaysOf(small))
	require.Nil(t, small.Object["spec"])
	require.Equal(t, small, small.DeepCopy())
	require.Same(t, small, Pack(small, nil), "it is packed once")

	whole, err := Unpack(small)
	require.NoError(t, err)
	require.Equal(t, before, whole)
	whole.Object["spec"] = nil
	again, err := Unpack(small)
	require.NoError(t, err)
	require.Equal(t, before, again, "what comes back is the caller's")
	same, err := Unpack(before)
	require.NoError(t, err)
	require.Same(t, before, same)

	bare := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "K", "metadata": map[string]any{"name": "x"}}}
	whole, err = Unpack(Pack(bare, nil))
	require.NoError(t, err)
	require.Equal(t, bare, whole)
	_, err = Unpack(&unstructured.Unstructured{Object: map[string]any{packed: "{"}})
	require.ErrorContains(t, err, "unpack")
}

func BenchmarkPack(b *testing.B) {
	b.ReportAllocs()
	o := route()
	for b.Loop() {
		if _, err := Unpack(Pack(o, nil)); err != nil {
			b.Fatal(err)
		}
	}
}
