// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/testkit/cluster"
)

const (
	// some is how many services are changed one after the other, and between the pause that each has for itself.
	some    = 200
	between = 100 * time.Millisecond
)

// latencies are of single changes beside all the other services: from the moment the API server had stored the change to the moment it had
// stored the controller's last write for it, by the server's own clock.
type latencies struct {
	Changes int     `json:"changes"`
	P50     float64 `json:"p50Milliseconds"`
	P90     float64 `json:"p90Milliseconds"`
	P99     float64 `json:"p99Milliseconds"`
	Max     float64 `json:"maxMilliseconds"`
}

// changeSome changes services one after the other and measures how soon the controller is done with each.
func (b *bench) changeSome(ctx context.Context) error {
	before, err := b.cluster.Requests()
	if err != nil {
		return err
	}
	n := min(some, b.options.n)
	for k := range n {
		if err := b.changeOne(ctx, k*b.options.n/n, "one"); err != nil {
			return err
		}
		if err := pause(ctx, between); err != nil {
			return err
		}
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	all, err := b.cluster.Requests()
	if err != nil {
		return err
	}
	b.latencies, err = latenciesOf(all[len(before):])
	return err
}

func latenciesOf(requests []cluster.Request) (*latencies, error) {
	changed, done := map[string]time.Time{}, map[string]time.Time{}
	for _, r := range requests {
		if !r.Writes() || r.Name == "" {
			continue
		}
		service, _, _ := strings.Cut(r.Name, "-")
		switch {
		case r.User == cluster.ControllerAccount:
			if _, is := changed[service]; is && r.Time.After(done[service]) {
				done[service] = r.Time
			}
		case r.Resource == "inferenceservices" && r.User != cluster.WebhookAccount:
			changed[service] = r.Time
		}
	}
	var all []time.Duration
	for service, at := range changed {
		last, ok := done[service]
		if !ok {
			return nil, fmt.Errorf("the controller wrote nothing for %s after its change", service)
		}
		all = append(all, last.Sub(at))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no change was recorded among %d requests", len(requests))
	}
	slices.Sort(all)
	at := func(share float64) float64 {
		return float64(all[min(len(all)-1, int(share*float64(len(all))))].Microseconds()) / 1000
	}
	return &latencies{Changes: len(all), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}, nil
}
