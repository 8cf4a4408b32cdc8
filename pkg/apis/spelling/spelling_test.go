// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"sklearn", "sklearn", 0},
		{"sklern", "sklearn", 1},
		{"form", "from", 2},
		{"kitten", "sitting", 3},
	} {
		require.Equal(t, tt.want, Edits(tt.a, tt.b), "%q, %q", tt.a, tt.b)
		require.Equal(t, tt.want, Edits(tt.b, tt.a), "%q, %q", tt.b, tt.a)
	}
}
