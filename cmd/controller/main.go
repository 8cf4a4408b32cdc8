// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller: see pkg/control/manager.
package main

import (
	"context"
	"os"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/control/manager"
)

const about = `Reconciles InferenceServices: decides what each becomes, keeps its objects so, and tells its state. It needs a Kubernetes API
server with the CustomResourceDefinitions of deploy/crd, and the ConfigMap inferenceservice-config.
`

func main() {
	options := manager.NewOptions()
	os.Exit(command.Line{
		Name: "controller", About: about, Bind: options.BindFlags, Log: &options.Log, Stdout: os.Stdout, Stderr: os.Stderr,
		Run: func(ctx context.Context, log *zap.Logger) error { return manager.Run(ctx, options, log) },
	}.Main(os.Args[1:]))
}
