// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

func TestStatusPatchReplacesAddressesAndKeepsForeignConditions(t *testing.T) {
	old, err := json.Marshal(corev1.Pod{Status: corev1.PodStatus{
		PodIP: "10.88.0.2", PodIPs: []corev1.PodIP{{IP: "10.88.0.2"}},
		Conditions: []corev1.PodCondition{{Type: "example.test/gate", Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}},
	}})
	require.NoError(t, err)
	patch, err := statusPatch("u", &corev1.PodStatus{
		PodIP: "10.88.0.3", PodIPs: []corev1.PodIP{{IP: "10.88.0.3"}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	})
	require.NoError(t, err)
	b, err := strategicpatch.StrategicMergePatch(old, patch, corev1.Pod{})
	require.NoError(t, err)
	var got corev1.Pod
	require.NoError(t, json.Unmarshal(b, &got))
	require.Equal(t, []corev1.PodIP{{IP: "10.88.0.3"}}, got.Status.PodIPs)
	status := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, c := range got.Status.Conditions {
		status[c.Type] = c.Status
	}
	require.Equal(t, map[corev1.PodConditionType]corev1.ConditionStatus{"example.test/gate": corev1.ConditionTrue, corev1.PodReady: corev1.ConditionTrue}, status)
}
