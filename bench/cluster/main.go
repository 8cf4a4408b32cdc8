// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures what a cluster of this machine costs a person: how long it takes from `kserve local up` on a fresh state
// folder to the first prediction of the iris sample, and what memory is held then and after a rest. It uses bin/kserve and bin/images, as `make images`
// leaves them, and the built cluster binary.
//
//	go run ./bench/cluster [-passes 3] [-rest 30s] [-json FILE] [FLAG OF kserve local up...]
//
// Called by: make bench-cluster.
// Next: cmd/kserve.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/kserve-go/kserve-go/test/process"
)

// The targets that the table compares with.
const (
	secondsWanted = 15
	memoryWanted  = 450e6
)

const (
	sample   = "deploy/samples/sklearn-iris.yaml"
	service  = "sklearn-iris"
	question = `{"instances": [[6.8, 2.8, 4.8, 1.4]]}`
	limit    = 5 * time.Minute
	// clusterProgram is the cluster itself, without what runs on it.
	clusterProgram = "kserve-cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.IntVar(&o.passes, "passes", 3, "clusters to start, one after the other; the first warms the machine up and is not counted when there are more")
	flag.StringVar(&o.kserve, "kserve", "bin/kserve", "the kserve program")
	flag.StringVar(&o.json, "json", "", "file that gets the measurements too")
	flag.DurationVar(&o.rest, "rest", 30*time.Second, "how long the cluster then has nothing to do before its memory is looked at again")
	flag.Parse()
	o.up = flag.Args()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	passes       int
	kserve, json string
	rest         time.Duration
	// up are flags of `kserve local up`.
	up []string
}

// pass is what one cluster cost, in seconds since `kserve local up` and bytes.
type pass struct {
	Up       float64           `json:"upSeconds"`
	Applied  float64           `json:"appliedSeconds"`
	Ready    float64           `json:"readySeconds"`
	First    float64           `json:"firstPredictionSeconds"`
	Down     float64           `json:"downSeconds"`
	Programs map[string]memory `json:"memory"`
	Rested   map[string]memory `json:"memoryAfterRest"`
}

type memory struct {
	Processes int   `json:"processes"`
	RSS       int64 `json:"rss"`
	PSS       int64 `json:"pss"`
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.passes < 1 {
		return errors.New("-passes must be above 0")
	}
	var all []pass
	for i := range o.passes {
		p, err := measure(ctx, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "pass %d: up %.1f s, applied %.1f s, Ready %.1f s, first prediction %.1f s, down took %.1f s\n", i+1, p.Up, p.Applied, p.Ready, p.First, p.Down)
		all = append(all, p)
	}
	counted := all
	if len(all) > 1 {
		counted = all[1:]
	}
	table(out, counted)
	if o.json == "" {
		return nil
	}
	raw, err := json.MarshalIndent(map[string]any{"passes": all, "targets": targets(counted)}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(raw, '\n'), 0o644)
}

// cluster is a running one, by the flags that name it.
type cluster struct {
	kserve, state string
}

func (c cluster) call(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.kserve, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kserve %s: %w\n%s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

func (c cluster) local(ctx context.Context, command string, args ...string) (string, error) {
	return c.call(ctx, append([]string{"local", command, "--name=bench", "--state=" + c.state}, args...)...)
}

func measure(ctx context.Context, o options) (p pass, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	state, err := os.MkdirTemp("", "kb") // short: sockets lie in it
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(state) }()
	c := cluster{o.kserve, state}
	defer func() {
		start := time.Now()
		_, downErr := c.local(context.WithoutCancel(ctx), "down")
		p.Down = time.Since(start).Seconds()
		err = errors.Join(err, downErr)
	}()
	start := time.Now()
	since := func() float64 { return time.Since(start).Seconds() }
	if _, err := c.local(ctx, "up", o.up...); err != nil {
		return p, err
	}
	p.Up = since()
	if _, err := c.local(ctx, "kubectl", "apply", "-f", sample); err != nil {
		return p, err
	}
	p.Applied = since()
	if _, err := c.local(ctx, "kubectl", "wait", "--for=condition=Ready", "isvc/"+service, "--timeout=2m"); err != nil {
		return p, err
	}
	p.Ready = since()
	text, err := c.local(ctx, "status", "-o", "json")
	if err != nil {
		return p, err
	}
	var record struct {
		PID     int
		Gateway string
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return p, fmt.Errorf("read status: %w", err)
	}
	host, err := c.local(ctx, "kubectl", "get", "isvc", service, "-o", "jsonpath={.status.url}")
	if err != nil {
		return p, err
	}
	if _, err := c.call(ctx, "predict", service, "--url", record.Gateway, "--host", strings.TrimPrefix(host, "http://"), "-d", question); err != nil {
		return p, err
	}
	p.First = since()
	if p.Programs, err = weigh(record.PID); err != nil {
		return p, err
	}
	select {
	case <-ctx.Done():
		return p, ctx.Err()
	case <-time.After(o.rest):
	}
	p.Rested, err = weigh(record.PID)
	return p, err
}

// weigh adds the processes of the cluster up, by program.
func weigh(top int) (map[string]memory, error) {
	all, err := process.Tree(top)
	if err != nil {
		return nil, err
	}
	sums := map[string]memory{}
	for _, b := range all {
		rss, pss, err := b.Memory()
		if err != nil {
			continue // it has ended
		}
		name := b.Name
		if b.PID == top || strings.HasPrefix(name, clusterProgram) || name == "exe" {
			name = clusterProgram // of its own processes some are called by the link to themselves
		}
		m := sums[name]
		sums[name] = memory{m.Processes + 1, m.RSS + rss, m.PSS + pss}
	}
	return sums, nil
}

// targets says which are met, of the passes that count. Measurements do not fail.
func targets(all []pass) []row {
	first := median(all, func(p pass) float64 { return p.First })
	var most memory
	for _, p := range all {
		if m := p.Programs[clusterProgram]; m.PSS > most.PSS {
			most = m
		}
	}
	// Its processes run one program: added up, each of them would count the same pages once more.
	held := fmt.Sprintf("%.0f MB (RSS added up: %.0f)", float64(most.PSS)/1e6, float64(most.RSS)/1e6)
	return []row{
		{"from kserve local up to the first prediction", fmt.Sprintf("under %d s", secondsWanted), fmt.Sprintf("%.1f s", first), first < secondsWanted},
		{"memory of the cluster's own processes, shared pages once", fmt.Sprintf("under %.0f MB", memoryWanted/1e6), held, float64(most.PSS) < memoryWanted},
	}
}

// row is one target and what was measured of it.
type row struct {
	Name     string `json:"name"`
	Target   string `json:"target"`
	Measured string `json:"measured"`
	Met      bool   `json:"met"`
}

func median(all []pass, of func(pass) float64) float64 {
	values := make([]float64, len(all))
	for i, p := range all {
		values[i] = of(p)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func table(out io.Writer, all []pass) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nseconds\tmedian of %d\t\n", len(all))
	for _, step := range []struct {
		name string
		of   func(pass) float64
	}{
		{"up", func(p pass) float64 { return p.Up }},
		{"service Ready", func(p pass) float64 { return p.Ready }},
		{"first prediction", func(p pass) float64 { return p.First }},
		{"down", func(p pass) float64 { return p.Down }},
	} {
		fmt.Fprintf(w, "%s\t%.1f\t\n", step.name, median(all, step.of))
	}
	_ = w.Flush()

	last := all[len(all)-1]
	names := slices.SortedFunc(maps.Keys(last.Programs), func(a, b string) int { return int(last.Programs[b].PSS - last.Programs[a].PSS) })
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\nmemory, MB\tprocesses\tRSS\tPSS\trested PSS\t\n")
	line := func(name string, m, rested memory) {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t\n", name, m.Processes, float64(m.RSS)/1e6, float64(m.PSS)/1e6, float64(rested.PSS)/1e6)
	}
	for _, name := range names {
		line(name, last.Programs[name], last.Rested[name])
	}
	line("all", sum(last.Programs), sum(last.Rested))
	_ = w.Flush()

	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nwhat\ttarget\tmeasured\tverdict\n")
	for _, r := range targets(all) {
		verdict := "not met"
		if r.Met {
			verdict = "met"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, r.Target, r.Measured, verdict)
	}
	_ = w.Flush()
}

func sum(all map[string]memory) (s memory) {
	for _, m := range all {
		s = memory{s.Processes + m.Processes, s.RSS + m.RSS, s.PSS + m.PSS}
	}
	return s
}
