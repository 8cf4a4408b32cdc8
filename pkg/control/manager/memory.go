// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The share of garbage that the process may hold follows what is alive, which is mostly caches: they change seldom, but each collection walks
// all of them. The fixed share that keeps the controller of a thousand services small made that of a few collect all the time, a quarter of
// its processor time, for a small share of little is little. So as long as all of it together is below plenty, garbage may fill it up.
const (
	plenty    = 44 << 20
	mostShare = 150
)

// shareMemory sets the share by what the last collection left.
func shareMemory() { debug.SetGCPercent(share(alive())) }

// share is how much garbage there may be, in percent of what is alive.
func share(alive uint64) int {
	if alive == 0 || alive >= plenty {
		return spareMemory
	}
	return max(spareMemory, min(mostShare, int((plenty-alive)*100/alive)))
}

// alive is what the last collection left.
func alive() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// afterCollection calls f after each collection, from a goroutine of the runtime.
func afterCollection(f func()) {
	runtime.SetFinalizer(&sentinel{f: f}, finalize)
}

type sentinel struct{ f func() }

// finalize is called when a collection has found that nobody holds a sentinel, and sets up the next.
func finalize(s *sentinel) {
	s.f()
	afterCollection(s.f)
}
