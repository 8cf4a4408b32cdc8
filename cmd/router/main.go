// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command router: see pkg/data/route.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/route"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

const about = `Executes an InferenceGraph: every request runs through its nodes. GET /readyz is the readiness probe, GET /metrics Prometheus metrics.

Environment: PROPAGATE_HEADERS is a comma-separated list of regular expressions: inbound headers that reach the steps.
`

func main() {
	options := route.NewOptions()
	options.Propagate = os.Getenv(handoff.EnvPropagateHeaders)
	line := command.Line{Name: "router", About: about, Bind: options.BindFlags, Stdout: os.Stdout, Stderr: os.Stderr}
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
	if err := route.Run(ctx, options, log); err != nil {
		log.Error(err.Error())
		os.Exit(command.ExitFailed)
	}
}
