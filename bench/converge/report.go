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

// report is everything that was measured.
type report struct {
	Shape    string `json:"shape"`
	About    string `json:"about"`
	Services int    `json:"services"`
	// Created are the objects that there were when every service had its first status, Objects those when all were Ready.
	Created int `json:"created"`
	Objects int `json:"objects"`
	// Components are the workloads of all services: each becomes ready at its own time, and each time may be told.
	Components int `json:"components"`
	// Routed are the services with routes that a gateway has to take.
	Routed int     `json:"routed"`
	Phases []phase `json:"phases"`
	// Change is about changes of single services; nil when that phase was not run.
	Change *latencies `json:"change,omitempty"`
	// Targets are what the table at the end says.
	Targets []row `json:"targets"`
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
	return printRows(w, "targets", r.Targets)
}
