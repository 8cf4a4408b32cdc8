// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd compares what our control plane makes of recorded inputs with recorded outcomes. It prints what is wrong with each failing
// case and, last, the counts. By default it runs controller and webhook on an API server; -pure compares what the planner renders.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/kserve-go/kserve-go/test/parity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags := flag.NewFlagSet("parity", flag.ContinueOnError)
	o := parity.Options{Log: stderr}
	flags.StringVar(&o.Dir, "dir", "test/data/parity", "folder that holds cases/ and differences.yaml")
	flags.BoolVar(&o.All, "all", false, "run the cases out of scope too; they are reported apart and never counted")
	flags.IntVar(&o.Parallel, "parallel", 16, "how many cases run at the same time")
	flags.StringVar(&o.Out, "out", "", "existing folder that gets the outcome of each case as NAME.yaml")
	only := flags.String("only", "", "run the cases whose name this regular expression matches")
	pure := flags.Bool("pure", false, "no API server: compare what the planner renders")
	verbose := flags.Bool("v", false, "print every disagreement of a failing case")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	var err error
	if *only != "" {
		if o.Only, err = regexp.Compile(*only); err != nil {
			return 0, fmt.Errorf("read -only: %w", err)
		}
	}
	var results []parity.Result
	if *pure {
		results, err = parity.RunPure(o.Dir)
	} else {
		results, err = parity.RunLive(ctx, o)
	}
	if err != nil {
		return 0, err
	}
	return parity.Print(stdout, results, *verbose), nil
}
