// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
				if typed[i].Manager == FieldManager && typed[i].Operation == "Apply" {
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
