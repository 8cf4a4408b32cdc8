// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate lets the host reach into the cluster's network: unix sockets are seen across network namespaces, so a client on the
// host sends "host:port" and a newline to a socket in the cluster's folder, and then speaks with that address inside.
//
// Called by: cluster (Serve, inside) and launch (Forward, outside).
// Next: proxy and the API server, which listen inside.
package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 10 * time.Second
	maxHeader     = 300
	// acceptPause is how long nobody is let in when the process has all the files open that it may have.
	acceptPause = 50 * time.Millisecond
)

// Serve answers on the socket until ctx ends. Names of targets are asked of the server at dns.
func Serve(ctx context.Context, socket, dns string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove stale gate: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("open gate: %w", err)
	}
	names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, net.JoinHostPort(dns, "53"))
	}}
	return Accept(ctx, l, func(c net.Conn) { enter(ctx, c, names) })
}

func enter(ctx context.Context, c net.Conn, names *net.Resolver) {
	_ = c.SetReadDeadline(time.Now().Add(headerTimeout))
	r := bufio.NewReaderSize(c, maxHeader)
	line, err := r.ReadSlice('\n')
	if err != nil {
		c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	d := net.Dialer{Timeout: dialTimeout, Resolver: names}
	u, err := d.DialContext(ctx, "tcp", strings.TrimSpace(string(line)))
	if err != nil {
		c.Close()
		return
	}
	Join(&buffered{Conn: c, r: r}, u)
}

// buffered is a connection of which some bytes were already read.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

func (b *buffered) CloseWrite() error {
	if w, ok := b.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// Forward takes connections of l and carries each to target behind the gate, until ctx ends.
func Forward(ctx context.Context, l net.Listener, socket, target string) error {
	return Accept(ctx, l, func(c net.Conn) {
		u, err := Dial(ctx, socket, target)
		if err != nil {
			c.Close()
			return
		}
		Join(c, u)
	})
}

// Dial connects to target behind the gate.
func Dial(ctx context.Context, socket, target string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	u, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("reach gate: %w", err)
	}
	if _, err := io.WriteString(u, target+"\n"); err != nil {
		u.Close()
		return nil, fmt.Errorf("reach gate: %w", err)
	}
	return u, nil
}

// Accept serves each connection until ctx ends, or the listener is closed. Many connections at once make it pause, never end.
func Accept(ctx context.Context, l net.Listener, serve func(net.Conn)) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // closed by the end of ctx, which is how this ends
			}
			if !passes(err) {
				return fmt.Errorf("accept: %w", err)
			}
			runtime.GC() // it closes the pipes that were kept from copies which have ended: two files each
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		go serve(c)
	}
}

// passes says whether a connection could not be taken for a reason that ends when others do: too many are open.
func passes(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}

// Join copies both ways, passes half-closes on, and returns when both sides have ended.
func Join(a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	var wg sync.WaitGroup
	wg.Go(func() { oneWay(a, b) })
	wg.Go(func() { oneWay(b, a) })
	wg.Wait()
}

func oneWay(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if w, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		if w.CloseWrite() == nil {
			return
		}
	}
	// One direction broke: without the other's end it would hang for ever.
	dst.Close()
	src.Close()
}
