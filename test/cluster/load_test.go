// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// load asks at a steady rate, whatever the answers take, until it is stopped.
type load struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	answers map[string]int
	errs    []error
	slowest time.Duration
}

// inFlight bounds the requests that wait for an answer; a request that would be one more is an error of the run.
const inFlight = 64

// steady starts a load. ask returns one word for what was answered.
func (s *space) steady(perSecond int, ask func(context.Context) (string, error)) *load {
	ctx, cancel := context.WithCancel(s.Context())
	l := &load{cancel: cancel, done: make(chan struct{}), answers: map[string]int{}}
	go l.run(ctx, time.Second/time.Duration(perSecond), ask)
	s.Cleanup(func() { cancel(); <-l.done })
	return l
}

func (l *load) run(ctx context.Context, every time.Duration, ask func(context.Context) (string, error)) {
	defer close(l.done)
	var all sync.WaitGroup
	defer all.Wait()
	room := make(chan struct{}, inFlight)
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		select {
		case room <- struct{}{}:
		default:
			l.add("", 0, fmt.Errorf("%d requests wait for an answer", inFlight))
			continue
		}
		all.Go(func() {
			defer func() { <-room }()
			start := time.Now()
			answer, err := ask(context.WithoutCancel(ctx))
			l.add(answer, time.Since(start), err)
		})
	}
}

func (l *load) add(answer string, took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("%s: %w", time.Now().Format("15:04:05.000"), err))
		return
	}
	l.answers[answer]++
}

// seen waits until so many answers of a kind have come since now.
func (l *load) seen(s *space, answer string, more int) {
	s.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.answers[answer]
	}
	first := count()
	s.eventually(fmt.Sprintf("%d answers %q", more, answer), patience, func(context.Context) error {
		if n := count() - first; n < more {
			return fmt.Errorf("%d came", n)
		}
		return nil
	})
}

// end stops the load and expects that none failed.
func (l *load) end(s *space, what string) {
	s.Helper()
	l.cancel()
	<-l.done
	total := 0
	for _, n := range l.answers {
		total += n
	}
	s.note("%s: %d requests, %d failed, slowest %s, answers %v", what, total+len(l.errs), len(l.errs), l.slowest.Round(time.Millisecond), l.answers)
	if len(l.errs) > 0 {
		require.Failf(s, "requests failed", "%s: %d of %d, the first: %v", what, len(l.errs), total+len(l.errs), l.errs[0])
	}
}
