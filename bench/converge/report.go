// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// The targets that the table compares with.
const (
	cpuWanted     = 5.0  // ms a service, from creation to Ready
	latencyWanted = 50.0 // ms, p99 of one change
	memoryWanted  = 120e6
)

// report is everything that was measured.
type report struct {
	Shape    string `json:"shape"`
	About    string `json:"about"`
	Services int    `json:"services"`
	// Created are the objects that there were when every service had its first status, Objects those when all were Ready.
	Created int `json:"created"`
	Objects int `json:"objects"`
	// Components are the workloads of all services: each becomes ready at its own time, and each time may be told.
	Components int     `json:"components"`
	Phases     []phase `json:"phases"`
	// Change is about changes of single services; nil when that phase was not run.
	Change *latencies `json:"change,omitempty"`
}

func (r *report) print(w io.Writer) error {
	per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(r.Services)) }
	fmt.Fprintf(w, "%d InferenceServices in Standard mode (%s: %s); they need %s objects each\n\n", r.Services, r.Shape, r.About, per(r.Objects))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "phase, per service\ttime of all, s\tCPU ms\tof the webhook\tpasses\twrites\treads\tfailed\tRSS, MB")
	for _, p := range r.Phases {
		ms := func(seconds float64) string { return fmt.Sprintf("%.1f", 1000*seconds/float64(r.Services)) }
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t%s\t%s\t%s\t%d\t%.0f\n", p.Name, p.Seconds, ms(p.ControllerCPU), ms(p.WebhookCPU), per(p.Passes), per(sum(p.Writes)), per(sum(p.Reads)), sum(p.Failed), float64(p.ControllerRSS)/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, p := range r.Phases {
		for _, list := range []map[string]int{p.Writes, p.Reads, p.Failed} {
			for _, k := range slices.Sorted(maps.Keys(list)) {
				if list[k]*20 >= r.Services { // a handful of lists and watches at a start say nothing
					fmt.Fprintf(w, "  %s: %s %s\n", p.Name, per(list[k]), k)
				}
			}
		}
		if p.Events > 0 {
			fmt.Fprintf(w, "  %s: %s events\n", p.Name, per(p.Events))
		}
	}
	fmt.Fprintln(w)
	r.targets(w)
	return nil
}

// targets says which are met. Benchmarks do not fail.
func (r *report) targets(w io.Writer) {
	var writes, statuses int
	var cpu float64
	memory := int64(0)
	for _, p := range r.Phases {
		memory = max(memory, p.ControllerRSS)
		switch p.Name {
		case phaseCreate, phaseReady:
			status := p.Writes["patch inferenceservices/status"]
			writes, statuses, cpu = writes+sum(p.Writes)-status, statuses+status, cpu+p.ControllerCPU
		case phaseResync, phaseRestart, phaseTouch:
			verdict(w, sum(p.Writes) == 0, "%s: %d writes (target 0)", p.Name, sum(p.Writes))
		}
	}
	n := float64(r.Services)
	verdict(w, 1000*cpu/n <= cpuWanted, "processor time from creation to Ready: %.1f ms a service (target %.0f)", 1000*cpu/n, cpuWanted)
	verdict(w, writes <= r.Objects, "writes of objects from creation to Ready: %d for %d objects", writes, r.Objects)
	// One status tells of the creation, and one each time that a component becomes ready.
	verdict(w, statuses <= r.Services+r.Components, "writes of statuses from creation to Ready: %d for %d services with %d workloads", statuses, r.Services, r.Components)
	verdict(w, memory < memoryWanted, "memory of the controller: %.0f MB (target under %.0f)", float64(memory)/1e6, float64(memoryWanted)/1e6)
	if c := r.Change; c != nil {
		verdict(w, c.P99 < latencyWanted, "one change of %d beside %d services: p50 %.1f ms, p90 %.1f ms, p99 %.1f ms, longest %.1f ms (target: p99 under %.0f)", c.Changes, r.Services, c.P50, c.P90, c.P99, c.Max, latencyWanted)
	}
}

func verdict(w io.Writer, met bool, format string, args ...any) {
	word := "missed: "
	if met {
		word = "met: "
	}
	fmt.Fprintf(w, word+format+"\n", args...)
}
