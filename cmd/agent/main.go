// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent: see pkg/data/sidecar.
package main

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/sidecar"
)

const about = `Forwards requests to the model server beside it, answers the kubelet's probes for it, and drains.

Environment: SERVING_READINESS_PROBE is the server's readiness probe as JSON; with ENABLE_MULTI_CONTAINER_PROBES=true an array of them.
`

func main() {
	options := sidecar.NewOptions()
	options.ReadinessProbe, options.MultiProbes = os.Getenv(handoff.EnvReadinessProbe), os.Getenv(handoff.EnvMultiContainerProbes) == "true"
	os.Exit(command.Line{
		Name: "agent", About: about, Bind: options.BindFlags, Log: &options.Log, Stdout: os.Stdout, Stderr: os.Stderr,
		Run: func(ctx context.Context, log *zap.Logger) error { return sidecar.Run(ctx, options, log) },
	}.Main(os.Args[1:]))
}
