// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatTheReferenceGotWrongDoesNotPass gives each case the recorded outcome itself, where something else is right: it has to fail, or the
// difference is not asserted.
func TestWhatTheReferenceGotWrongDoesNotPass(t *testing.T) {
	cases, err := load("../data/parity")
	require.NoError(t, err)
	differences := 0
	for _, c := range cases {
		if c.diff.Right == "" {
			continue
		}
		differences++
		t.Run(c.name, func(t *testing.T) {
			problems := Compare(c.expected, c.expected, c.diff, "")
			panicked := slices.ContainsFunc(c.expected.Rejected, func(r Rejection) bool { return strings.Contains(r.Error, "panic") })
			if panicked || c.diff.demands() {
				require.NotEmpty(t, problems, c.diff.Right)
			} else {
				require.Empty(t, problems, "the reference is right too: %s", c.diff.Right)
			}
		})
	}
	require.Equal(t, 55, differences)
}

// demands says that the recorded outcome itself is not acceptable.
func (d *Difference) demands() bool {
	must := func(p place) bool { return !p.OrReference }
	return d.Refuse != nil || len(d.Absent)+len(d.Unset)+len(d.Require)+len(d.Conditions)+len(d.Forbid) > 0 || slices.ContainsFunc(d.Set, must)
}
