// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

const madeByAnother = `
metadata:
  name: m
  managedFields:
  - {manager: manager, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {
      "f:metadata": {"f:labels": {"f:app": {}, "f:old": {}}},
      "f:spec": {"f:replicas": {}, "f:paused": {}, "f:template": {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}, "f:tty": {}}, 'k:{"name":"b"}': {".": {}, "f:name": {}}}}}}}}
  - {manager: autoscaler, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
  labels: {app: m, old: "yes"}
spec:
  replicas: 3
  paused: true
  template: {spec: {containers: [{name: a, image: one, tty: true}, {name: b}]}}
`

func TestWhatOnlyTheFormerControllerWroteGoes(t *testing.T) {
	before := object(t, madeByAnother)
	after := object(t, madeByAnother)
	after.Object["metadata"].(map[string]any)["managedFields"] = append(after.Object["metadata"].(map[string]any)["managedFields"].([]any), map[string]any{
		"manager": plan.FieldManager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{
			"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}}},
			"f:spec": map[string]any{"f:template": map[string]any{"f:spec": map[string]any{"f:containers": map[string]any{
				`k:{"name":"a"}`: map[string]any{".": map[string]any{}, "f:image": map[string]any{}, "f:name": map[string]any{}},
			}}}},
		},
	})
	got, err := withoutFormer(before, after)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"app": "m"}, got.GetLabels())
	want := object(t, `spec: {replicas: 3, template: {spec: {containers: [{name: a, image: one}]}}}`)
	require.Equal(t, want.Object["spec"], got.Object["spec"], "replicas are the autoscaler's too; a container that only the former had is gone")
	require.InDelta(t, 3, before.Object["spec"].(map[string]any)["replicas"], 0, "the input is left as it was")
}

func TestWhatIsOursAlreadyIsTakenAsTheServerSays(t *testing.T) {
	before := object(t, `metadata: {managedFields: [{manager: kserve-controller, operation: Apply, fieldsType: FieldsV1, fieldsV1: {}}]}`)
	after := object(t, madeByAnother)
	got, err := withoutFormer(before, after)
	require.NoError(t, err)
	require.Equal(t, after, got)
}

func TestOnlyWhatMattersIsCompared(t *testing.T) {
	before := object(t, `{apiVersion: v1, kind: Service, metadata: {name: a, uid: x, resourceVersion: "1", labels: {k: v}}, spec: {type: ClusterIP}, status: {a: b}}`)
	after := object(t, `{apiVersion: v1, kind: Service, metadata: {name: a, uid: y, resourceVersion: "2", labels: {k: v}}, spec: {type: ClusterIP}}`)
	text, err := unified(before, after)
	require.NoError(t, err)
	require.Empty(t, text)
	after = object(t, `{apiVersion: v1, kind: Service, metadata: {name: a, labels: {k: w}}, spec: {type: ClusterIP}}`)
	text, err = unified(before, after)
	require.NoError(t, err)
	require.Contains(t, text, "-    k: v\n+    k: w\n")
	text, err = unified(nil, after)
	require.NoError(t, err)
	require.Contains(t, text, "+kind: Service")
}
