// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds TCP ports of the loopback interface for servers that are told theirs before they start. Another process may take one
// meanwhile: a server that can listen on port 0 and tell its port needs none of this.
//
// Called by: tests of cmd, examples, pkg and test/apiserver.
// Next: nothing.
package freeport

import (
	"net"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Number is a port that nobody had a moment ago.
func Number(tb testing.TB) int {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of TCP it is
}

// Text is Number as flags take it.
func Text(tb testing.TB) string {
	tb.Helper()
	return strconv.Itoa(Number(tb))
}

// Address is host and port.
func Address(tb testing.TB) string {
	tb.Helper()
	return net.JoinHostPort("127.0.0.1", Text(tb))
}
