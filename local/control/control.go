// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package control lets a command speak to the cluster that runs: by a socket in its folder, one order and one answer for each
// connection.
//
// Called by: cluster (Serve) and command (Send).
// Next: what the order is for.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Socket is the name of the socket in the cluster's folder.
const Socket = "control.sock"

const readTimeout = 10 * time.Second

// RestartAPIServer is the order to end the API server and to start another.
const RestartAPIServer = "restart-apiserver"

// Order is what a command wants.
type Order struct {
	Name string `json:"name"`
	// For is how long what is ordered lasts.
	For time.Duration `json:"for,omitempty"`
}

type answer struct {
	Error string `json:"error,omitempty"`
}

// Serve carries orders out until ctx ends.
func Serve(ctx context.Context, socket string, do func(context.Context, Order) error) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove stale control socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("open control socket: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept order: %w", err)
		}
		go take(ctx, c, do)
	}
}

func take(ctx context.Context, c net.Conn, do func(context.Context, Order) error) {
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(readTimeout))
	var o Order
	var a answer
	if err := json.NewDecoder(c).Decode(&o); err != nil {
		a.Error = "read order: " + err.Error()
	} else if err := do(ctx, o); err != nil {
		a.Error = err.Error()
	}
	_ = json.NewEncoder(c).Encode(a) // who asked may have left
}

// Send gives an order and waits until it is carried out.
func Send(ctx context.Context, socket string, o Order) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := json.NewEncoder(c).Encode(o); err != nil {
		return fmt.Errorf("send order: %w", err)
	}
	var a answer
	if err := json.NewDecoder(c).Decode(&a); err != nil {
		return fmt.Errorf("wait for the cluster: %w", err)
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}
