// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestEveryAnnotationHasARule holds that an annotation which is declared is known to admission: else it would be taken for a slip of the pen.
func TestEveryAnnotationHasARule(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("annotations.go")
	require.NoError(t, err)
	declared := regexp.MustCompile(`= (GroupName|OwnPrefix) \+ "/?([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(declared), 25)
	for _, match := range declared {
		key := GroupName + "/" + match[2]
		if match[1] == "OwnPrefix" {
			key = OwnPrefix + match[2]
		}
		require.Contains(t, knownAnnotations, key)
	}
}

// FuzzAnnotations holds that no key and no value brings the rules down, and that an answer stays short.
func FuzzAnnotations(f *testing.F) {
	for _, key := range []string{AnnotationStop, "serving.kserve.io/", "/", "deploymentMode", "kserve-go.dev/x", "名/前", LabelVisibility} {
		f.Add(key, "true")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		for _, on := range []Carrier{OnService, OnComponent, OnGraph, OnRuntime, OnRuntimePods, OnCredentials} {
			faults, warnings := ValidateAnnotations(field.NewPath("a"), map[string]string{key: value}, on)
			require.LessOrEqual(t, len(faults)+len(warnings), 1)
		}
		require.LessOrEqual(t, len(ValidateLabels(field.NewPath("a"), map[string]string{key: value})), 1)
	})
}
