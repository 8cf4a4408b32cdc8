// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// listener stands in for one of a process that has all its files open: errors come first, then a connection.
type listener struct {
	net.Listener
	errors []error
	conn   net.Conn
}

func (l *listener) Accept() (net.Conn, error) {
	if len(l.errors) > 0 {
		err := l.errors[0]
		l.errors = l.errors[1:]
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
	}
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *listener) Close() error { return nil }

func TestTooManyConnectionsDoNotEndTheGate(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	served := make(chan struct{})
	err := Accept(t.Context(), &listener{errors: []error{syscall.EMFILE, syscall.ECONNABORTED}, conn: a}, func(c net.Conn) {
		defer close(served)
		c.Close()
	})
	require.ErrorIs(t, err, net.ErrClosed)
	<-served
	err = Accept(t.Context(), &listener{errors: []error{syscall.EINVAL}}, func(net.Conn) {})
	require.ErrorIs(t, err, syscall.EINVAL, "what does not pass is told")
}
