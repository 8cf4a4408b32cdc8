// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/local/command"
)

func main() { os.Exit(run()) } //nolint:forbidigo // this is main

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := command.Run(ctx, os.Args[1:], command.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}); err != nil {
		fmt.Fprintf(os.Stderr, "kserve-cluster: %v\n", err)
		return 1
	}
	return 0
}
