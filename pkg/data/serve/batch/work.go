// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// work is the joined request and its answer, kept for the next.
type work struct {
	req    tensor.Request
	resp   tensor.Response
	unread atomic.Int64 // requests that have not taken their rows yet
}

type joinedKey struct{}

// Joined says that a prediction is of several requests. Its context has the values of one of them, which are not the others'.
func Joined(ctx context.Context) bool { return ctx.Value(joinedKey{}) != nil }

// keepWork is the most bytes of one request or answer whose memory is kept.
const keepWork = 4 << 20

// lead predicts for a group, in the goroutine of its first request.
func (b *Batcher[M]) lead(me *item[M], resp *tensor.Response) error {
	defer b.pass()
	g, m := me.group, me.group.place.model
	if g.joined {
		defer m.Release()
	}
	live := g.items[:0]
	for _, it := range g.items {
		switch err := it.ctx.Err(); {
		case err == nil:
			live = append(live, it)
		case it != me:
			it.wake <- call[M]{err: err}
		}
	}
	if len(live) == 1 {
		b.observe(1, max(live[0].rows, 1))
		if live[0] == me {
			return m.Predict(me.ctx, me.req, resp)
		}
	}
	if len(live) < 2 {
		for _, it := range live {
			it.wake <- call[M]{own: true}
		}
		return me.ctx.Err()
	}
	w := b.works.Get().(*work) //nolint:forcetypeassert // what New makes
	err := b.together(me.ctx, g, live, w)
	mine := me.ctx.Err()
	if err != nil {
		b.keep(w)
		for _, it := range live {
			if it != me {
				it.wake <- call[M]{own: true}
			}
		}
		if mine != nil {
			return mine
		}
		resp.Reset()
		return m.Predict(me.ctx, me.req, resp)
	}
	w.unread.Store(int64(len(live)))
	for _, it := range live {
		if it != me {
			it.wake <- call[M]{work: w}
		}
	}
	if mine != nil {
		return mine
	}
	b.collect(me, w, resp)
	return nil
}

// together joins the requests and predicts. A panic of the model is an error here: the request that caused it has its own when it runs
// alone. The context ends when every request's has.
func (b *Batcher[M]) together(ctx context.Context, g *group[M], live []*item[M], w *work) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("predict a batch: panic: %v", p)
		}
	}()
	rows := 0
	for i, it := range live {
		if it.from = rows; i == 0 {
			w.req.Join(it.req)
		} else {
			w.req.AppendRows(it.req)
		}
		rows += it.rows
	}
	b.observe(len(live), rows)
	run, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), joinedKey{}, true))
	defer cancel()
	g.live.Store(int64(len(live)))
	g.abandoned = cancel
	close(g.copied)
	defer context.AfterFunc(ctx, g.leave)()
	w.resp.Reset()
	if err := g.place.model.Predict(run, &w.req, &w.resp); err != nil {
		return err
	}
	if !w.resp.HaveRows(rows) {
		b.mu.Lock()
		b.single = g.place.model
		b.mu.Unlock()
		return fmt.Errorf("the answer of %d rows has another number of rows", rows)
	}
	return nil
}

// leave is one request less that wants the answer. Without any it need not be computed.
func (g *group[M]) leave() {
	if g.live.Add(-1) == 0 {
		g.abandoned()
	}
}

// collect takes a request's rows out of the answer.
func (b *Batcher[M]) collect(it *item[M], w *work, resp *tensor.Response) {
	resp.CopyRows(&w.resp, it.from, it.rows)
	if w.unread.Add(-1) == 0 {
		b.keep(w)
	}
}

func (b *Batcher[M]) keep(w *work) {
	if size(w.req.Inputs) <= keepWork && size(w.resp.Outputs) <= keepWork {
		b.works.Put(w)
	}
}

func size(tensors []*tensor.Tensor) (n int) {
	for _, t := range tensors {
		n += len(t.Raw())
	}
	return n
}
