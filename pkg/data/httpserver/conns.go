// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// newGrace is how long a drain waits for the first byte on a connection that was just made.
const newGrace = time.Second

// conn is a connection that knows its own state, and gives up a client that does not take its answer.
// net/http tells one connection's changes from one goroutine.
type conn struct {
	net.Conn
	state http.ConnState
	stall time.Duration
	until atomic.Int64 // the write deadline that Write has set, in Unix nanoseconds
}

// CloseWrite ends the answer and leaves the rest of the request to be read; net/http looks for it.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline is for whoever serves the connection: gRPC bounds its beginning with it.
func (c *conn) SetDeadline(t time.Time) error {
	defer c.until.Store(0)
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline is the same for what is written.
func (c *conn) SetWriteDeadline(t time.Time) error {
	defer c.until.Store(0)
	return c.Conn.SetWriteDeadline(t)
}

// piece is how much of an answer has to be taken within one stall time.
const piece = 256 << 10

// Write gives each piece a deadline of its own, so that a slow client has time and a stopped one has not. One that is nearly new is left: setting
// it costs as much as writing a short answer into the socket's buffer.
func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for {
		part := p[written:min(len(p), written+piece)]
		if now := time.Now(); c.until.Load()-now.UnixNano() < int64(c.stall-c.stall/8) {
			until := now.Add(c.stall)
			if err := c.Conn.SetWriteDeadline(until); err != nil {
				return written, err
			}
			c.until.Store(until.UnixNano())
		}
		n, err := c.Conn.Write(part)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
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

// patientWriter is conn's Write for one stream of HTTP/2, whose client decides how much it takes of each answer. A deadline there ends the
// stream whether something is written or not: it is on only while something is.
type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *patientWriter) begin() { _ = w.control.SetWriteDeadline(time.Now().Add(w.stall)) }
func (w *patientWriter) end()   { _ = w.control.SetWriteDeadline(time.Time{}) }

// Flush implements http.Flusher.
func (w *patientWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w *patientWriter) FlushError() error {
	w.begin()
	defer w.end()
	return w.control.Flush()
}

// Write gives each piece a deadline of its own.
func (w *patientWriter) Write(p []byte) (int, error) {
	defer w.end()
	written := 0
	for {
		w.begin()
		part := p[written:min(len(p), written+piece)]
		n, err := w.ResponseWriter.Write(part)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
	}
}
