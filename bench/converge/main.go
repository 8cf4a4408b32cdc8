// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command converge measures what the control plane costs: it starts an API server with controller and webhook, creates many
// InferenceServices, makes them ready, and then resyncs, restarts, touches, changes and deletes them. For each phase it counts processor
// time of the controller and the webhook, the controller's passes, and its requests by verb and kind, from the server's audit log. Beside
// all those services, single ones are changed, and the time from each change to the controller's last write for it is told.
//
//	go run ./bench/converge [-n 500] [-shape single|mixed] [-json FILE]
//	go run ./bench/converge -summary FILE…
//
// Called by: make bench-cluster, make bench-control.
// Next: pkg/testkit/cluster.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

type options struct {
	n       int
	workers int
	shape   string
	until   string
	json    string
	// profiles is a folder that gets a processor profile of the controller from each phase.
	profiles string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var o options
	flag.IntVar(&o.n, "n", 500, "how many InferenceServices")
	flag.IntVar(&o.workers, "workers", 8, "how many requests the bench sends at a time")
	flag.StringVar(&o.shape, "shape", "single", "what the services look like: single is one shape with small variations, mixed is many shapes")
	flag.StringVar(&o.until, "until", "", "last phase to measure, by the beginning of its name; default: all")
	flag.StringVar(&o.json, "json", "", "file that gets the measurements too")
	flag.StringVar(&o.profiles, "profiles", "", "folder that gets a processor profile of the controller from each phase, and of its memory at the end of each")
	summary := flag.Bool("summary", false, "measure nothing: print the targets from the files that are named, which an earlier -json or `go test -bench` gave")
	flag.Parse()
	var err error
	if *summary {
		err = summarize(os.Stdout, flag.Args())
	} else {
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
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
	looks, ok := shapes()[o.shape]
	if !ok {
		return fmt.Errorf("-shape: %q is none of %s", o.shape, strings.Join(slices.Sorted(maps.Keys(shapes())), ", "))
	}
	began := time.Now()
	opening, err := looks.options()
	if err != nil {
		return err
	}
	p, err := newProfiler(ctx, o.profiles, &opening)
	if err != nil {
		return err
	}
	c, err := cluster.Open(ctx, opening)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	fmt.Fprintf(progress, "API server, webhook and controller run after %.1f s\n", time.Since(began).Seconds())
	b := &bench{cluster: c, options: o, shape: looks, profiler: p, namespace: "bench"}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	phases, failed := b.measureAll(ctx, progress)
	if len(phases) == 0 {
		return failed
	}
	report := &report{
		Shape: o.shape, About: looks.about, Services: o.n, Created: b.created, Objects: b.objects, Components: b.components, Routed: b.routed, Phases: phases, Change: b.latencies,
	}
	report.Targets = report.targets()
	if err := report.print(out); err != nil || failed != nil {
		return errors.Join(failed, err)
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

// measureAll measures the phases, up to the one that fails: what was measured before it is worth knowing.
func (b *bench) measureAll(ctx context.Context, progress io.Writer) ([]phase, error) {
	var phases []phase
	for _, p := range b.phases() {
		result, err := b.measure(ctx, p)
		if err != nil {
			return phases, fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(progress, "%s: %.1f s\n", p.name, result.Seconds)
		phases = append(phases, result)
		if until := b.options.until; until != "" && strings.HasPrefix(p.name, until) {
			break
		}
	}
	return phases, nil
}
