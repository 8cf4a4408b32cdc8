// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// errStalled is the cause of an attempt's end when no byte came for Options.Stall.
var errStalled = errors.New("stalled")

// maxAttempts bounds one range's attempts even when each brings a few bytes.
const maxAttempts = 200

// retriable says that another attempt may succeed.
func retriable(err error) bool {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return e.Kind == provider.Unavailable
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// retry runs attempt until it succeeds, fails for good, or fails Retries times in a row without progress. attempt reports whether it
// brought anything.
func (r *run) retry(ctx context.Context, what string, attempt func(context.Context) (bool, error)) error {
	o := &r.f.o
	failures := 0
	for n := 1; ; n++ {
		progress, err := r.watched(ctx, attempt)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if progress {
			failures = 0
		}
		failures++
		if !retriable(err) {
			return err
		}
		if failures > o.Retries || n >= maxAttempts {
			return fmt.Errorf("%w (gave up after %d attempts)", err, n)
		}
		wait := o.BackoffMin << min(failures-1, 20)
		if wait <= 0 || wait > o.BackoffMax {
			wait = o.BackoffMax
		}
		// Half fixed, half random: many readers that failed together do not come back together.
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // jitter needs no secret
		if e, ok := errors.AsType[*provider.Error](err); ok && e.RetryAfter > 0 {
			if e.RetryAfter > o.MaxRetryAfter {
				return fmt.Errorf("%w (asks to wait %s, longer than the %s allowed)", err, e.RetryAfter, o.MaxRetryAfter)
			}
			wait = max(wait, e.RetryAfter)
		}
		r.stats.retries.Add(1)
		r.log.Warn("trying again", zap.String("what", what), zap.Int("attempt", n+1), zap.Int("failuresLeft", o.Retries-failures),
			zap.Duration("wait", wait), zap.Error(err))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// stallKey finds the attempt's watchdog.
type stallKey struct{}

// watched runs one attempt under a watchdog that alive resets.
func (r *run) watched(ctx context.Context, attempt func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(r.f.o.Stall, func() { cancel(errStalled) })
	defer timer.Stop()
	progress, err := attempt(context.WithValue(ctx, stallKey{}, timer))
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return progress, r.stalled()
	}
	return progress, err
}

func (r *run) stalled() error {
	return provider.Errorf(provider.Unavailable, "no byte for %s: %w", r.f.o.Stall, errStalled)
}

// alive tells the watchdog that bytes came.
func (r *run) alive(timer *time.Timer) { timer.Reset(r.f.o.Stall) }

func watchdog(ctx context.Context) *time.Timer {
	t, _ := ctx.Value(stallKey{}).(*time.Timer)
	return t
}
