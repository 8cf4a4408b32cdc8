// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command local-cluster is `make local-cluster`: it builds the cluster binary of this checkout unless the cache has it, and prints its path.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kserve-go/kserve-go/pkg/cli/cluster/binary"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path, err := build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "local-cluster:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

func build(ctx context.Context) (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root, ok := binary.Checkout(here)
	if !ok {
		return "", errors.New("this is no checkout of kserve-go: no folder at or above " + here + " has local/go.mod")
	}
	return binary.Build(ctx, root, "", os.Stderr)
}
