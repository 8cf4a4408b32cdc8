// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func TestWhatIsKeptOfManagedFieldsComparesLikeTheWhole(t *testing.T) {
	for name, p := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: p.have}
			typed := u.GetManagedFields()
			before := ownFields(u)
			KeepOwn(u)
			require.Equal(t, before, ownFields(u))
			KeepOwn(u)
			require.Equal(t, before, ownFields(u), "also when it is kept twice")
			for i := range typed {
				if typed[i].Manager == plan.FieldManager && typed[i].Operation == "Apply" {
					require.JSONEq(t, string(typed[i].FieldsV1.GetRawBytes()), string(before))
				}
			}
			p.fields = ownFields(u)
			require.Equal(t, same, p.judge())
		})
	}
	bare := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "managedFields": []any{map[string]any{"manager": "other"}}}}}
	KeepOwn(bare)
	require.Equal(t, map[string]any{"name": "a"}, bare.Object["metadata"])
	KeepOwn(&unstructured.Unstructured{Object: map[string]any{}})
	require.Empty(t, ownFields(&unstructured.Unstructured{Object: map[string]any{}}))
}

func TestOneCopyOfTheFieldsServesManyOwners(t *testing.T) {
	owned := func(uid string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"name": "a", "ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "K", "name": "o", "uid": uid, "controller": true}},
			"managedFields": []any{map[string]any{"manager": plan.FieldManager, "operation": "Apply", "fieldsV1": map[string]any{
				"f:metadata": map[string]any{"f:ownerReferences": map[string]any{`k:{"uid":"` + uid + `"}`: map[string]any{}, `k:{"uid":"other"}`: map[string]any{}}},
				"f:spec":     map[string]any{"f:" + uid: map[string]any{}},
			}}},
		}}}
	}
	one, other := owned("1"), owned("1")
	other.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "o", UID: "2", Controller: new(true)}})
	before := string(ownFields(one))
	require.Contains(t, before, `k:{\"uid\":\"1\"}`)
	kept := WithoutOwner([]byte(before), one)
	require.NotContains(t, string(kept), `k:{\"uid\":\"1\"}`)
	require.Contains(t, string(kept), `k:{\"uid\":\"other\"}`)
	require.Contains(t, string(kept), `"f:1"`)
	require.Equal(t, kept, WithoutOwner(kept, one), "also twice")
	require.Equal(t, before, string(withOwner(kept, one)))
	require.Contains(t, string(withOwner(kept, other)), `k:{\"uid\":\"2\"}`)
	KeepOwn(one)
	require.Equal(t, before, string(ownFields(one)))
	typed := &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: one.GetOwnerReferences(), ManagedFields: []metav1.ManagedFieldsEntry{{
		Manager: plan.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(string(kept)),
	}}}}
	require.Equal(t, before, string(ownFields(typed)))
	require.Equal(t, before, string(WithoutOwner([]byte(before), &corev1.Service{})), "without an owner nothing is marked")
	require.Equal(t, string(kept), string(withOwner(kept, &corev1.Service{})))
}
