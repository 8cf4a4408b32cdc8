// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func measured(v any) int64 {
	w := measure{seen: map[visited]bool{}, plain: map[reflect.Type]bool{}}
	w.value(reflect.ValueOf(v))
	return w.total()
}

type ring struct {
	next  *ring
	bytes []byte
	pool  sync.Pool
}

func TestMemoryIsCountedOnce(t *testing.T) {
	numbers := make([]float64, 1000)
	loop := &ring{bytes: make([]byte, 100)}
	loop.next = loop
	loop.pool.Put(new([1 << 20]byte))
	size := int64(reflect.TypeFor[ring]().Size())
	for name, c := range map[string]struct {
		v    any
		want int64
	}{
		"nothing":                            {nil, 0},
		"a slice":                            {numbers, 8000},
		"slices of one array":                {[][]float64{numbers[:10], numbers[5:20], numbers[500:]}, 3*24 + 8000},
		"a ring, and not what is for others": {loop, size + 100},
		"words":                              {[]string{"abc", "de"}, 2*16 + 5},
		"what stands in an interface":        {[]any{numbers, int64(1)}, 2*16 + 24 + 8000 + 8},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, measured(c.v))
		})
	}
	table := map[int64]float64{}
	for i := range 1000 {
		table[int64(i)] = 0
	}
	require.InDelta(t, 24_000, measured(table), 8_000)
}
