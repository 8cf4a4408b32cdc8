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

const serverHead = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: server, namespace: kserve}\n"

const runtimeHead = "apiVersion: serving.kserve.io/v1alpha1\nkind: ClusterServingRuntime\nmetadata: {name: runtime}\n"

// overlaid is the ground with one patch.
func overlaid(kustomization, patch string) fstest.MapFS {
	return fstest.MapFS{
		"base/kustomization.yaml": {Data: []byte("resources: [all.yaml]")},
		"base/all.yaml":           {Data: []byte(ground)},
		"over/kustomization.yaml": {Data: []byte("resources: [../base]\n" + kustomization)},
		"over/p.yaml":             {Data: []byte(patch)},
	}
}

func TestAnOverlayChangesWhatItNames(t *testing.T) {
	field := func(u *unstructured.Unstructured, path ...string) any {
		v, _, err := unstructured.NestedFieldNoCopy(u.Object, path...)
		require.NoError(t, err)
		return v
	}
	for name, c := range map[string]struct {
		patch string
		check func(t *testing.T, all []*unstructured.Unstructured)
	}{
		"a number": {serverHead + "spec: {replicas: 1}", func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			require.EqualValues(t, 1, field(all[0], "spec", "replicas"))
		}},
		"one container of two, found by its name": {serverHead + "spec: {template: {spec: {containers: [{name: first, args: [--c]}]}}}", func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			containers, ok := field(all[0], "spec", "template", "spec", "containers").([]any)
			require.True(t, ok)
			require.Equal(t, []any{
				map[string]any{"name": "first", "image": "here/agent:v1", "args": []any{"--c"}},
				map[string]any{"name": "second", "image": "other/agent:latest"},
			}, containers)
		}},
		"an object that is not wanted": {"$patch: delete\n" + runtimeHead, func(t *testing.T, all []*unstructured.Unstructured) {
			t.Helper()
			require.Len(t, all, 1)
			require.Equal(t, "Deployment", all[0].GetKind())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := source{files: overlaid("patches: [{path: p.yaml}]", c.patch), images: Options{ImagePrefix: "here", ImageTag: "v1"}}
			all, err := s.folder("over")
			require.NoError(t, err)
			c.check(t, all)
		})
	}
}

func TestAnOverlayThatIsNotUnderstoodIsAnError(t *testing.T) {
	const patches = "patches: [{path: p.yaml}]"
	for name, c := range map[string]struct{ kustomization, patch, says string }{
		"a field that kustomize has and we have not": {"namePrefix: x-", "", `unknown field "namePrefix"`},
		"a patch in the kustomization itself":        {"patches: [{patch: '{}'}]", "", `unknown field "patch"`},
		"a patch that is not there":                  {"patches: [{path: none.yaml}]", "", "over/none.yaml"},
		"a patch of nothing":                         {patches, "apiVersion: v1\nkind: Service\nmetadata: {name: none, namespace: kserve}", "Service kserve/none: there is no such object to patch"},
		"a patch of a kind of ours":                  {patches, runtimeHead + "spec: {disabled: true}", "patch ClusterServingRuntime runtime: only kinds of Kubernetes"},
		"a patch of another shape":                   {patches, serverHead + "spec: 7", "patch Deployment server"},
		"a field that the kind has not":              {patches, serverHead + "spec: {replica: 7}", `unknown field "spec.replica"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := source{files: overlaid(c.kustomization, c.patch)}
			_, err := s.folder("over")
			require.ErrorContains(t, err, c.says)
		})
	}
}
