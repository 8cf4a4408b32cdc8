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

const about = `Defaults and validates the objects of serving.kserve.io and gives their pods models and agents, as an admission webhook. It makes,
rotates and announces its own certificate; replicas need no leader.
`

func main() {
	options := admit.NewOptions()
	os.Exit(command.Line{
		Name: "webhook", About: about, Bind: options.BindFlags, Log: &options.Log, Stdout: os.Stdout, Stderr: os.Stderr,
		Run: func(ctx context.Context, log *zap.Logger) error { return admit.Run(ctx, options, log) },
	}.Main(os.Args[1:]))
}
