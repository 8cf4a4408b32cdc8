// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance plays the exchanges recorded from the reference servers against any server: each answer must equal the recorded
// one, or, where the recorded one was at fault, be what is written down as better.
//
// Called by: test/conformance/cmd, make conformance.
// Next: test/conformance/exchange, which reads and judges exchanges.
package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

// Options are what a caller may set.
type Options struct {
	// Dir holds the recorded exchanges, a folder per recorded server, and the models.
	Dir string
	// Folders are played, comma-separated; the exchanges of all others are not in scope.
	Folders string
	// URL and GRPC are a running server, http://host:port and host:port, with the models of the one folder that Folders names.
	URL, GRPC string
	// Server is a model server's program, started once per folder; empty builds this project's.
	Server string
	// Only keeps the exchanges whose folder/group/name holds this text.
	Only string
	// Control plays the sequences of repository control of the folders, too, on a server of their own.
	Control bool
	// Verbose prints the exchanges that pass, too.
	Verbose bool
}

// BindFlags declares the flags.
func (o *Options) BindFlags(f *flag.FlagSet) {
	f.StringVar(&o.Dir, "dir", "test/data/protocol", "directory with the recorded exchanges and models")
	f.StringVar(&o.Folders, "folders", "kserve-sklearn,kserve-xgboost,kserve-lightgbm", "folders to play")
	f.StringVar(&o.URL, "url", "", "a running server's HTTP address, with the models of the one folder to play")
	f.StringVar(&o.GRPC, "grpc", "", "the running server's gRPC host:port")
	f.StringVar(&o.Server, "server", "", "model server program to start for each folder; default: build ./cmd/model-server")
	f.StringVar(&o.Only, "only", "", "play only exchanges whose folder/group/name holds this text")
	f.BoolVar(&o.Control, "control", false, "play the sequences of repository control, too")
	f.BoolVar(&o.Verbose, "v", false, "print what passes, too")
}

// Summary counts the exchanges.
type Summary struct {
	Equal, Better, Failed int
	// OutOfScope counts by folder the exchanges that were not played.
	OutOfScope map[string]int

	out io.Writer
}

// Runner plays exchanges.
type Runner struct {
	options Options
}

// New makes a Runner; it does no I/O.
func New(options Options) *Runner { return &Runner{options: options} }

// Run plays all exchanges in scope, prints a line for each failure and the counts at the end.
func (r *Runner) Run(ctx context.Context, out io.Writer) (Summary, error) {
	sum := Summary{OutOfScope: map[string]int{}, out: out}
	folders, err := r.folders()
	if err != nil {
		return sum, err
	}
	wanted := strings.Split(r.options.Folders, ",")
	if r.options.URL != "" && len(wanted) != 1 {
		return sum, errors.New("a running server has the models of one folder: name it with -folders")
	}
	program, cleanup, err := r.program(ctx)
	if err != nil {
		return sum, err
	}
	defer cleanup()
	for _, folder := range folders {
		plan, others, err := r.plan(folder, slices.Contains(wanted, folder))
		if err != nil {
			return sum, err
		}
		if others > 0 {
			sum.OutOfScope[folder] = others
		}
		if len(plan) == 0 {
			continue
		}
		if err := r.playFolder(ctx, folder, program, plan, &sum); err != nil {
			return sum, fmt.Errorf("play %s: %w", folder, err)
		}
		sequences, err := r.sequences(folder)
		if err != nil {
			return sum, err
		}
		if len(sequences) == 0 {
			continue
		}
		if sum.OutOfScope[folder] -= len(sequences); sum.OutOfScope[folder] == 0 {
			delete(sum.OutOfScope, folder)
		}
		if err := r.playFolder(ctx, folder, program, sequences, &sum); err != nil {
			return sum, fmt.Errorf("play the sequences of %s: %w", folder, err)
		}
	}
	sum.print(folders)
	return sum, nil
}

func (s *Summary) print(folders []string) {
	total := 0
	var parts []string
	for _, folder := range folders {
		if n := s.OutOfScope[folder]; n > 0 {
			total += n
			parts = append(parts, fmt.Sprintf("%s %d", folder, n))
		}
	}
	fmt.Fprintf(s.out, "equal: %d · better: %d · not in scope: %d (%s)\n", s.Equal, s.Better, total, strings.Join(parts, ", "))
	fmt.Fprintf(s.out, "%d passed, %d failed\n", s.Equal+s.Better, s.Failed)
}

// folders are the folders that hold exchanges.
func (r *Runner) folders() ([]string, error) {
	entries, err := os.ReadDir(r.options.Dir)
	if err != nil {
		return nil, fmt.Errorf("list folders: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "models" {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

// plan lists the exchanges of a folder to play, in order, and counts the others.
func (r *Runner) plan(folder string, wanted bool) (plan []exchange.Exchange, others int, err error) {
	groups, err := exchange.Groups(r.options.Dir, folder)
	if err != nil {
		return nil, 0, err
	}
	var late []exchange.Exchange
	for _, group := range groups {
		all, err := exchange.Read(r.options.Dir, folder, group)
		if err != nil {
			return nil, 0, err
		}
		for i := range all {
			e := all[i]
			switch {
			case !wanted || !inScope(&e):
				others++
			case !strings.Contains(filepath.Join(folder, group, e.Name), r.options.Only):
			case e.Name == "metrics-before-traffic":
				plan = slices.Insert(plan, 0, e)
			case group == "metrics":
				late = append(late, e)
			default:
				plan = append(plan, e)
			}
		}
	}
	return append(plan, late...), others, nil
}

// sequences lists the exchanges of repository control of a folder, in order.
func (r *Runner) sequences(folder string) ([]exchange.Exchange, error) {
	if !r.options.Control {
		return nil, nil
	}
	var all []exchange.Exchange
	for _, group := range setups[folder].control {
		some, err := exchange.Read(r.options.Dir, folder, group)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// inScope leaves out repository control, whose sequences change the server, CloudEvents, and the pages that describe the API.
// Metrics of a repository tell of the models of such a sequence.
func inScope(e *exchange.Exchange) bool {
	switch e.Group {
	case "cloudevents", "v2-repository", "grpc-repository", "docs":
		return false
	case "metrics":
		return e.Folder == "kserve-sklearn"
	}
	if e.HTTP == nil {
		return e.Call != nil
	}
	return e.HTTP.Path != "/openapi.json" && e.Answer.Headers["content-type"] != "application/cloudevents+json"
}

func (r *Runner) playFolder(ctx context.Context, folder, program string, plan []exchange.Exchange, sum *Summary) error {
	target := target{url: r.options.URL, grpc: r.options.GRPC}
	if program != "" {
		server, err := start(ctx, program, r.options.Dir, folder)
		if err != nil {
			return err
		}
		defer server.stop()
		target = server.target
	}
	player, err := newPlayer(target)
	if err != nil {
		return err
	}
	defer player.close()
	for i := range plan {
		e := &plan[i]
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := fmt.Sprintf("%s/%s/%s", folder, e.Group, e.Name)
		switch err := player.play(ctx, e); {
		case err != nil:
			sum.Failed++
			fmt.Fprintf(sum.out, "FAIL %s: %v\n", name, err)
			continue
		case e.Fault != "":
			sum.Better++
		default:
			sum.Equal++
		}
		if r.options.Verbose {
			fmt.Fprintf(sum.out, "ok   %s\n", name)
		}
	}
	return nil
}
