// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command model-server: see pkg/data/serve.
package main

import "os"

func main() { os.Exit(run(os.Args[1:])) }
