// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

// caller is a connection of gRPC that knows what its client keeps waiting, calls whose request has not come and answers that it has not taken,
// and how much memory both take. gRPC itself holds them for as long as the connection lives, and a client that answers pings keeps it alive.
type caller struct {
	net.Conn
	requests, answers debts
	in, out           frames
	full              func() // called when the connection is closed for want of room

	all      *atomic.Int64 // what answers of all callers hold
	mu       sync.Mutex
	held     int64 // this caller's part of it
	arriving arriving
	closed   bool
}

func newCaller(conn net.Conn, sends, takes time.Duration, m *messages) *caller {
	return &caller{
		Conn: conn, requests: debts{conn: conn, half: sends / 2}, answers: debts{conn: conn, half: takes / 2},
		in: frames{skip: preface}, all: &m.held, arriving: arriving{all: &m.arrivals, streams: map[uint32]int64{}},
	}
}

// errNoRoom ends a connection whose requests do not fit into memory.
var errNoRoom = errors.New("the requests that are arriving take too much memory")

// Read implements net.Conn.
func (c *caller) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.requests.carried.Add(int64(n))
	if !c.received(p[:n]) {
		c.full()
		_ = c.Close()
		return 0, errNoRoom
	}
	return n, err
}

// received counts what came. It is false when there is no room for it.
func (c *caller) received(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		f, rest, found := c.in.next(p)
		switch {
		case !found || c.closed:
			return true
		case !c.arriving.came(f):
			return false
		}
		p = rest
	}
}

// Write implements net.Conn.
func (c *caller) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.answers.carried.Add(int64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		f, rest, found := c.out.next(p)
		if !found {
			return n, err
		}
		c.arriving.went(f)
		p = rest
	}
}

// hold counts memory that an answer takes, or no longer does.
func (c *caller) hold(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.held += bytes
		c.all.Add(bytes)
	}
}

// Close implements net.Conn. gRPC forgets answers that were on their way.
func (c *caller) Close() error {
	c.mu.Lock()
	c.all.Add(-c.held)
	c.held, c.closed = 0, true
	c.arriving.closed()
	c.mu.Unlock()
	return c.Conn.Close()
}

// LocalAddr is where a call finds its connection: what gRPC tells of a peer has no other place for it.
func (c *caller) LocalAddr() net.Addr { return &callerAddr{c.Conn.LocalAddr(), c} }

type callerAddr struct {
	net.Addr
	caller *caller
}

// callerOf is nil for a call that came over a connection of another's making.
func callerOf(ctx context.Context) *caller {
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.LocalAddr.(*callerAddr); ok {
			return addr.caller
		}
	}
	return nil
}

const (
	// debtAge is the age in ticks at which a debt is old.
	debtAge = 3
	// mostFair bounds what a connection has to carry for all its debts together: slow lines are shared by many calls.
	mostFair = 16
)

// debts are what a client owes on one connection, in one direction. When one gets old, which is after a stall time and a half at the latest,
// the connection must have carried httpserver.Fair in each stall time for each old one, or is closed.
type debts struct {
	conn    net.Conn
	half    time.Duration // of the stall time
	carried atomic.Int64  // bytes since the last tick

	mu      sync.Mutex
	timer   *time.Timer
	ticking bool // only while something is owed
	now     int  // in ticks, which are half a stall time apart
	young   [debtAge]int
	old     int
}

// begin returns when the debt began, for end.
func (d *debts) begin() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.young[d.now%debtAge]++
	if !d.ticking {
		d.ticking = true
		d.again()
	}
	return d.now
}

func (d *debts) end(began int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now-began < debtAge {
		d.young[began%debtAge]--
	} else {
		d.old--
	}
}

func (d *debts) again() {
	if d.timer == nil {
		d.timer = time.AfterFunc(d.half, d.tick)
	} else {
		d.timer.Reset(d.half)
	}
}

func (d *debts) tick() {
	carried := d.carried.Swap(0)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
	slot := &d.young[d.now%debtAge]
	d.old, *slot = d.old+*slot, 0
	switch {
	case carried < int64(min(d.old, mostFair)*httpserver.Fair/2):
		_ = d.conn.Close()
	case d.old > 0 || d.young != [debtAge]int{}:
		d.again()
	default:
		d.ticking = false
	}
}

// answer is a message on its way to a caller.
type answer struct {
	proto.Message
	to *caller
}

// taken is the memory of an answer, which gRPC gives back when the last of it is on its way.
type taken struct {
	mem.Buffer
	data []byte
	then func()
}

// Get implements mem.BufferPool.
func (*taken) Get(n int) *[]byte { return mem.DefaultBufferPool().Get(n) }

// Put implements mem.BufferPool.
func (t *taken) Put(*[]byte) {
	t.Buffer.Free()
	t.then()
}

// whenTaken calls then when the client has taken data. It is false, and does not, for data that is too small to be worth it.
func whenTaken(data mem.BufferSlice, then func()) bool {
	last := len(data) - 1
	if last < 0 {
		return false
	}
	t := &taken{Buffer: data[last], data: data[last].ReadOnlyData(), then: then}
	if mem.IsBelowBufferPoolingThreshold(cap(t.data)) {
		return false
	}
	data[last] = mem.NewBuffer(&t.data, t)
	return true
}
