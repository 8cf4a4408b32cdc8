// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent: see pkg/data/sidecar.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/sidecar"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

const about = `Forwards requests to the model server beside it, answers the kubelet's probes for it, and drains.

Environment: SERVING_READINESS_PROBE is the server's readiness probe as JSON; with ENABLE_MULTI_CONTAINER_PROBES=true an array of them.
`

func main() {
	options := sidecar.NewOptions()
	options.ReadinessProbe, options.MultiProbes = os.Getenv(handoff.EnvReadinessProbe), os.Getenv(handoff.EnvMultiContainerProbes) == "true"
	line := command.Line{Name: "agent", About: about, Bind: options.BindFlags, Stdout: os.Stdout, Stderr: os.Stderr}
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
	if err := sidecar.Run(ctx, options, log); err != nil {
		log.Error(err.Error())
		os.Exit(command.ExitFailed)
	}
}
