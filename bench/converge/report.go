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
	statusWritesWanted = 2
	memoryWanted       = 100e6
)

// report is everything that was measured.
type report struct {
	Services int `json:"services"`
	// Objects are what the services need from creation to Ready.
	Objects int `json:"objects"`
	// Components are those of all services: each becomes ready at its own time, and each time may be told.
	Components int     `json:"components"`
	Phases     []phase `json:"phases"`
}

func (r *report) print(w io.Writer) error {
	per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(r.Services)) }
	fmt.Fprintf(w, "%d InferenceServices in Standard mode, every fifth with a transformer; they need %s objects each\n\n", r.Services, per(r.Objects))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "phase\ttime, s\tCPU ms per service\tof the webhook\twrites per service\treads per service\tfailed\tRSS, MB")
	for _, p := range r.Phases {
		ms := func(seconds float64) string { return fmt.Sprintf("%.1f", 1000*seconds/float64(r.Services)) }
		fmt.Fprintf(t, "%s\t%.1f\t%s\t%s\t%s\t%s\t%d\t%.0f\n", p.Name, p.Seconds, ms(p.ControllerCPU), ms(p.WebhookCPU), per(sum(p.Writes)), per(sum(p.Reads)), sum(p.Failed), float64(p.ControllerRSS)/1e6)
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
	writes, memory := 0, int64(0)
	for i, p := range r.Phases {
		if i < 2 {
			writes += sum(p.Writes)
		}
		memory = max(memory, p.ControllerRSS)
		if p.Name != "" && (i == 2 || i == 3) {
			verdict(w, sum(p.Writes) == 0, "%s: %d writes (target 0)", p.Name, sum(p.Writes))
		}
	}
	// Two statuses a service, and one more for each component beyond the first.
	statuses := statusWritesWanted*r.Services + r.Components - r.Services
	wanted := r.Objects + statuses
	verdict(w, writes <= wanted, "writes from creation to Ready: %d (target: %d objects and %d statuses)", writes, r.Objects, statuses)
	verdict(w, memory < memoryWanted, "memory of the controller: %.0f MB (target under %.0f)", float64(memory)/1e6, float64(memoryWanted)/1e6)
}

func verdict(w io.Writer, met bool, format string, args ...any) {
	word := "missed: "
	if met {
		word = "met: "
	}
	fmt.Fprintf(w, word+format+"\n", args...)
}
