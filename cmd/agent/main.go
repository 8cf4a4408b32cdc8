// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent: see pkg/data/sidecar.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/sidecar"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/version"
)

func main() {
	options, fs := sidecar.NewOptions(), pflag.NewFlagSet("agent", pflag.ContinueOnError)
	options.BindFlags(fs)
	options.ReadinessProbe, options.MultiProbes = os.Getenv(handoff.EnvReadinessProbe), os.Getenv(handoff.EnvMultiContainerProbes) == "true"
	showVersion := fs.Bool("version", false, "print the version and exit")
	switch err := fs.Parse(os.Args[1:]); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintln(os.Stderr, "exit codes: 0 ended by SIGINT or SIGTERM, 1 failed, 2 wrong flags")
		return
	case err != nil:
		os.Exit(2) // pflag printed what is wrong
	case *showVersion:
		fmt.Println(version.String())
		return
	}
	log, err := telemetry.NewLogger(options.Log, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := sidecar.Run(ctx, options, log); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}
