// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// profiled is how many seconds of each phase a profile covers.
const profiled = 12

// profiler keeps processor profiles of the controller; nil keeps none.
type profiler struct {
	dir, address string
}

// newProfiler makes the controller serve profiles. Without a folder there is no profiler.
func newProfiler(ctx context.Context, dir string, o *cluster.Options) (*profiler, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make a folder for profiles: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	p := &profiler{dir: dir, address: l.Addr().String()}
	o.ControllerArgs = append(o.ControllerArgs, "--pprof-addr="+p.address)
	return p, l.Close()
}

// begin profiles a phase. The result waits for the profile and adds one of the memory.
func (p *profiler) begin(ctx context.Context, phase string) func() error {
	if p == nil || phase == phaseRestart {
		return func() error { return nil }
	}
	word, _, _ := strings.Cut(strings.ReplaceAll(phase, " ", "-"), ":")
	done := make(chan error, 1)
	go func() { done <- p.keep(ctx, fmt.Sprintf("profile?seconds=%d", profiled), word+".cpu") }()
	return func() error {
		if err := <-done; err != nil {
			return err
		}
		return p.keep(ctx, "heap?gc=1", word+".heap")
	}
}

func (p *profiler) keep(ctx context.Context, what, file string) error {
	raw, err := fetch(ctx, "http://"+p.address+"/debug/pprof/"+what)
	if err != nil {
		return fmt.Errorf("profile the controller: %w", err)
	}
	return os.WriteFile(filepath.Join(p.dir, file), raw, 0o600)
}
