// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	StorageURI string            `json:"storageUri"`
	Labels     map[string]string `json:"labels"`
}

type Shared struct {
	MinReplicas int `json:"minReplicas"`
}

type outer struct {
	Shared `json:",inline"`

	Model *inner  `json:"model"`
	List  []inner `json:"list"`
}

type root struct {
	Spec outer `json:"spec"`
}

func TestField(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"spec.model.storageURI":    `; did you mean "storageUri"?`,
		"spec.minReplica":          `; did you mean "minReplicas"?`,
		"spec.storageUri":          `; did you mean "spec.model.storageUri"?`,
		"spec.model.minReplicas":   `; did you mean "spec.minReplicas"?`,
		"spec.list[0].storageUrl":  `; did you mean "storageUri"?`,
		"spec.list[0].minReplicas": `; did you mean "spec.minReplicas"?`,
		"minReplicas":              `; did you mean "spec.minReplicas"?`,
		"spec.nothing":             "; known here: list, minReplicas, model",
		"spec.model.labels.a.b":    "; remove it or correct its name",
		"ghost.a":                  "",
		"":                         "",
	} {
		require.Equal(t, want, Field(reflect.TypeFor[*root](), SplitPath(path)), path)
	}
}

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"autoscalerClass", "stop", "metric", "metrics"}
	for word, want := range map[string]string{
		"autoScalerclass": "autoscalerClass", "autoscaler-class": "autoscalerClass", "stopp": "stop", "metrics": "metrics", "metrc": "metric",
		"x": "", "shop": "stop", "something": "", "": "",
	} {
		require.Equal(t, want, Closest(word, known), word)
	}
}

func FuzzField(f *testing.F) {
	f.Add("spec.list[0].x")
	f.Add("spec.model.labels[a.b].c")
	f.Fuzz(func(_ *testing.T, path string) { Field(reflect.TypeFor[*root](), SplitPath(path)) })
}
