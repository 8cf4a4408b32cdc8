// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kserve serves InferenceServices from their YAML on this machine, tells what a cluster would make of them,
// and sends requests to models.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/cli"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup a closed terminal ends nothing
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, os.Args[1:], output.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(code)
}
