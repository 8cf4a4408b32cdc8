// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func code(t *testing.T, err error) protocol.Code {
	t.Helper()
	require.Error(t, err)
	return protocol.From(err).Code
}

func TestTheGateAdmitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{running: 1, waiting: 3, patience: time.Minute}
		require.NoError(t, g.enter(t.Context()))
		var order []int
		var mu sync.Mutex
		for i := range 3 {
			go func() {
				if err := g.enter(t.Context()); err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				g.leave(time.Second)
			}()
			synctest.Wait()
		}
		require.Equal(t, protocol.TooMany, code(t, g.enter(t.Context())), "the queue is full")
		g.leave(time.Second)
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2}, order)
		inside, queued, rejected := g.load()
		require.Equal(t, []int{0, 0, 1}, []int{inside, queued, int(rejected)})
	})
}

func TestTheGateKnowsDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{running: 1, waiting: 10, patience: 10 * time.Second}
		require.NoError(t, g.enter(t.Context()))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.Equal(t, protocol.Deadline, code(t, g.enter(ctx)), "it passed while waiting")

		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		require.Equal(t, protocol.Canceled, code(t, g.enter(gone)), "the client went away")

		began := time.Now()
		require.Equal(t, protocol.TooMany, code(t, g.enter(t.Context())), "patience has an end")
		require.Equal(t, 10*time.Second, time.Since(began))

		// Predictions that take long make a short deadline hopeless from the start.
		for range 100 {
			g.leave(4 * time.Second)
			require.NoError(t, g.enter(t.Context()))
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		require.Equal(t, protocol.TooMany, code(t, g.enter(ctx)))
		require.Zero(t, time.Since(began), "refused at once")
		require.Equal(t, 1, g.retryAfter())
	})
}

// The turn of a request comes at the moment that its deadline passes: it is not computed, and the next one gets its place.
func TestATurnThatComesTooLateIsPassedOn(t *testing.T) {
	for range 100 { // select chooses at random
		synctest.Test(t, func(t *testing.T) {
			g := &gate{running: 1, waiting: 10, patience: time.Minute}
			require.NoError(t, g.enter(t.Context()))
			late, cancel := context.WithCancel(t.Context())
			first, second := make(chan error, 1), make(chan error, 1)
			go func() { first <- g.enter(late) }()
			synctest.Wait()
			go func() { second <- g.enter(t.Context()) }()
			synctest.Wait()
			g.mu.Lock() // both at once: the request sees neither before the other
			cancel()
			g.pass()
			g.mu.Unlock()
			require.Equal(t, protocol.Canceled, code(t, <-first))
			require.NoError(t, <-second)
			inside, queued, rejected := g.load()
			require.Equal(t, []int{1, 0, 1}, []int{inside, queued, int(rejected)})
		})
	}
}

func BenchmarkGate(b *testing.B) {
	g := &gate{running: 64, waiting: 10, patience: time.Second}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.enter(context.Background()); err != nil {
			b.Fatal(err)
		}
		g.leave(time.Microsecond)
	}
}
