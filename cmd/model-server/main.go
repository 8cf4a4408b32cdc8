// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command model-server: see pkg/data/serve.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

func main() {
	o, done, code := parse(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	if done {
		os.Exit(code)
	}
	log, err := telemetry.NewLogger(o.log, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	o.warn(log)
	switch err := serve.New(o.options(log, engines())).Run(ctx); {
	case errors.Is(err, httpserver.ErrCut):
		log.Error(err.Error())
		os.Exit(exitCut)
	case err != nil:
		log.Error("the model server ends", zap.Error(err))
		os.Exit(exitFailed)
	}
}
