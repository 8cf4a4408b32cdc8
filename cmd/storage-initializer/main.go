// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command storage-initializer fetches models into directories: see pkg/storage/initializer.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/storage/initializer"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

func main() {
	line := parse(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	if line.done {
		os.Exit(line.code)
	}
	log, err := telemetry.NewLogger(line.logs, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	run, err := initializer.New(line.options, log)
	if err != nil {
		log.Error(err.Error())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run.Run(ctx); err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
}
