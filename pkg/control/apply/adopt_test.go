// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func TestWhatIsInsideOfAnEmptyFieldIsLetGoOf(t *testing.T) {
	const owned = `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:behavior":{"f:scaleUp":{}},"f:replicas":{}}}`
	cases := map[string]struct{ want, rest string }{
		"a field with something in it, applied empty": {"{spec: {behavior: {}, replicas: 1}}", `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:behavior":{},"f:replicas":{}}}`},
		"one that is applied with something in it":    {"{spec: {behavior: {scaleUp: {max: 1}}}}", owned},
		"one that is not applied":                     {"{spec: {replicas: 1}}", owned},
		"one that is not owned":                       {"{spec: {strategy: {}}, status: {}}", owned},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var want map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(c.want), &want))
			rest, err := letGo([]byte(owned), want)
			require.NoError(t, err)
			require.JSONEq(t, c.rest, string(rest))
		})
	}
	_, err := letGo([]byte("?"), nil)
	require.Error(t, err)
}
