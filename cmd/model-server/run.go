// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/command"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// run serves until a signal and returns the exit code.
func run(args []string) int {
	o, done, code := parse(args, os.Getenv, os.Stdout, os.Stderr)
	if done {
		return code
	}
	log, err := telemetry.NewLogger(o.log, os.Stderr)
	if err != nil {
		return o.wrong(os.Stderr, err)
	}
	options := o.options(log, engines())
	if o.trace {
		trace, flush, err := telemetry.NewBufferedLogger(o.log, os.Stderr)
		if err != nil {
			return o.wrong(os.Stderr, err)
		}
		defer flush()
		options.Trace = trace
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	o.warn(log)
	switch err := serve.New(options).Run(ctx); {
	case errors.Is(err, httpserver.ErrCut):
		log.Error(err.Error())
		return exitCut
	case err != nil:
		log.Error("the model server ends", zap.Error(err))
		command.LastWords(err)
		return exitFailed
	}
	return 0
}
