// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command demo serves the iris InferenceService from its YAML and asks it over V1 REST, V2 REST and V2 gRPC.
// Each answer is compared with what scikit-learn predicts; a difference is a failure. Nothing it starts outlives it.
//
// Called by: make demo.
// Next: cmd/kserve.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kserve-go/kserve-go/test/process"
)

func main() {
	process.FollowParent()
	var o options
	flag.StringVar(&o.binary, "kserve", "", "kserve binary; without it, it is built")
	flag.StringVar(&o.file, "f", "deploy/samples/sklearn-iris.yaml", "InferenceService to serve, below the repository or absolute")
	flag.StringVar(&o.golden, "golden", "deploy/samples/golden/sklearn-iris.json", "request and the answer to expect")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(o options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.root, err = process.Root(); err != nil {
		return err
	}
	return demo(ctx, o, os.Stdout)
}

type options struct{ root, binary, file, golden string }

func (o options) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.root, name)
}
