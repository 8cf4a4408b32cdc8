// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command router: see pkg/data/route.
package main

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/route"
)

const about = `Executes an InferenceGraph: every request runs through its nodes. GET /readyz is the readiness probe, GET /metrics Prometheus metrics.

Environment: PROPAGATE_HEADERS is a comma-separated list of regular expressions: inbound headers that reach the steps.
`

func main() {
	options := route.NewOptions()
	options.Propagate = os.Getenv(handoff.EnvPropagateHeaders)
	os.Exit(command.Line{
		Name: "router", About: about, Bind: options.BindFlags, Log: &options.Log, Stdout: os.Stdout, Stderr: os.Stderr,
		Run: func(ctx context.Context, log *zap.Logger) error { return route.Run(ctx, options, log) },
	}.Main(os.Args[1:]))
}
