// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook: see pkg/control/admit.
package main

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/control/admit"
)

const about = `Defaults, validates and mutates InferenceServices and their pods. This version admits nothing yet: it serves health and metrics and looks for its API server.
`

func main() {
	options := admit.NewOptions()
	os.Exit(command.Line{
		Name: "webhook", About: about, Bind: options.BindFlags, Log: &options.Log, Stdout: os.Stdout, Stderr: os.Stderr,
		Run: func(ctx context.Context, log *zap.Logger) error { return admit.Run(ctx, options, log) },
	}.Main(os.Args[1:]))
}
