// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCapabilities(t *testing.T) {
	const all = 1<<41 - 1
	for name, c := range map[string]struct {
		add, drop []string
		want      uint64
	}{
		"the usual ones":               {want: 0xa80425fb},
		"one more, one less":           {add: []string{"SYS_TIME"}, drop: []string{"CAP_net_raw"}, want: 0xa80425fb&^(1<<13) | 1<<25},
		"all but one":                  {add: []string{"ALL"}, drop: []string{"SYS_ADMIN"}, want: all &^ (1 << 21)},
		"none but one, the restricted": {add: []string{"NET_BIND_SERVICE"}, drop: []string{"ALL"}, want: 1 << 10},
		"none":                         {drop: []string{"ALL"}},
		"the same dropped and added":   {add: []string{"CHOWN"}, drop: []string{"CHOWN"}, want: 0xa80425fb},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Capabilities(c.add, c.drop)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := Capabilities([]string{"FLY"}, nil)
	require.ErrorContains(t, err, `"FLY"`)
}
