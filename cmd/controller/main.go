// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller: see pkg/control/manager.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

const about = `Reconciles InferenceServices, runtimes and graphs. This version reconciles nothing yet: it serves health and metrics and looks for its API server.
`

func main() {
	options := manager.NewOptions()
	line := command.Line{Name: "controller", About: about, Bind: options.BindFlags, Stdout: os.Stdout, Stderr: os.Stderr}
	if done, code := line.Parse(os.Args[1:]); done {
		os.Exit(code)
	}
	log, err := telemetry.NewLogger(options.Log, os.Stderr)
	if err != nil {
		line.Fail(err)
		os.Exit(command.ExitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	if err := manager.Run(ctx, options, log); err != nil {
		log.Error(err.Error())
		os.Exit(command.ExitFailed)
	}
}
