// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// The conformance command plays the recorded exchanges against a model server and says where its answers differ.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/test/conformance"
)

func main() {
	var options conformance.Options
	options.BindFlags(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	summary, err := conformance.New(options).Run(ctx, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	case summary.Failed > 0:
		os.Exit(1)
	}
}
