// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRangesOfAUser(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want idRange
	}{
		"by name":                  {"root:1:5\nme:100000:65536\n", idRange{100000, 65536}},
		"by number":                {"1000:200000:65536\n", idRange{200000, 65536}},
		"the longest":              {"me:100000:10\nme:200000:65536\nme:300000:5\n", idRange{200000, 65536}},
		"another's name begins so": {"meme:100000:65536\n", idRange{}},
		"broken":                   {"me:x:y\nme\n\n", idRange{}},
		"empty":                    {"", idRange{}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "subuid")
			require.NoError(t, os.WriteFile(file, []byte(c.text), 0o600))
			require.Equal(t, c.want, readRange(file, []string{"1000", "me"}))
		})
	}
	require.Zero(t, readRange("/no/such/file", []string{"me"}))
}
