// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd compares what the planner renders with recorded outcomes and prints a line per failing case and, last, the counts.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/kserve-go/kserve-go/test/parity"
)

func main() {
	dir := flag.String("dir", "test/data/parity", "folder that holds cases/ and differences.yaml")
	verbose := flag.Bool("v", false, "print every disagreement of a failing case, not the first")
	flag.Parse()
	results, err := parity.Run(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failed := parity.Print(os.Stdout, results, *verbose); failed > 0 {
		os.Exit(1)
	}
}
