// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"math/rand/v2"
	"sync/atomic"
)

// share deals turns out of a total: of as many turns in a row as the total, each number comes exactly once, and small numbers are spread
// evenly among large ones. It may be used from several goroutines.
type share struct {
	total, step uint64
	next        atomic.Uint64
}

func newShare(total uint64) *share {
	s := &share{total: total, step: 1}
	// About the golden ratio of the total, and without a common divisor: each number is met once before the first comes again.
	for step := total*618/1000 + 1; step > 1; step-- {
		if divisor(step, total) == 1 {
			s.step = step
			break
		}
	}
	// A table that is built anew must not send its first request to the first backend each time.
	s.next.Store(rand.Uint64N(total))
	return s
}

// turn is the next number below the total.
func (s *share) turn() uint64 { return s.next.Add(1) * s.step % s.total }

// divisor is the greatest common one.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
