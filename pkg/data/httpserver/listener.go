// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"errors"
	"net"
	"sync"
	"time"
)

// listener is a TCP listener whose Close first takes the connections that the kernel has already accepted: closing the socket
// would reset them, and their clients, who are connected and may have sent a request, would lose it.
type listener struct {
	*net.TCPListener
	stall   time.Duration
	once    sync.Once
	closed  error
	waiting chan *net.TCPConn
}

func newListener(l net.Listener, stall time.Duration) net.Listener {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return l
	}
	return &listener{TCPListener: tcp, stall: stall, waiting: make(chan *net.TCPConn)}
}

// Accept returns the next connection, and after Close those that Close rescued, then the error of a closed listener.
func (l *listener) Accept() (net.Conn, error) {
	tcp, err := l.AcceptTCP()
	if err == nil {
		return &conn{TCPConn: tcp, stall: l.stall}, nil
	}
	if errors.Is(err, net.ErrClosed) {
		if rescued, ok := <-l.waiting; ok {
			return &conn{TCPConn: rescued, stall: l.stall}, nil
		}
	}
	return nil, err
}

// Close stops listening.
func (l *listener) Close() error {
	l.once.Do(func() {
		var rescued []*net.TCPConn
		rescued, l.closed = rescue(l.TCPListener)
		go func() {
			for _, conn := range rescued {
				l.waiting <- conn
			}
			close(l.waiting)
		}()
	})
	return l.closed
}
