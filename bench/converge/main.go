// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command converge measures what the control plane costs: it starts an API server with controller and webhook, creates many
// InferenceServices, makes them ready, and then resyncs, restarts, changes and deletes them. For each phase it counts processor time of
// the controller and the webhook, and the controller's requests by verb and kind, from the server's audit log.
//
//	go run ./bench/converge [-n 500] [-json FILE]
//
// Called by: make bench-cluster.
// Next: pkg/testkit/cluster.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

type options struct {
	n       int
	workers int
	json    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var o options
	flag.IntVar(&o.n, "n", 500, "how many InferenceServices")
	flag.IntVar(&o.workers, "workers", 8, "how many requests the bench sends at a time")
	flag.StringVar(&o.json, "json", "", "file that gets the measurements too")
	flag.Parse()
	err := run(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "converge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	if o.n < 1 {
		return errors.New("-n: at least one service is needed")
	}
	began := time.Now()
	c, err := cluster.Open(ctx, cluster.Options{NoOptional: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintf(progress, "API server, webhook and controller run after %.1f s\n", time.Since(began).Seconds())
	b := &bench{cluster: c, options: o, namespace: "bench"}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var phases []phase
	for _, p := range b.phases() {
		result, err := b.measure(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(progress, "%s: %.1f s\n", p.name, result.Seconds)
		phases = append(phases, result)
	}
	report := &report{Services: o.n, Objects: b.objects, Components: b.components, Phases: phases}
	if err := report.print(out); err != nil {
		return err
	}
	if err := c.MustAllow(); err != nil {
		return err
	}
	if o.json == "" {
		return nil
	}
	raw, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(raw, '\n'), 0o600)
}
