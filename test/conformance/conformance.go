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

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

// Options are what a caller may set.
type Options struct {
	// Dir holds the recorded exchanges, a folder per recorded server, and the models.
	Dir string
	// Groups are played: folder or folder/group, comma-separated. Empty means all that the target can serve.
	Groups string
	// URL and GRPC are a running server, http://host:port and host:port, with the models of the one folder that Groups names. Without
	// GRPC no calls are made.
	URL, GRPC string
	// ModelRoot is the directory of models that the running server serves: sequences that add models to it need it.
	ModelRoot string
	// Server is a model server's program, started once per folder; empty builds this project's.
	Server string
	// Only keeps the exchanges whose folder/group/name holds this text.
	Only string
	// Verbose prints the exchanges that pass, too.
	Verbose bool
}

// BindFlags declares the flags.
func (o *Options) BindFlags(f *flag.FlagSet) {
	f.StringVar(&o.Dir, "dir", "test/data/protocol", "directory with the recorded exchanges and models")
	f.StringVar(&o.Groups, "groups", "", "what to play: folder or folder/group, comma-separated; default: all that the target can serve")
	f.StringVar(&o.URL, "url", "", "a running server's HTTP address, with the models of the one folder to play")
	f.StringVar(&o.GRPC, "grpc", "", "the running server's gRPC host:port; without it no calls are made")
	f.StringVar(&o.ModelRoot, "model-root", "", "the directory of models that the running server serves, for the sequences that add models to it")
	f.StringVar(&o.Server, "server", "", "model server program to start for each folder; default: build ./cmd/model-server")
	f.StringVar(&o.Only, "only", "", "play only exchanges whose folder/group/name holds this text")
	f.BoolVar(&o.Verbose, "v", false, "print what passes, too")
}

// Summary counts the exchanges.
type Summary struct {
	Equal, Better, Failed int
	// AsKServe are answers to requests recorded from another implementation that follow KServe's server where the two differ.
	AsKServe int
	// NotRun lists what was not played, with the cause.
	NotRun []NotRun

	out io.Writer
}

// Passed is how many exchanges were played and are right.
func (s *Summary) Passed() int { return s.Equal + s.Better + s.AsKServe }

// NotRun is a number of exchanges that were not played.
type NotRun struct {
	What  string // folder/group, or folder/group/name
	Count int
	Why   string
}

// Runner plays exchanges.
type Runner struct {
	options Options
}

// New makes a Runner; it does no I/O.
func New(options Options) *Runner { return &Runner{options: options} }

// Run plays all exchanges that the target can serve, and prints a line for each failure, the counts, and what was not run at the end.
func (r *Runner) Run(ctx context.Context, out io.Writer) (Summary, error) {
	sum := Summary{out: out}
	folders, err := r.folders()
	if err != nil {
		return sum, err
	}
	if r.options.URL != "" && len(r.wantedFolders(folders)) != 1 {
		return sum, errors.New("a running server has the models of one folder: name it, or groups of it, with -groups")
	}
	program, cleanup, err := r.program(ctx)
	if err != nil {
		return sum, err
	}
	defer cleanup()
	for _, folder := range folders {
		plan, err := r.plan(folder)
		if err != nil {
			return sum, err
		}
		sum.NotRun = append(sum.NotRun, plan.notRun...)
		for _, st := range plan.stages {
			if err := r.playStage(ctx, folder, program, st, &sum); err != nil {
				return sum, fmt.Errorf("play %s: %w", folder, err)
			}
		}
	}
	sum.print()
	return sum, nil
}

func (s *Summary) print() {
	notRun, outOfScope := 0, 0
	for _, n := range s.NotRun {
		if n.Why == notWanted {
			outOfScope += n.Count
			fmt.Fprintf(s.out, "not in scope: %s (%d): %s\n", n.What, n.Count, n.Why)
			continue
		}
		notRun += n.Count
		fmt.Fprintf(s.out, "not run: %s (%d): %s\n", n.What, n.Count, n.Why)
	}
	fmt.Fprintf(s.out, "equal: %d · better: %d · as KServe where the recorded server differs: %d · not run: %d · not in scope: %d\n",
		s.Equal, s.Better, s.AsKServe, notRun, outOfScope)
	fmt.Fprintf(s.out, "%d passed, %d failed\n", s.Passed(), s.Failed)
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

func (r *Runner) playStage(ctx context.Context, folder, program string, st stage, sum *Summary) error {
	if folder == startupFolder {
		return r.playStarts(ctx, program, st.exchanges, sum)
	}
	target := target{url: r.options.URL, grpc: r.options.GRPC}
	switch {
	case r.options.URL != "":
		if st.adds {
			if err := addModels(filepath.Join(r.options.Dir, "models"), r.options.ModelRoot); err != nil {
				return err
			}
		}
	case folder == customFolder:
		twin, err := startTwins(ctx)
		if err != nil {
			return err
		}
		defer twin.stop()
		target = twin.target
	default:
		server, err := start(ctx, program, r.options.Dir, folder, st.args)
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
	for i := range st.exchanges {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		verdict, err := player.play(ctx, &st.exchanges[i])
		r.count(&st.exchanges[i], verdict, err, sum)
	}
	return nil
}

// count counts one exchange and prints it if it failed.
func (r *Runner) count(e *exchange.Exchange, verdict exchange.Verdict, err error, sum *Summary) {
	name := fmt.Sprintf("%s/%s/%s", e.Folder, e.Group, e.Name)
	switch {
	case err != nil:
		sum.Failed++
		fmt.Fprintf(sum.out, "FAIL %s: %v\n", name, err)
		return
	case verdict == exchange.Improved:
		sum.Better++
	case verdict == exchange.AsKServe:
		sum.AsKServe++
	default:
		sum.Equal++
	}
	if r.options.Verbose {
		fmt.Fprintf(sum.out, "ok   %s\n", name)
	}
}
