// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package httpserver

import "net"

// rescue needs system calls that only Linux has; elsewhere DrainDelay is what keeps clients from being reset.
func rescue(l acceptor) ([]net.Conn, error) { return nil, l.Close() }
