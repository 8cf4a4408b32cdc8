// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd runs a folder of recorded model files through the engines: go run ./test/models/cmd -dir test/data/models.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/kserve-go/kserve-go/test/models"
)

func main() {
	dir := flag.String("dir", "test/data/models", "folder that holds a folder for each case")
	match := flag.String("match", "", "only cases whose path contains this")
	flag.Parse()
	summary, err := models.Run(context.Background(), models.Options{Dir: *dir, Match: *match, Engines: models.Engines(), Out: os.Stdout})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if summary.Failed > 0 {
		os.Exit(1)
	}
}
