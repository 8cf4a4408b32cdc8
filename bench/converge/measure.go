// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

// phase is what one step cost. Requests are the controller's alone; leases and events are counted apart.
type phase struct {
	Name string `json:"name"`
	// Seconds from the first request to the controller's last write.
	Seconds       float64 `json:"seconds"`
	ControllerCPU float64 `json:"controllerCPUSeconds"`
	WebhookCPU    float64 `json:"webhookCPUSeconds"`
	ControllerRSS int64   `json:"controllerRSS"`
	WebhookRSS    int64   `json:"webhookRSS"`
	// Writes and Reads are by "verb kind"; Failed are those of both that were answered with an error.
	Writes map[string]int `json:"writes"`
	Reads  map[string]int `json:"reads"`
	Failed map[string]int `json:"failed,omitempty"`
	Events int            `json:"events"`
	Leases int            `json:"leases"`
	// Passes are the controller's over services.
	Passes int `json:"passes"`
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// usage is what the processes had used at a moment.
type usage struct {
	controller, webhook time.Duration
	pid                 int
	requests, passes    int
}

func (b *bench) usage(ctx context.Context) (usage, error) {
	var u usage
	var err error
	if u.controller, err = b.cluster.Controller.CPU(); err != nil {
		return u, err
	}
	if u.webhook, err = b.cluster.Webhook.CPU(); err != nil {
		return u, err
	}
	requests, err := b.cluster.Requests(cluster.ControllerAccount)
	if err != nil {
		return u, err
	}
	u.pid, u.requests = b.cluster.Controller.PID(), len(requests)
	u.passes, err = b.passes(ctx)
	return u, err
}

// measure does a step, waits until it has happened and the controller writes no more, and tells what it cost.
func (b *bench) measure(ctx context.Context, s step) (phase, error) {
	p := phase{Name: s.name, Writes: map[string]int{}, Reads: map[string]int{}, Failed: map[string]int{}}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	before, err := b.usage(ctx)
	if err != nil {
		return p, err
	}
	profiled := b.profiler.begin(ctx, s.name)
	start := time.Now()
	if err := s.act(ctx); err != nil {
		return p, err
	}
	for s.done != nil {
		done, err := s.done(ctx)
		if err != nil {
			return p, err
		}
		if done {
			break
		}
		if err := pause(ctx, look); err != nil {
			return p, fmt.Errorf("it has not happened: %w", err)
		}
	}
	happened := time.Now()
	if err := b.quiet(ctx); err != nil {
		return p, err
	}
	after, err := b.usage(ctx)
	if err != nil {
		return p, err
	}
	if after.pid != before.pid {
		before.controller, before.passes = 0, 0 // it was started again
	}
	p.ControllerCPU, p.WebhookCPU = (after.controller - before.controller).Seconds(), (after.webhook - before.webhook).Seconds()
	if p.ControllerRSS, err = b.cluster.Controller.RSS(); err != nil {
		return p, err
	}
	if p.WebhookRSS, err = b.cluster.Webhook.RSS(); err != nil {
		return p, err
	}
	p.Passes = after.passes - before.passes
	if err := profiled(); err != nil {
		return p, err
	}
	requests, err := b.cluster.Requests(cluster.ControllerAccount)
	if err != nil {
		return p, err
	}
	last := p.add(requests[before.requests:])
	if last.Before(happened) {
		last = happened
	}
	p.Seconds = last.Sub(start).Seconds()
	return p, nil
}

// add counts requests and returns when the last write was.
func (p *phase) add(requests []cluster.Request) time.Time {
	var last time.Time
	for _, r := range requests {
		switch {
		case r.Resource == "leases":
			p.Leases++
			continue
		case r.Resource == "events":
			p.Events++
			continue
		case r.Resource == "":
			continue // discovery
		case r.Resource == "selfsubjectaccessreviews":
			p.Reads["ask "+r.Kind()]++ // a question, and stored nowhere
		case r.Writes():
			p.Writes[r.Verb+" "+r.Kind()]++
			last = r.Time
		case r.DryRun:
			p.Reads["dry-run "+r.Verb+" "+r.Kind()]++
		default:
			p.Reads[r.Verb+" "+r.Kind()]++
		}
		if r.Code >= 400 && (r.Verb != "get" || r.Code != http.StatusNotFound) {
			p.Failed[fmt.Sprintf("%s %s: %d", r.Verb, r.Kind(), r.Code)]++
		}
	}
	return last
}

// passes reads the controller's own count.
func (b *bench) passes(ctx context.Context) (int, error) {
	text, err := fetch(ctx, "http://"+b.cluster.Controller.Metrics+"/metrics")
	if err != nil {
		return 0, fmt.Errorf("read the controller's metrics: %w", err)
	}
	n := 0.0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `controller_runtime_reconcile_total{controller="inferenceservice"`) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			return 0, fmt.Errorf("read the controller's metrics: %w", err)
		}
		n += value
	}
	return int(n), nil
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return io.ReadAll(resp.Body)
}

// quiet waits until the controller has not written for a while, and is through with what it looks at.
func (b *bench) quiet(ctx context.Context) error {
	for passes := -1; ; {
		if err := b.silent(ctx); err != nil {
			return err
		}
		now, err := b.passes(ctx)
		if err != nil || now-passes <= b.options.n/100 && passes >= 0 {
			return err
		}
		passes = now
	}
}

// silent waits until the controller has not written for a while.
func (b *bench) silent(ctx context.Context) error {
	seen, since := -1, time.Now()
	for {
		requests, err := b.cluster.Requests(cluster.ControllerAccount)
		if err != nil {
			return err
		}
		writes := 0
		for _, r := range requests {
			if r.Writes() && r.Resource != "leases" {
				writes++
			}
		}
		if writes != seen {
			seen, since = writes, time.Now()
		}
		if time.Since(since) > still {
			return nil
		}
		if err := pause(ctx, look); err != nil {
			return fmt.Errorf("the controller does not stop writing: %w", err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
