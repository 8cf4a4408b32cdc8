// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// The targets that are compared with.
const (
	cpuWanted      = 5.0  // ms a service, from creation to its first status, nothing becoming ready
	latencyWanted  = 50.0 // ms, p99 of one change
	memoryWanted   = 120e6
	thinkingWanted = 200 * time.Microsecond // to decide and render one service
)

// row is one target and what was measured of it. A row without a target is told for comparison only.
type row struct {
	Name     string `json:"name"`
	Target   string `json:"target,omitempty"`
	Measured string `json:"measured"`
	Met      bool   `json:"met"`
}

func (r row) verdict() string {
	switch {
	case r.Target == "":
		return "-"
	case r.Met:
		return "met"
	default:
		return "not met"
	}
}

// targets says which are met. Benchmarks do not fail.
func (r *report) targets() []row {
	var rows []row
	var objects, statuses int
	var ready, created float64
	var memory int64
	n := float64(r.Services)
	for _, p := range r.Phases {
		memory = max(memory, p.ControllerRSS)
		switch p.Name {
		case phaseCreate, phaseReady:
			status := p.Writes["patch inferenceservices/status"]
			objects, statuses, ready = objects+sum(p.Writes)-status, statuses+status, ready+p.ControllerCPU
			if p.Name == phaseCreate {
				created = p.ControllerCPU
			}
		case phaseResync, phaseRestart, phaseTouch, phaseLabel:
			rows = append(rows, row{Name: "writes, " + p.Name, Target: "0", Measured: strconv.Itoa(sum(p.Writes)), Met: sum(p.Writes) == 0})
		}
	}
	// One status tells of the creation, one of each workload that becomes ready, one of the routes that a gateway takes.
	states := r.Services + r.Components + r.Routed
	rows = append([]row{
		{"controller's processor time, created, nothing ready", fmt.Sprintf("at most %.0f ms a service", cpuWanted), fmt.Sprintf("%.1f ms", 1000*created/n), 1000*created/n <= cpuWanted},
		{"controller's processor time, from creation to Ready", "", fmt.Sprintf("%.1f ms a service", 1000*ready/n), false},
		{"writes of objects, from creation to Ready", fmt.Sprintf("one an object: %d", r.Objects), strconv.Itoa(objects), objects <= r.Objects},
		{"writes of statuses, from creation to Ready", fmt.Sprintf("at most one a state: %d", states), strconv.Itoa(statuses), statuses <= states},
	}, rows...)
	if c := r.Change; c != nil {
		rows = append(rows, row{
			fmt.Sprintf("one change of %d, time to the last write", c.Changes), fmt.Sprintf("p99 under %.0f ms", latencyWanted),
			fmt.Sprintf("p50 %.1f, p90 %.1f, p99 %.1f, longest %.1f ms", c.P50, c.P90, c.P99, c.Max), c.P99 < latencyWanted,
		})
	}
	return append(rows, row{"controller's memory, the most of all phases", fmt.Sprintf("under %.0f MB", memoryWanted/1e6), fmt.Sprintf("%.0f MB", float64(memory)/1e6), float64(memory) < memoryWanted})
}

func printRows(w io.Writer, about string, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\ttarget\tmeasured\tverdict\n", about)
	for _, r := range rows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", r.Name, r.Target, r.Measured, r.verdict())
	}
	return t.Flush()
}

// summarize prints the targets of measurements that were kept, and of benchmarks whose text was.
func summarize(w io.Writer, files []string) error {
	if len(files) == 0 {
		return errors.New("-summary: name files with measurements or with the text of benchmarks")
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read measurements: %w", err)
		}
		about, rows := "benchmarks beside the code", thinking(string(raw))
		if strings.HasSuffix(file, ".json") {
			var r report
			if err := json.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("read measurements of %s: %w", file, err)
			}
			about, rows = fmt.Sprintf("%d services, %s", r.Services, r.Shape), r.targets()
		}
		if err := printRows(w, about, rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return nil
}

// planned is a line of the benchmark that decides and renders one service.
var planned = regexp.MustCompile(`^BenchmarkPlanAndRender/(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+([\d.]+) cpu-ns/op\s+(\d+) B/op\s+(\d+) allocs/op`)

// thinking are the targets of what is decided and rendered, from the text of `go test -bench`.
func thinking(text string) []row {
	var rows []row
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		m := planned.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		ns, err := strconv.ParseFloat(m[3], 64) // on a busy machine the time that passes says little
		if err != nil {
			continue
		}
		rows = append(rows, row{
			"resolve and render, " + m[1], fmt.Sprintf("under %d µs", thinkingWanted.Microseconds()),
			fmt.Sprintf("%.0f µs of a processor, %s allocations of %s bytes", ns/1000, m[5], m[4]), ns < float64(thinkingWanted.Nanoseconds()),
		})
	}
	return rows
}
