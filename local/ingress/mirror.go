// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/ingress/gatewayapi"
)

// Bounds of what is mirrored: a copy that would exceed one is not sent. The request itself never waits for its copy.
const (
	copiesAtOnce  = 64
	copyLimit     = 4 << 20
	copiesLimit   = 64 << 20
	copyPatience  = time.Minute
	answerLimit   = 16 << 20
	smallestTaken = 4 << 10
)

// mirrors sends copies of requests.
type mirrors struct {
	via    http.RoundTripper
	room   chan struct{}
	taken  atomic.Int64
	live   context.Context //nolint:containedctx // copies outlive their requests, but not the gateway
	cancel context.CancelFunc

	mu      sync.Mutex
	stopped bool
	under   sync.WaitGroup // one more only under mu, and none once stopped: stop waits for it
}

func newMirrors(via http.RoundTripper) *mirrors {
	m := &mirrors{via: via, room: make(chan struct{}, copiesAtOnce)}
	m.live, m.cancel = context.WithCancel(context.Background())
	return m
}

// stop ends the copies that are under way.
func (m *mirrors) stop() {
	m.mu.Lock()
	m.stopped = true
	m.mu.Unlock()
	m.cancel()
	m.under.Wait()
}

// start runs a copy, unless the gateway stops: a request that it still serves may be read to its end meanwhile.
func (m *mirrors) start(work func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped {
		m.under.Go(work)
	}
	return !m.stopped
}

// mirror arranges that each backend whose turn it is gets a copy of a request that is about to be sent.
func (g *Gateway) mirror(of *target, r *http.Request, to []gatewayapi.Mirror) {
	for i := range to {
		m := &to[i]
		if m.Fault != "" || !m.Due() {
			continue
		}
		t := &target{}
		if no := g.to(t, &m.Backend, r); no != nil {
			klog.V(2).InfoS("no copy of a request", "why", no.why)
			continue
		}
		if c := g.mirrors.begin(r, t); c != nil {
			of.copies = append(of.copies, c)
		}
	}
}

// begin sends a copy when the body of the request is known whole: what is read of it is kept meanwhile, in what is returned.
func (m *mirrors) begin(r *http.Request, t *target) *copied {
	c := &http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header.Clone(), Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor}
	if r.Body == nil || r.Body == http.NoBody {
		m.send(c, t, nil)
		return nil
	}
	if r.ContentLength > copyLimit {
		return nil
	}
	kept := &copied{ReadCloser: r.Body, mirrors: m, length: r.ContentLength, whole: func(body []byte) { m.send(c, t, body) }}
	r.Body = kept
	return kept
}

// send sends a copy in the background, if there is room for one more, and throws the answer away.
func (m *mirrors) send(r *http.Request, t *target, body []byte) {
	free := func() { m.taken.Add(-int64(cap(body))) }
	select {
	case m.room <- struct{}{}:
	default:
		free()
		return
	}
	leave := func() { free(); <-m.room }
	started := m.start(func() {
		defer leave()
		ctx, cancel := context.WithTimeout(context.WithValue(m.live, targetKey{}, t), copyPatience)
		defer cancel()
		r = r.WithContext(ctx)
		if body != nil {
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		}
		answer, err := m.via.RoundTrip(r)
		if err != nil {
			klog.V(2).InfoS("copy of a request got no answer", "host", r.Host, "path", r.URL.Path, "err", err)
			return
		}
		_, _ = io.CopyN(io.Discard, answer.Body, answerLimit) // nobody wants it; a longer one ends with its connection
		answer.Body.Close()
	})
	if !started {
		leave()
	}
}

// copied keeps what is read of a body until it is whole or too much.
type copied struct {
	io.ReadCloser
	*mirrors
	length int64
	whole  func([]byte)

	mu   sync.Mutex
	kept []byte
	read int64
	over bool
}

// Read implements io.Reader.
func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return n, err
	}
	c.read += int64(n)
	switch {
	case !c.keep(p[:n]) || err != nil && err != io.EOF: //nolint:errorlint // a reader's own word
		c.drop()
	case err == io.EOF || c.read == c.length: //nolint:errorlint // the same
		body := c.kept
		c.kept, c.over = nil, true
		c.whole(body)
	}
	return n, err
}

// keep takes room before it takes the bytes.
func (c *copied) keep(p []byte) bool {
	if need := len(c.kept) + len(p); need > cap(c.kept) {
		room := min(max(2*cap(c.kept), need, smallestTaken), copyLimit)
		if need > room || c.taken.Add(int64(room-cap(c.kept))) > copiesLimit {
			if need <= room {
				c.taken.Add(-int64(room - cap(c.kept)))
			}
			return false
		}
		grown := make([]byte, len(c.kept), room)
		copy(grown, c.kept)
		c.kept = grown
	}
	c.kept = append(c.kept, p...)
	return true
}

// drop gives up the copy.
func (c *copied) drop() {
	c.taken.Add(-int64(cap(c.kept)))
	c.kept, c.over = nil, true
}

// end drops a copy whose body was not read to its end.
func (c *copied) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.drop()
	}
}
