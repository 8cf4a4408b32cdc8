// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// newGrace is how long a drain waits for the first byte on a connection that was just made.
const newGrace = time.Second

// conn is a connection that knows its own state, and gives up a client that does not take its answer.
// net/http tells one connection's changes from one goroutine, and writes from one at a time, as gRPC does.
type conn struct {
	net.Conn
	state    http.ConnState
	patience patience
	places   *places
	left     atomic.Bool  // its place
	until    atomic.Int64 // the write deadline that Write has set, in Unix nanoseconds; 0: none; foreign: another's
}

// foreign is a deadline that whoever serves the connection has set: crypto/tls and gRPC bound handshakes and farewells. Write leaves it.
const foreign = -1

func newConn(c net.Conn, stall time.Duration, places *places) *conn {
	return &conn{Conn: c, places: places, patience: patience{stall: stall, left: stall}}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if !c.left.Swap(true) {
		c.places.taken.Add(-1)
	}
	return err
}

// CloseWrite ends the answer and leaves the rest of the request to be read; net/http looks for it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.set(c.Conn.SetDeadline, t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(c.Conn.SetWriteDeadline, t) }

func (c *conn) set(deadline func(time.Time) error, t time.Time) error {
	c.until.Store(foreign)
	err := deadline(t)
	if t.IsZero() {
		c.until.Store(0)
	}
	return err
}

// Write gives a slow client time, and a stopped one not.
func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		began := time.Now()
		own, err := c.limit(began)
		if err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		c.patience.took(time.Since(began), n)
		if err == nil || !own || !errors.Is(err, os.ErrDeadlineExceeded) || c.patience.over() {
			return written, err
		}
	}
}

// limit sets the deadline of a write, if there is none of another's. One that is nearly new is left: setting it costs as much as writing a
// short answer into the socket's buffer.
func (c *conn) limit(now time.Time) (own bool, err error) {
	until, latest := c.until.Load(), now.UnixNano()+int64(c.patience.left)
	switch {
	case until == foreign:
		return false, nil
	case until <= latest && until >= latest-int64(c.patience.left/8):
		return true, nil
	case !c.until.CompareAndSwap(until, latest):
		return false, nil // another has set one just now
	default:
		return true, c.Conn.SetWriteDeadline(now.Add(c.patience.left))
	}
}

// conns counts connections that a drain has to wait for.
type conns struct {
	fresh, active atomic.Int64
}

func (c *conns) changed(nc net.Conn, state http.ConnState) {
	if secure, ok := nc.(*tls.Conn); ok {
		nc = secure.NetConn()
	}
	tracked, ok := nc.(*conn)
	if !ok {
		return
	}
	switch {
	case state == http.StateNew:
		c.fresh.Add(1)
	case tracked.state == http.StateNew:
		c.fresh.Add(-1)
	case tracked.state == http.StateActive && state != http.StateActive:
		c.active.Add(-1)
	}
	if state == http.StateActive && tracked.state != http.StateActive {
		c.active.Add(1)
	}
	tracked.state = state
}

// wait returns when no connection is at work, or when ctx ends.
func (c *conns) wait(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	until := time.Now().Add(newGrace)
	for c.active.Load() > 0 || c.fresh.Load() > 0 && time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// portion is how much of an answer one stream of HTTP/2 is given at once.
const portion = 32 << 10

// patientWriter is conn's Write for one stream of HTTP/2, whose client decides how much it takes of each answer. A deadline there ends the
// stream whether something is written or not: it is on only while something is.
type patientWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience patience
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) begin(now time.Time) {
	_ = w.control.SetWriteDeadline(now.Add(w.patience.left))
}
func (w *patientWriter) end() { _ = w.control.SetWriteDeadline(time.Time{}) }

// Flush implements http.Flusher.
func (w *patientWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *patientWriter) FlushError() error {
	w.begin(time.Now())
	defer w.end()
	return w.control.Flush()
}

// Write gives each portion a deadline of its own.
func (w *patientWriter) Write(p []byte) (int, error) {
	defer w.end()
	written := 0
	for {
		began := time.Now()
		w.begin(began)
		n, err := w.ResponseWriter.Write(p[written:min(len(p), written+portion)])
		written += n
		w.patience.took(time.Since(began), n)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}
