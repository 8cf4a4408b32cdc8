// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package launch is the process that a person or a test starts: it takes the cluster's name, runs the cluster in this process or in a
// child inside fresh namespaces, prints the ready line, and takes everything down again.
//
// Called by: command.
// Next: cluster.
package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/kserve-go/kserve-go/local/cluster"
	"github.com/kserve-go/kserve-go/local/place"
)

// Options are what the command line sets.
type Options struct {
	Cluster cluster.Options
	// Port is the port of the host where the API server answers; 0 means the one of last time when it is free, else any.
	Port int
	// Fresh throws old state away first, Discard the state of this run at its end.
	Fresh, Discard bool
	// Out gets the ready line, Err the progress.
	Out, Err io.Writer
}

// errNeverReady says that a cluster was told to end while it started.
var errNeverReady = errors.New("it was stopped before it was ready")

// Run blocks until ctx ends or the cluster fails.
func Run(ctx context.Context, o Options) (err error) {
	p := o.Cluster.Place
	if err := p.Lock(); err != nil {
		return explainState(p, err)
	}
	defer p.Unlock()
	// First: what is thrown away may say where a predecessor that was killed left its control group.
	if err := Sweep(p); err != nil {
		return err
	}
	if err := p.Clear(o.Fresh); err != nil {
		return explainState(p, err)
	}
	defer func() {
		if cerr := p.Clear(o.Discard); cerr != nil {
			err = errors.Join(err, cerr)
		} else if o.Discard {
			err = errors.Join(err, p.Remove())
		}
	}()
	if err := checkRoom(p); err != nil {
		return err
	}
	// A cluster that ends is none to talk to, though its pods have their time.
	stopForgetting := context.AfterFunc(ctx, func() { _ = p.Forget() }) // Clear tells what is wrong with the folder
	defer stopForgetting()
	l, err := listen(ctx, p, "port", o.Port)
	if err != nil {
		return explainState(p, err)
	}
	defer l.Close()
	o.Cluster.Server = "https://" + l.Addr().String()
	started := time.Now()
	progress := func(step string) {
		fmt.Fprintf(o.Err, "%6.2fs %s\n", time.Since(started).Seconds(), step)
	}
	isReady := false
	defer func() {
		if ctx.Err() != nil && !isReady {
			err = errNeverReady // what was broken off says only that
		}
	}()
	ready := func(r place.Record) error {
		isReady = true
		r.PID, r.StartSeconds = os.Getpid(), time.Since(started).Seconds()
		return announce(p, r, o.Out)
	}
	if o.Cluster.Node {
		return runInside(ctx, o, l, progress, ready)
	}
	return cluster.Run(ctx, o.Cluster, cluster.Hooks{Listener: l, Progress: progress, Ready: ready})
}

// announce prints the ready line: the word ready and the record as JSON.
func announce(p *place.Place, r place.Record, out io.Writer) error {
	if err := p.WriteRecord(r); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode ready line: %w", err)
	}
	if _, err := fmt.Fprintf(out, "ready %s\n", b); err != nil {
		return fmt.Errorf("print ready line: %w", err)
	}
	return nil
}

// listen takes a port of loopback and notes it in a file. A port that the caller named must be free; that of last time is a wish only,
// so that an old copy of the kubeconfig, or an address that a person noted, keeps working.
func listen(ctx context.Context, p *place.Place, file string, port int) (net.Listener, error) {
	var lc net.ListenConfig
	if port != 0 {
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, fmt.Errorf("take the API server's port: %w (leave --port out to take any free one)", err)
		}
		return l, nil
	}
	file = p.Path(file)
	if b, err := os.ReadFile(file); err == nil {
		if l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", string(b))); err == nil {
			return l, nil
		}
	}
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("take a port of 127.0.0.1: %w", err)
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read own port: %w", err), l.Close())
	}
	if err := place.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
