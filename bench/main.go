// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench compares the model server with servers that do nothing, in one run on one machine: a bare net/http handler and a bare
// grpc-go service, which answer a fixed message. What counts is the ratio of the CPU time that a request costs; requests per second and
// latencies depend on what else the machine does.
//
//	go run ./bench [-duration 2s] [-passes 3] [-conns 1,16] [-server PROGRAM] [-model DIRECTORY]
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
	passes        int
	conns         []int
	server, model string
}

func parse() (options, error) {
	var o options
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "length of one measurement")
	flag.IntVar(&o.passes, "passes", 3, "measurements of each kind; the table has their medians")
	flag.StringVar(&o.server, "server", "", "model server program; empty: build ./cmd/model-server")
	flag.StringVar(&o.model, "model", "test/data/protocol/models/iris-logreg", "directory of an iris model")
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
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	ports, err := freePorts(5)
	if err != nil {
		return err
	}
	bare, err := start(ctx, "http://127.0.0.1:"+ports[0]+"/", self, "child", ports[0], ports[1])
	if err != nil {
		return err
	}
	defer bare.stop()
	ours, err := start(ctx, "http://127.0.0.1:"+ports[2]+"/v2/health/ready", o.server,
		"--model_name=iris", "--model_dir="+o.model, "--http_port="+ports[2], "--grpc_port="+ports[3], "--drain_delay=0s")
	if err != nil {
		return err
	}
	defer ours.stop()
	identity, err := start(ctx, "http://127.0.0.1:"+ports[4]+"/v2/health/ready", self, "child", "identity", ports[4])
	if err != nil {
		return err
	}
	defer identity.stop()
	fmt.Printf("start to ready: model server %s, bare server %s\n", ours.ready.Round(time.Millisecond), bare.ready.Round(time.Millisecond))
	fmt.Printf("resident memory when ready: model server %.1f MB, bare server %.1f MB\n\n", ours.rss(), bare.rss())
	if err := measureAll(ctx, o, kinds(ports, bare, ours, identity)); err != nil {
		return err
	}
	fmt.Printf("\nresident memory after the load: model server %.1f MB, bare server %.1f MB\n", ours.rss(), bare.rss())
	return nil
}

// kind is one way to ask, of both servers.
type kind struct {
	name       string
	bare, ours subject
}

// subject is a server and how to ask it.
type subject struct {
	server *process
	client client
}

func measureAll(ctx context.Context, o options, kinds []kind) error {
	fmt.Printf("%-12s %5s  %23s  %23s  %9s\n", "", "", "bare server", "model server", "CPU")
	fmt.Printf("%-12s %5s  %7s %7s %7s  %7s %7s %7s  %9s\n", "case", "conns", "req/s", "p99 ms", "µs CPU", "req/s", "p99 ms", "µs CPU", "ratio")
	for _, k := range kinds {
		for _, conns := range o.conns {
			var bares, servers []result
			for range o.passes {
				b, err := measure(ctx, k.bare, conns, o.duration)
				if err != nil {
					return fmt.Errorf("%s against the bare server: %w", k.name, err)
				}
				s, err := measure(ctx, k.ours, conns, o.duration)
				if err != nil {
					return fmt.Errorf("%s against the model server: %w", k.name, err)
				}
				bares, servers = append(bares, b), append(servers, s)
			}
			b, s := median(bares), median(servers)
			fmt.Printf("%-12s %5d  %7.0f %7.2f %7.1f  %7.0f %7.2f %7.1f  %8.2fx\n", k.name, conns,
				b.rate, ms(b.p99), us(b.cpu), s.rate, ms(s.p99), us(s.cpu), float64(s.cpu)/float64(max(b.cpu, 1)))
		}
	}
	return nil
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
