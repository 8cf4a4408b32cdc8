// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestWhatIsThereIsNotHeldToRulesOfNames: a rule about the whole object is asked with each write, also that of a status, or of the finalizer
// that lets the object go. An object from before the rule could otherwise never be deleted.
func TestWhatIsThereIsNotHeldToRulesOfNames(t *testing.T) {
	t.Parallel()
	crds := loadCRDs(t)
	for kind, spec := range map[string]string{
		"InferenceService": "{predictor: {model: {modelFormat: {name: a}}}}",
		"InferenceGraph":   "{nodes: {root: {routerType: Sequence, steps: [{serviceName: a}]}}}",
		"TrainedModel":     "{inferenceService: a, model: {framework: a, memory: 1Gi, storageUri: 's3://a/b'}}",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			read := func() map[string]any {
				var o map[string]any
				text := "{metadata: {name: 0." + strings.Repeat("a", 70) + "}, spec: " + spec + "}"
				require.NoError(t, yaml.Unmarshal([]byte(text), &o))
				return o
			}
			require.NotEmpty(t, crds[kind].admit(t.Context(), read(), nil))
			changed := read()
			changed["metadata"].(map[string]any)["labels"] = map[string]any{"a": "b"}
			require.Empty(t, crds[kind].admit(t.Context(), changed, read()))
		})
	}
}
