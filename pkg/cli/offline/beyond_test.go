// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaultsOfReadingHideNoOthers(t *testing.T) {
	isvc := func(name, predictor string) string {
		return "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: " + name + "}\nspec: {predictor: {" + predictor + "}}\n"
	}
	const model = "model: {modelFormat: {name: sklearn}, storageUri: \"s3://b/m\"}"
	cases := map[string]struct {
		in   string
		want []string // paths of faults
	}{
		"both kinds of faults": {
			isvc("1-iris", "minReplicas: 3, maxReplicas: 2, frob: 1, model: {modelFormat: {name: sklearn}, storageUri: \"foo://m\"}"),
			[]string{"metadata.name", "spec.predictor.minReplicas", "spec.predictor.frob", "spec.predictor.model.storageUri"},
		},
		"a misspelt field is not missing as well":   {isvc("iris", "modelX: {modelFormat: {name: sklearn}}"), []string{"spec.predictor.modelX"}},
		"nor is one below it":                       {isvc("iris", "model: {modelFormat: {nme: sklearn}, storageUri: \"s3://b/m\"}"), []string{"spec.predictor.model.modelFormat.nme"}},
		"a value of a wrong type is not judged":     {isvc("iris", "minReplicas: many, maxReplicas: 2, "+model), []string{"spec.predictor.minReplicas"}},
		"but the values beside it are":              {isvc("iris", "timeout: many, minReplicas: -1, "+model), []string{"spec.predictor.timeout", "spec.predictor.minReplicas"}},
		"no name, and more":                         {strings.Replace(isvc("iris", "minReplicas: -1, "+model), "{name: iris}", "{}", 1), []string{"metadata.name", "spec.predictor.minReplicas"}},
		"another object's faults are its own":       {isvc("iris", "frob: 1, "+model) + "---\n" + isvc("b", "minReplicas: -1, "+model), []string{"spec.predictor.frob", "spec.predictor.minReplicas"}},
		"the same object twice, one of them broken": {isvc("iris", "frob: 1, "+model) + "---\n" + isvc("iris", model), []string{"spec.predictor.frob", "metadata.name"}},
		"nodes of a graph are about each other": {
			"apiVersion: serving.kserve.io/v1alpha1\nkind: InferenceGraph\nmetadata: {name: g}\nspec: {nodes: {root: {routerType: Sequence, steps: [{nodeNam: a}]}, a: {routerType: Sequence, steps: [{serviceName: s}]}}}\n",
			[]string{"spec.nodes.root.steps[0].nodeNam"},
		},
		"the operator's settings": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: inferenceservice-config, namespace: kserve}\nfrob: 1\ndata:\n  deploy: '{\"defaultDeploymentMode\": \"Nonsense\"}'\n",
			[]string{"frob", "data.deploy"},
		},
		"labels and annotations that no object may have": {
			strings.Replace(isvc("iris", model), "{name: iris}", "{name: iris, labels: {a b: c}, annotations: {c d: e}}", 1) +
				"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, labels: {a: \"b c\"}, annotations: {long: \"" + strings.Repeat("x", 256<<10) + "\"}}\n",
			[]string{"metadata.labels", "metadata.annotations", "metadata.labels", "metadata.annotations"},
		},
		"an item of a list": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: i}, spec: {predictor: {modelX: {}}}}\n" +
				"- {apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: j}, spec: {predictor: {minReplicas: -1, frob: 1, " + model + "}}}\n",
			[]string{"items[0].spec.predictor.modelX", "spec.predictor.minReplicas", "items[1].spec.predictor.frob"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			world, faults := Load(strings.NewReader(c.in), []string{"-"})
			var paths []string
			for _, f := range faults {
				paths = append(paths, f.Path)
			}
			require.ElementsMatch(t, c.want, paths, "%v", faults)
			for _, s := range world.Services {
				require.False(t, s.Object.Broken, "what could be read in part only is planned by nobody")
			}
		})
	}
}
