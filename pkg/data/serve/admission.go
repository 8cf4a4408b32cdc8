// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// gate admits a bounded number of predictions at once and lets a bounded number wait, first come first served.
type gate struct {
	running, waiting int           // limits
	patience         time.Duration // longest wait

	mu     sync.Mutex
	inside int
	queue  []chan struct{} // a closed channel is a place inside
	// typical is the moving average of a prediction's time, for guesses about the wait.
	typical  time.Duration
	rejected uint64
}

// set changes the limits. Requests that are inside or wait stay.
func (g *gate) set(running, waiting int, patience time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running, g.waiting, g.patience = running, waiting, patience
	for g.inside < g.running && len(g.queue) > 0 {
		g.inside++
		g.admit()
	}
}

// enter waits for a place. The error is TooMany when there is no room to wait or the wait would outlast the caller's deadline, or Deadline:
// a request that came too late is not computed.
func (g *gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return gaveUp(err, "before the prediction began")
	}
	g.mu.Lock()
	if g.inside < g.running {
		g.inside++
		g.mu.Unlock()
		return nil
	}
	wait := g.guess(len(g.queue) + 1)
	deadline, hasDeadline := ctx.Deadline()
	if len(g.queue) >= g.waiting || hasDeadline && time.Until(deadline) < wait {
		g.rejected++
		n := len(g.queue)
		g.mu.Unlock()
		return protocol.Errorf(protocol.TooMany, "the model is busy: %d requests run and %d wait; retry later", g.running, n)
	}
	place := make(chan struct{})
	g.queue = append(g.queue, place)
	patience := g.patience
	g.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-place:
	case <-ctx.Done():
		if g.quit(place) {
			return gaveUp(ctx.Err(), whileWaiting)
		}
	case <-timer.C:
		if g.quit(place) {
			return waitedTooLong(patience)
		}
	}
	// The place was given, and nobody may be there any more who wants the answer.
	if err := ctx.Err(); err != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.rejected++
		g.pass()
		return gaveUp(err, whileWaiting)
	}
	return nil
}

const whileWaiting = "while the request waited for the model"

func waitedTooLong(patience time.Duration) error {
	return protocol.Errorf(protocol.TooMany, "the request waited %s for the model, which is busy; retry later", patience)
}

// quit takes place out of the queue; false when it is no longer there, because its turn has come.
func (g *gate) quit(place chan struct{}) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.queue {
		if other == place {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			g.rejected++
			return true
		}
	}
	return false
}

// leave ends a prediction that took so long.
func (g *gate) leave(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.typical += (took - g.typical) / 16
	g.pass()
}

// pass gives a place back, or on to the first in the queue. The caller holds mu.
func (g *gate) pass() {
	if len(g.queue) == 0 || g.inside > g.running {
		g.inside--
		return
	}
	g.admit()
}

// admit gives a place to the first in the queue. The caller holds mu.
func (g *gate) admit() {
	close(g.queue[0])
	g.queue = append(g.queue[:0], g.queue[1:]...)
}

// guess is the expected wait of the n-th in the queue. The caller holds mu.
func (g *gate) guess(n int) time.Duration {
	return g.typical * time.Duration(n) / time.Duration(max(g.running, 1))
}

// refused counts a request that waited in vain behind the gate.
func (g *gate) refused() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rejected++
}

// retryAfter is the number of seconds after which a refused client may find room: at least one.
func (g *gate) retryAfter() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int(min(g.guess(len(g.queue)), time.Minute)/time.Second) + 1
}

func (g *gate) load() (inside, queued int, rejected uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside, len(g.queue), g.rejected
}
