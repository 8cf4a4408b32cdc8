// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batch joins the rows of requests that wait for a busy model into one prediction, and gives each its own rows of the answer.
//
// Called by: data/serve, for models whose owner asks for it.
// Next: data/serve/engine, which computes the rows.
package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Options are what the owner of a Batcher sets.
type Options struct {
	// Rows bounds the rows of one prediction that is made of several requests. Below 2 nothing is joined.
	Rows int
	// Delay is how long a request waits for others while the model is idle. Zero is not at all: requests are joined only while the model
	// is busy with others.
	Delay time.Duration
	// Workers is how many predictions run at once; more requests wait, and are joined. Below 1 it is 1.
	Workers int
}

// On says whether requests are joined at all.
func (o Options) On() bool { return o.Rows > 1 }

// Model is what a batch is predicted by. It is compared: requests for the same one are joined.
type Model interface {
	comparable
	Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error
	// Nameless says that the name of a single array means nothing to the model: wires name it differently.
	Nameless() bool
	// Retain keeps the model open until Release, for a prediction that outlives the request which started it. It is called by a request
	// that has the model.
	Retain()
	Release()
}

// ErrBusy is the error of a request that waited as long as it may.
var ErrBusy = errors.New("the model is busy")

// Ask is one request.
type Ask struct {
	Request *tensor.Request
	// Answer is where the answer goes. The caller has Reset it.
	Answer *tensor.Response
	// Patience is how long the request may wait for its turn.
	Patience time.Duration
}

// Observer is told of each prediction, and of how many requests and rows it is made. It must be quick.
type Observer func(requests, rows int)

// Batcher joins requests. Its methods are safe for concurrent use. Make it with New.
//
// Every request runs, or waits, in its caller's goroutine. One that finds a worker free runs at once. The others wait in groups of
// requests that can be joined; whoever ends a prediction wakes one request of the oldest group, which predicts for the whole group. So
// there is no goroutine of the Batcher's own, and nothing to stop.
type Batcher[M Model] struct {
	observe Observer
	on      atomic.Bool
	works   sync.Pool // of *work

	mu      sync.Mutex
	opts    Options
	running int
	open    map[place[M]]*group[M] // groups that take more requests
	ready   []*group[M]            // groups that may run, the oldest first
	waiting int                    // requests
	single  M                      // a model whose answers cannot be taken apart
}

// place is where a request waits.
type place[M Model] struct {
	model M
	kind  string
}

// New makes a Batcher. observe may be nil.
func New[M Model](o Options, observe Observer) *Batcher[M] {
	b := &Batcher[M]{observe: observe, open: map[place[M]]*group[M]{}}
	if observe == nil {
		b.observe = func(int, int) {}
	}
	b.works.New = func() any { return &work{} }
	b.Set(o)
	return b
}

// Set changes the options. Requests that wait run by the new ones.
func (b *Batcher[M]) Set(o Options) {
	o.Workers = max(o.Workers, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opts = o
	b.on.Store(o.On())
	b.start()
}

// On says whether requests are joined at all.
func (b *Batcher[M]) On() bool { return b.on.Load() }

// Waiting is the number of requests that wait.
func (b *Batcher[M]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting
}

// group are requests that can be predicted together. The Batcher's mutex guards it until it runs.
type group[M Model] struct {
	place   place[M]
	joined  bool // it takes more than one request, and has the model retained
	items   []*item[M]
	rows    int
	timer   *time.Timer // nil without Delay
	isReady bool
	copied  chan struct{} // closed when nobody reads the requests' memory any more

	live      atomic.Int64 // requests that still want the answer, while it is computed
	abandoned func()       // ends the prediction that nobody wants any more; set before copied is closed
}

// item is one request.
type item[M Model] struct {
	ctx   context.Context //nolint:containedctx // a request is its context too
	req   *tensor.Request
	rows  int
	group *group[M]
	taken bool // the group runs: guarded by the Batcher's mutex
	wake  chan call[M]
	from  int // its first row in the batch
}

// call is what a waiting request is told, once.
type call[M Model] struct {
	lead bool  // predict for the group
	work *work // the answer is in there
	own  bool  // predict for yourself: together it did not go
	err  error
}

// Predict answers a request, alone or together with others. waited is how long it stood still before its prediction began. The error is
// the model's for this request alone, the context's, or ErrBusy.
func (b *Batcher[M]) Predict(ctx context.Context, m M, ask Ask) (waited time.Duration, err error) {
	rows := Rows(ask.Request)
	b.mu.Lock()
	alone := rows == 0 || rows >= b.opts.Rows || m == b.single
	if b.running < b.opts.Workers && len(b.ready) == 0 && (alone || b.opts.Delay == 0) {
		b.running++
		b.mu.Unlock()
		defer b.pass()
		b.observe(1, max(rows, 1))
		return 0, m.Predict(ctx, ask.Request, ask.Answer)
	}
	it := &item[M]{ctx: ctx, req: ask.Request, rows: rows, wake: make(chan call[M], 1)}
	b.enqueue(m, it, alone)
	b.mu.Unlock()
	began := time.Now()
	c, err := b.wait(it, ask.Patience)
	waited = time.Since(began)
	switch {
	case err != nil:
		return waited, err
	case c.lead:
		return waited, b.lead(it, ask.Answer)
	case c.own:
		if err := ctx.Err(); err != nil {
			return waited, err
		}
		return waited, m.Predict(ctx, ask.Request, ask.Answer)
	}
	b.collect(it, c.work, ask.Answer)
	return waited, nil
}

// wait is until a request is told what to do, or need not be answered any more.
func (b *Batcher[M]) wait(it *item[M], patience time.Duration) (call[M], error) {
	over := time.NewTimer(patience)
	defer over.Stop()
	var c call[M]
	select {
	case c = <-it.wake:
		return c, c.err
	case <-over.C:
		if b.quit(it) {
			return c, ErrBusy
		}
	case <-it.ctx.Done():
		if b.quit(it) {
			return c, it.ctx.Err()
		}
	}
	// Its turn has come.
	select {
	case c = <-it.wake:
		return c, c.err
	case <-it.ctx.Done():
	}
	select {
	case c = <-it.wake:
		return c, c.err
	case <-it.group.copied:
		it.group.leave()
		return c, it.ctx.Err()
	}
}

// enqueue puts a request where it waits. The caller holds mu.
func (b *Batcher[M]) enqueue(m M, it *item[M], alone bool) {
	b.waiting++
	if m != b.single { // it may be gone, and is not kept for nothing
		var none M
		b.single = none
	}
	var buffer [256]byte
	kind, ok := appendKind(buffer[:0], it.req, m.Nameless())
	if alone || !ok {
		it.group = &group[M]{place: place[M]{model: m}, items: []*item[M]{it}, rows: it.rows}
		b.makeReady(it.group)
		return
	}
	g := b.open[place[M]{m, string(kind)}]
	if g != nil && g.rows+it.rows > b.opts.Rows {
		b.close(g)
		g = nil
	}
	if g == nil {
		m.Retain()
		g = &group[M]{place: place[M]{m, string(kind)}, joined: true, copied: make(chan struct{})}
		b.open[g.place] = g
		if b.opts.Delay > 0 {
			g.timer = time.AfterFunc(b.opts.Delay, func() { b.due(g) })
		}
	}
	it.group = g
	g.items = append(g.items, it)
	g.rows += it.rows
	switch {
	case g.rows >= b.opts.Rows:
		b.close(g)
	case g.timer == nil || b.isUrgent(it):
		b.makeReady(g)
	}
}

// isUrgent says that a request would be late if it waited for others. The caller holds mu.
func (b *Batcher[M]) isUrgent(it *item[M]) bool {
	deadline, ok := it.ctx.Deadline()
	return ok && time.Until(deadline) < 2*b.opts.Delay
}

// close lets no more requests into a group, which may run from now on. The caller holds mu.
func (b *Batcher[M]) close(g *group[M]) {
	b.forget(g)
	b.makeReady(g)
}

// makeReady lets a group run as soon as a worker is free. The caller holds mu.
func (b *Batcher[M]) makeReady(g *group[M]) {
	if !g.isReady {
		g.isReady = true
		b.ready = append(b.ready, g)
	}
	b.start()
}

// due is the end of a group's delay.
func (b *Batcher[M]) due(g *group[M]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(g.items) > 0 && !g.isReady {
		b.makeReady(g)
	}
}

// start lets free workers take what is ready. The caller holds mu.
func (b *Batcher[M]) start() {
	for b.running < b.opts.Workers && len(b.ready) > 0 {
		b.running++
		b.next()
	}
}

// pass hands a worker's place on when its prediction has ended.
func (b *Batcher[M]) pass() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next()
}

// next gives a worker's place to the oldest group, or takes it back. The caller holds mu.
func (b *Batcher[M]) next() {
	if b.running > b.opts.Workers || len(b.ready) == 0 {
		b.running--
		return
	}
	g := b.ready[0]
	b.ready = append(b.ready[:0], b.ready[1:]...)
	b.forget(g)
	b.waiting -= len(g.items)
	for _, it := range g.items {
		it.taken = true
	}
	g.items[0].wake <- call[M]{lead: true}
}

// forget takes a group out of those that take requests. The caller holds mu.
func (b *Batcher[M]) forget(g *group[M]) {
	if b.open[g.place] == g {
		delete(b.open, g.place)
	}
	if g.timer != nil {
		g.timer.Stop()
	}
}

// quit takes a request out of its group; false when the group runs.
func (b *Batcher[M]) quit(it *item[M]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it.taken {
		return false
	}
	b.waiting--
	g := it.group
	g.items = slices.DeleteFunc(g.items, func(other *item[M]) bool { return other == it })
	g.rows -= it.rows
	if len(g.items) == 0 {
		b.forget(g)
		b.ready = slices.DeleteFunc(b.ready, func(other *group[M]) bool { return other == g })
		if g.joined {
			g.place.model.Release()
		}
	}
	return true
}
