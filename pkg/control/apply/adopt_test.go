// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsInsideOfAFieldIsLetGoOf(t *testing.T) {
	const owned = `{"f:metadata":{"f:labels":{}},"f:spec":{"f:behavior":{"f:scaleUp":{}},"f:replicas":{}}}`
	cases := map[string]struct{ path, rest string }{
		"a field with something in it":        {"spec behavior", `{"f:metadata":{"f:labels":{}},"f:spec":{"f:behavior":{},"f:replicas":{}}}`},
		"a field with nothing in it":          {"spec replicas", owned},
		"a field that we do not own":          {"spec paused", owned},
		"a field inside of one we do not own": {"status x", owned},
		"none":                                {"", owned},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			rest, err := without([]byte(owned), strings.Fields(c.path))
			require.NoError(t, err)
			require.JSONEq(t, c.rest, string(rest))
		})
	}
	_, err := without([]byte("?"), []string{"spec"})
	require.Error(t, err)
}
