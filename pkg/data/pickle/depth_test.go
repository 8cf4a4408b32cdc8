// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedValuesCountEachTime(t *testing.T) {
	doubled := func(v any, times int) any {
		for range times {
			v = &List{Items: []any{v, v}}
		}
		return v
	}
	cycle := &List{}
	cycle.Items = []any{cycle, "x", cycle}
	array := &Array{DType: &DType{Kind: 'f', Size: 8}, Shape: []int{100}, Data: make([]byte, 800)}
	for name, c := range map[string]struct {
		root  any
		limit int64
		ok    bool
	}{
		"nothing shared":                    {&List{Items: []any{int64(1), "two"}}, 100, true},
		"a list a thousand times over":      {doubled("x", 10), 100_000, true},
		"a list, more often than is right":  {doubled("x", 50), 1 << 40, false},
		"an object that holds itself":       {cycle, 100, true},
		"one array in two places":           {&List{Items: []any{array, array}}, 2000, true},
		"one array in three places":         {&List{Items: []any{array, array, array}}, 2000, false},
		"an array under two lists":          {doubled(&List{Items: []any{array}}, 1), 1000, false},
		"dicts and objects are counted too": {&Object{State: &Dict{Keys: []any{"a", "b"}, Values: []any{array, array}}}, 1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := shallow(c.root, c.limit)
			if c.ok {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "refer to shared ones so often")
			}
		})
	}
}
