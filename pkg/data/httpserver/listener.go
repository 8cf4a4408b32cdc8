// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// acceptor is a TCP or a Unix listener.
type acceptor interface {
	net.Listener
	syscall.Conn
}

// listener is one whose Close first takes the connections that the kernel has already accepted: closing the socket
// would reset them, and their clients, who are connected and may have sent a request, would lose it.
type listener struct {
	acceptor

	stall   time.Duration
	places  *places
	once    sync.Once
	closed  error
	waiting chan net.Conn
}

func newListener(l net.Listener, stall time.Duration, places *places) net.Listener {
	a, ok := l.(acceptor)
	if !ok {
		return l
	}
	return &listener{acceptor: a, stall: stall, places: places, waiting: make(chan net.Conn)}
}

// Accept returns the next connection, and after Close those that Close rescued, then the error of a closed listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.acceptor.Accept()
		if errors.Is(err, net.ErrClosed) {
			if rescued, ok := <-l.waiting; ok {
				accepted, err = rescued, nil
			}
		}
		switch {
		case err != nil:
			return nil, err
		case l.places.take(accepted):
			return newConn(accepted, l.stall, l.places), nil
		}
	}
}

// places are the connections that may be open at once, over all listeners of a server.
type places struct {
	most    int64
	taken   atomic.Int64
	refused func(conn net.Conn)
}

// take is false where there is no place for conn, which is then closed.
func (p *places) take(conn net.Conn) bool {
	if p.taken.Add(1) <= p.most {
		return true
	}
	p.taken.Add(-1)
	p.refused(conn)
	_ = conn.Close()
	return false
}

// Close stops listening.
func (l *listener) Close() error {
	l.once.Do(func() {
		var rescued []net.Conn
		rescued, l.closed = rescue(l.acceptor)
		go func() {
			for _, conn := range rescued {
				l.waiting <- conn
			}
			close(l.waiting)
		}()
	})
	return l.closed
}

// unixPrefix marks an address that is a path: a Unix socket.
const unixPrefix = "unix:"

// open listens on host:port, or on a Unix socket. A socket file that a process left behind when it was killed is replaced.
func open(ctx context.Context, addr string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(addr, unixPrefix)
	if !isUnix {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(ctx, path) {
		if err = os.Remove(path); err == nil {
			l, err = (&net.ListenConfig{}).Listen(ctx, "unix", path)
		}
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(path, "@") {
		// The group may be that of another container of the pod.
		if err := os.Chmod(path, 0o660); err != nil { //nolint:gosec // G302: who may speak is what the mode says
			_ = l.Close()
			return nil, err
		}
	}
	return l, nil
}

// abandoned tells a socket that nobody listens on any more.
func abandoned(ctx context.Context, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
