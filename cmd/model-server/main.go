// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command model-server: see pkg/data/serve.
package main

import (
	"os"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
)

const about = `Serves models over the V1 and V2 REST protocols and V2 gRPC.

Usage: model-server --model_dir=DIRECTORY [flags]

DIRECTORY holds one model file, served as --model_name, or one directory for each model, served under the directories' names.
`

func main() {
	os.Exit(serve.Command{Name: "model-server", About: about, Engines: engines()}.Main(os.Args[1:]))
}
