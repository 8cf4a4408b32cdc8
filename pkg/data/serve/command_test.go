// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"runtime"
	runtimemetrics "runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGarbageHasSpareRoom(t *testing.T) {
	goal := func() uint64 {
		runtime.GC()
		sample := []runtimemetrics.Sample{{Name: "/gc/heap/goal:bytes"}}
		runtimemetrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	goal() // what other tests left in pools is gone after two collections
	before := goal()
	room := spareRoom()
	require.GreaterOrEqual(t, goal(), before+spare)
	runtime.KeepAlive(room)
}
