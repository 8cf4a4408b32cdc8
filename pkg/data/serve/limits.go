// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"runtime"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/batch"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Limits are how many requests one model takes at once, and how they are joined. They may change while the model is served.
type Limits struct {
	// Running bounds the predictions that run at once; Queue those that wait. More are refused with 429.
	// Defaults: 8 for each core but at least 64, and 1024.
	Running, Queue int
	// QueueTimeout bounds the wait in the queue, and to be joined with others. Default 30 s.
	QueueTimeout time.Duration
	// MaxBatchSize bounds the rows of a prediction that is made of several requests. Below 2, the default, nothing is joined. A model
	// written in Go is left out, unless it is an engine.RowWise.
	MaxBatchSize int
	// MaxBatchDelay is how long a request waits for others while the model is idle. By default it does not wait: requests are joined
	// while the model is busy.
	MaxBatchDelay time.Duration
}

// set puts limits into force.
func (l *lane) set(limits Limits, threads int) {
	workers := max(1, min(runtime.GOMAXPROCS(0)/max(threads, 1), limits.Running))
	l.patience.Store(int64(limits.QueueTimeout))
	l.batch.Set(batch.Options{Rows: limits.MaxBatchSize, Delay: limits.MaxBatchDelay, Workers: workers})
	running := limits.Running
	if limits.MaxBatchSize > 1 {
		// Those that wait to be joined are inside: one batch for each worker runs while the next fills.
		running = max(running, 2*workers*limits.MaxBatchSize)
	}
	l.gate.set(running, limits.Queue, limits.QueueTimeout)
}

// compute is the model's part of a prediction that was in the queue for so long. waited is how long it stood still again, to be joined
// with others.
func (l *lane) compute(ctx context.Context, m *repository.Loaded, req *tensor.Request, resp *tensor.Response, queued time.Duration) (waited time.Duration, err error) {
	if m.RowWise && l.batch.On() {
		patience := time.Duration(l.patience.Load())
		waited, err = l.batch.Predict(ctx, m, batch.Ask{Request: req, Answer: resp, Patience: max(patience-queued, 1)})
		if errors.Is(err, batch.ErrBusy) {
			l.refused()
			return waited, waitedTooLong(patience)
		}
	} else {
		err = m.Predict(ctx, req, resp)
	}
	if err != nil && ctx.Err() != nil {
		err = gaveUp(err, "during the prediction")
	}
	return waited, err
}

// gaveUp is the error of a request whose context ended. Another error, that has nothing to do with it, stays.
func gaveUp(err error, when string) error {
	switch own := (*protocol.Error)(nil); {
	case errors.Is(err, context.Canceled):
		return protocol.Wrap(err, protocol.Canceled, "the client went away %s", when)
	case errors.As(err, &own):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.Errorf(protocol.Deadline, "the deadline passed %s", when)
	default:
		return err
	}
}

// retryAfter is the number of seconds after which a refused client may find room: as the error says, which may be a predictor's, or else
// by the model's queue. m is nil where no model was asked yet.
func retryAfter(m *repository.Loaded, err error) int {
	if asked := protocol.From(err).RetryAfter; asked > 0 {
		return int((asked + time.Second - 1) / time.Second)
	}
	if m == nil {
		return 1
	}
	return m.Attached.(*lane).retryAfter()
}

// retryIn adds to a gRPC status when to try again.
func retryIn(s *status.Status, after time.Duration) *status.Status {
	if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)}); err == nil {
		return with
	}
	return s
}

// limits are those of a model. The caller holds mu.
func (m *metrics) limits(name string) (limits Limits, threads int) {
	return m.own[name].over(m.standard), m.opts.Threads
}

// limit gives a model settings of its own, or with nil the server's, now and whenever it is loaded.
func (m *metrics) limit(name string, own *modelSettings) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if own != nil {
		m.own[name] = own
	} else {
		delete(m.own, name)
	}
	if l := m.lanes[name]; l != nil {
		l.set(m.limits(name))
	}
}

// useLimits changes the limits of all models that have none of their own.
func (m *metrics) useLimits(limits Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.standard = limits
	for name, l := range m.lanes {
		l.set(m.limits(name))
	}
}
