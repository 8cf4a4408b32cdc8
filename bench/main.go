// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench compares the model server with servers that do nothing, a bare net/http handler and a bare grpc-go service, and with KServe's
// Python server where it is installed: in one run on one machine. What counts is the CPU time that a request costs; requests per second
// and latencies depend on what else the machine does. The last table has the targets, and whether they are met.
//
//	go run ./bench [-duration 2s] [-passes 3] [-conns 1,16] [-soak 1000000] [-python PYTHON] [-server PROGRAM] [-model DIRECTORY]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) == 4 && os.Args[1] == "child" {
		if err := child(ctx, os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := compare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	duration      time.Duration
	passes, soak  int
	conns         []int
	server, model string
	python        string
}

// most is the number of connections that the targets are about.
func (o *options) most() int { return slices.Max(o.conns) }

func parse() (options, error) {
	var o options
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "length of one measurement")
	flag.IntVar(&o.passes, "passes", 3, "measurements of each kind; the table has their medians")
	flag.IntVar(&o.soak, "soak", 1_000_000, "requests after which the memory is looked at; 0: none")
	flag.StringVar(&o.server, "server", "", "model server program; empty: build ./cmd/model-server")
	flag.StringVar(&o.model, "model", "test/data/protocol/models/iris-logreg", "directory of an iris model")
	flag.StringVar(&o.python, "python", ".venv/bench/bin/python", "Python that has KServe's server; make bench-python installs it")
	conns := flag.String("conns", "1,16", "numbers of connections")
	flag.Parse()
	for text := range strings.SplitSeq(*conns, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-conns %q: expected numbers above 0", *conns)
		}
		o.conns = append(o.conns, n)
	}
	return o, nil
}

func compare(ctx context.Context) error {
	o, err := parse()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return fmt.Errorf("make a directory to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.server == "" {
		o.server = filepath.Join(dir, "model-server")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.server, "./cmd/model-server")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the model server: %w\n%s", err, out)
		}
	}
	f, err := startAll(ctx, &o)
	if err != nil {
		return err
	}
	defer f.stop()
	fmt.Printf("start to ready: model server %s, bare server %s\n", f.ours.ready.Round(time.Millisecond), f.bare.ready.Round(time.Millisecond))
	fmt.Printf("resident memory when ready: model server %.1f MB, bare server %.1f MB\n\n", f.ours.rss(), f.bare.rss())
	results, err := measureAll(ctx, &o, f)
	if err != nil {
		return err
	}
	t := targets{o: &o, field: f, results: results}
	if err := t.all(ctx); err != nil {
		return err
	}
	t.print()
	return nil
}

// field is the servers of one run.
type field struct {
	bare, ours, identity *process
	python               *process // nil where it is not installed
	ports                []string
}

// startAll starts the servers. Ports are the bare server's HTTP and gRPC, the model server's, those of a server of ours with a model that
// answers its input, and those of the Python server.
func startAll(ctx context.Context, o *options) (f *field, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	f = &field{ports: ports}
	defer func() {
		if err != nil {
			f.stop()
		}
	}()
	if f.bare, err = start(ctx, "http://127.0.0.1:"+ports[0]+"/", self, "child", ports[0], ports[1]); err != nil {
		return nil, err
	}
	if f.ours, err = start(ctx, "http://127.0.0.1:"+ports[2]+"/v2/health/ready", o.server,
		"--model_name=iris", "--model_dir="+o.model, "--http_port="+ports[2], "--grpc_port="+ports[3], "--drain_delay=0s"); err != nil {
		return nil, err
	}
	if f.identity, err = start(ctx, "http://127.0.0.1:"+ports[4]+"/v2/health/ready", self, "child", "identity:"+ports[4], ports[5]); err != nil {
		return nil, err
	}
	if _, missing := os.Stat(o.python); missing != nil {
		return f, nil // it is left out, and the table says so
	}
	f.python, err = start(ctx, "http://127.0.0.1:"+ports[6]+"/v2/health/ready", o.python, "bench/python/server.py",
		"--model_name=iris", "--model_dir="+o.model, "--http_port="+ports[6], "--grpc_port="+ports[7])
	return f, err
}

func (f *field) stop() {
	for _, p := range []*process{f.bare, f.ours, f.identity, f.python} {
		if p != nil {
			p.stop()
		}
	}
}

// kind is one way to ask, of a bare server and of ours.
type kind struct {
	name       string
	bare, ours subject
}

// subject is a server and how to ask it.
type subject struct {
	server *process
	client client
}

// pair is one kind's results.
type pair struct{ bare, ours result }

func (p pair) ratio() float64 { return float64(p.ours.cpu) / float64(max(p.bare.cpu, 1)) }

// measureAll measures every kind and returns what came of the most connections.
func measureAll(ctx context.Context, o *options, f *field) (map[string]pair, error) {
	results := map[string]pair{}
	fmt.Printf("%-14s %5s  %23s  %23s  %9s\n", "", "", "bare server", "model server", "CPU")
	fmt.Printf("%-14s %5s  %7s %7s %7s  %7s %7s %7s  %9s\n", "case", "conns", "req/s", "p99 ms", "µs CPU", "req/s", "p99 ms", "µs CPU", "ratio")
	for _, k := range kinds(f) {
		for _, conns := range o.conns {
			var bares, servers []result
			for range o.passes {
				b, err := measure(ctx, k.bare, conns, o.duration)
				if err != nil {
					return nil, fmt.Errorf("%s against the bare server: %w", k.name, err)
				}
				s, err := measure(ctx, k.ours, conns, o.duration)
				if err != nil {
					return nil, fmt.Errorf("%s against the model server: %w", k.name, err)
				}
				bares, servers = append(bares, b), append(servers, s)
			}
			p := pair{median(bares), median(servers)}
			fmt.Printf("%-14s %5d  %7.0f %7.2f %7.1f  %7.0f %7.2f %7.1f  %8.2fx\n", k.name, conns,
				p.bare.rate, ms(p.bare.p99), us(p.bare.cpu), p.ours.rate, ms(p.ours.p99), us(p.ours.cpu), p.ratio())
			if conns == o.most() {
				results[k.name] = p
			}
		}
	}
	return results, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// median takes each figure's own median.
func median(all []result) result {
	pick := func(less func(a, b result) int) result {
		sorted := slices.SortedFunc(slices.Values(all), less)
		return sorted[len(sorted)/2]
	}
	return result{
		rate: pick(func(a, b result) int { return int(a.rate - b.rate) }).rate,
		p99:  pick(func(a, b result) int { return int(a.p99 - b.p99) }).p99,
		cpu:  pick(func(a, b result) int { return int(a.cpu - b.cpu) }).cpu,
	}
}
