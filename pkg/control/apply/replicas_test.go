// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheNumberOfPodsIsTakenOutOfWhatIsOursAndNothingElse(t *testing.T) {
	cases := map[string]struct {
		fields, want string
		said         bool
	}{
		"it is ours":            {`{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:replicas":{}}}}}`, `{"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:template":{"f:spec":{"f:replicas":{}}}}}`, true},
		"it is somebody else's": {`{"f:spec":{"f:template":{}}}`, `{"f:spec":{"f:template":{}}}`, false},
		"nothing is ours":       {`{}`, `{}`, false},
		"a spec that is none":   {`{"f:spec":[]}`, `{"f:spec":[]}`, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, said, err := withoutReplicas([]byte(c.fields))
			require.NoError(t, err)
			require.Equal(t, c.said, said)
			text, err := json.Marshal(got)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(text))
		})
	}
	_, _, err := withoutReplicas([]byte(`{`))
	require.Error(t, err)
	require.False(t, saysReplicas(nil))
}
