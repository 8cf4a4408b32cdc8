// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Names of the kinds that targets are about.
const (
	kindV1     = "v1, 1 row"
	kindV2     = "v2, 1 row"
	kindGRPC   = "gRPC, 1 row"
	kindV2MiB  = "v2, 1 MiB"
	kindRawMiB = "gRPC, 1 MiB"
)

// targets are what the server is meant to be, beside what it is.
type targets struct {
	o       *options
	field   *field
	results map[string]pair
	rows    []row
}

type row struct{ what, target, measured, verdict string }

func (t *targets) add(what, target, measured string, met bool) {
	verdict := "met"
	if !met {
		verdict = "NOT MET"
	}
	t.rows = append(t.rows, row{what, target, measured, verdict})
}

func (t *targets) all(ctx context.Context) error {
	ratio := func(what, kind string, limit float64) {
		got := t.results[kind].ratio()
		t.add(what, fmt.Sprintf("<= %.2fx", limit), fmt.Sprintf("%.2fx", got), got <= limit)
	}
	ratio("V1 JSON, 1 row: CPU of a bare net/http handler", kindV1, 1.6)
	ratio("V2 JSON, 1 row: CPU of a bare net/http handler", kindV2, 1.6)
	ratio("gRPC, 1 row: CPU of a bare grpc-go service", kindGRPC, 1.5)
	ratio("V2 binary, 1 MiB: CPU of an echo", kindV2MiB, 1.1)
	ratio("gRPC raw, 1 MiB: CPU of an echo", kindRawMiB, 1.1)
	t.inside(ctx)
	if err := t.python(ctx); err != nil {
		return err
	}
	for _, kind := range []string{kindV1, kindV2, kindGRPC} {
		p99 := t.results[kind].ours.p99
		t.add(fmt.Sprintf("%s: p99 at %d connections", kind, t.o.most()), "< 5 ms", fmt.Sprintf("%.2f ms, bare: %.2f ms", ms(p99), ms(t.results[kind].bare.p99)), p99 < 5*time.Millisecond)
	}
	ready := t.field.ours.ready
	t.add("start to ready", "< 100 ms", ready.Round(time.Millisecond).String(), ready < 100*time.Millisecond)
	return t.soak(ctx)
}

// inside measures without a network: one core, the code alone.
func (t *targets) inside(ctx context.Context) {
	for _, d := range decoders() {
		rate := d.rate()
		t.add(d.name+": decoding on one core", ">= 300 MB/s", fmt.Sprintf("%.0f MB/s", rate), rate >= 300)
	}
	for _, c := range []struct {
		what  string
		bytes int64
	}{
		{"V2 binary, 1 MiB: memory taken by a request", binaryAllocations(ctx)},
		{"gRPC raw, 1 MiB: memory taken by a call", rawAllocations(ctx)},
	} {
		const limit = 64 << 10
		t.add(c.what, "< 64 KiB: no copy", fmt.Sprintf("%.1f KiB", float64(c.bytes)/1024), c.bytes < limit)
	}
}

// python compares with KServe's Python server.
func (t *targets) python(ctx context.Context) error {
	const target = ">= 25x"
	kinds := pythonKinds(t.field)
	for _, name := range []string{kindV1, kindV2, kindGRPC} {
		what := name + ": CPU of KServe's Python server by ours"
		if t.field.python == nil {
			t.rows = append(t.rows, row{what, target, "not installed: make bench-python", "not run"})
			continue
		}
		var all []result
		for range t.o.passes {
			r, err := measure(ctx, subject{t.field.python, kinds[name]}, t.o.most(), t.o.duration)
			if err != nil {
				return fmt.Errorf("%s against the Python server: %w", name, err)
			}
			all = append(all, r)
		}
		theirs := median(all).cpu
		times := float64(theirs) / float64(max(t.results[name].ours.cpu, 1))
		floor := float64(theirs) / float64(max(t.results[name].bare.cpu, 1))
		t.add(what, target, fmt.Sprintf("%.0fx, bare: %.0fx", times, floor), times >= 25)
	}
	if t.field.python != nil {
		t.rows = append(t.rows, row{"Python server: memory, start to ready", "", fmt.Sprintf("%.0f MB, %s", t.field.python.rss(), t.field.python.ready.Round(10*time.Millisecond)), ""})
	}
	return nil
}

// soak asks very often and looks at the memory early and late.
func (t *targets) soak(ctx context.Context) error {
	if t.o.soak == 0 {
		return nil
	}
	k := kinds(t.field)
	early := 0.0
	began := time.Now()
	for i, share := range []int{t.o.soak / 5, t.o.soak - t.o.soak/5} {
		for j, of := range []kind{k[0], k[2], k[3]} {
			n := share / 3
			if j == 0 {
				n = share - 2*(share/3)
			}
			if err := ask(ctx, of.ours.client, t.o.most(), n); err != nil {
				return fmt.Errorf("ask %d times: %w", t.o.soak, err)
			}
		}
		if i == 0 {
			early = t.field.ours.rss()
		}
	}
	late := t.field.ours.rss()
	fmt.Printf("\n%d requests over V1, V2 and gRPC in %s\n", t.o.soak, time.Since(began).Round(time.Second))
	t.add(fmt.Sprintf("resident memory after %d requests", t.o.soak), "< 40 MB", fmt.Sprintf("%.1f MB", late), late < 40)
	t.add("its growth over the last four fifths", "< 2 MB", fmt.Sprintf("%+.1f MB", late-early), late-early < 2)
	return nil
}

// ask asks n times on conns connections.
func ask(ctx context.Context, c client, conns, n int) error {
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	errs := make(chan error, conns)
	for range conns {
		all.Go(func() {
			ask, closed, err := c(ctx)
			if err != nil {
				errs <- err
				return
			}
			defer closed()
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if err := ask(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return ctx.Err()
	}
}

func (t *targets) print() {
	fmt.Printf("\n%-62s %-18s %-26s %s\n", "", "target", "measured", "")
	for _, r := range t.rows {
		fmt.Printf("%-62s %-18s %-26s %s\n", r.what, r.target, r.measured, r.verdict)
	}
}
