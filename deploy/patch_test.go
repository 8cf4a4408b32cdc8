// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const ground = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: server, namespace: kserve}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: first, image: "kserve-go/agent:latest", args: [--a, --b]}
      - {name: second, image: "other/agent:latest"}
---
# a comment and no object
---
apiVersion: serving.kserve.io/v1alpha1
kind: ClusterServingRuntime
metadata: {name: runtime}
spec: {disabled: false, containers: [{name: a}, {name: b}]}
`

func overlaid(kustomization string) fstest.MapFS {
	return fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [all.yaml]")},
		"base/all.yaml":           {Data: []byte(ground)},
		"over/kustomization.yaml": {Data: []byte("resources: [../base]\n" + kustomization)},
		"over/p.yaml":             {Data: []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server, namespace: kserve}\nspec: {replicas: 1}")},
	}
}

func TestAnOverlayChangesWhatItNames(t *testing.T) {
	field := func(u *unstructured.Unstructured, path ...string) any {
		v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		require.NoError(t, err)
		return v
	}
	for name, c := range map[string]struct {
		kustomization string
		check         func(t *testing.T, all []*unstructured.Unstructured)
	}{
		"a number of a patch in a file": {"patches: [{path: p.yaml}]", func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			require.EqualValues(t, 1, field(all[0], "spec", "replicas"))
		}},
		"one container of two, found by its name": {`patches:
- patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: server, namespace: kserve}
    spec: {template: {spec: {containers: [{name: first, args: [--c]}]}}}
`, func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			containers, ok := field(all[0], "spec", "template", "spec", "containers").([]any)
			require.True(t, ok)
			require.Equal(t, []any{
				map[string]any{"name": "first", "image": "here/agent:v1", "args": []any{"--c"}},
				map[string]any{"name": "second", "image": "other/agent:latest"},
			}, containers)
		}},
		"a list of a kind of ours as a whole": {`patches:
- patch: |
    apiVersion: serving.kserve.io/v1alpha1
    kind: ClusterServingRuntime
    metadata: {name: runtime}
    spec: {disabled: null, containers: [{name: c}]}
`, func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			require.Equal(t, map[string]any{"containers": []any{map[string]any{"name": "c"}}}, field(all[1], "spec"))
		}},
		"an object that is not wanted": {`patches:
- patch: |
    $patch: delete
    apiVersion: serving.kserve.io/v1alpha1
    kind: ClusterServingRuntime
    metadata: {name: runtime}
`, func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			require.Len(t, all, 1)
			require.Equal(t, "Deployment", all[0].GetKind())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := source{files: overlaid(c.kustomization), images: Options{ImagePrefix: "here", ImageTag: "v1"}}
			all, err := s.folder("over")
			require.NoError(t, err)
			c.check(t, all)
		})
	}
}

func TestAnOverlayThatIsNotUnderstoodIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ kustomization, says string }{
		"a field that kustomize has and we have not": {"namePrefix: x-", `unknown field "namePrefix"`},
		"a patch of nothing": {
			"patches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: none, namespace: kserve}}'}]", "Service kserve/none: there is no such object to patch",
		},
		"a patch that is not there": {"patches: [{path: none.yaml}]", "over/none.yaml"},
		"a patch of another shape": {
			"patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: server, namespace: kserve}, spec: 7}'}]", "patch Deployment server",
		},
		"a field that the kind has not": {
			"patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: server, namespace: kserve}, spec: {replica: 7}}'}]", `unknown field "spec.replica"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := source{files: overlaid(c.kustomization)}
			_, err := s.folder("over")
			require.ErrorContains(t, err, c.says)
		})
	}
}
