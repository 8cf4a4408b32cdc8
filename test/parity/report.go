// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"io"
)

// Print writes a line per case that fails or is out of scope, then the counts, and returns how many failed.
func Print(w io.Writer, results []Result, verbose bool) int {
	passed, failed, out := 0, 0, 0
	for _, r := range results {
		switch {
		case r.OutOfScope != "":
			out++
			fmt.Fprintf(w, "not in scope: %s (%s)\n", r.Name, r.OutOfScope)
		case len(r.Problems) > 0:
			failed++
			fmt.Fprintf(w, "FAIL %s: %s", r.Name, r.Problems[0])
			if more := len(r.Problems) - 1; more > 0 && !verbose {
				fmt.Fprintf(w, " (and %d more)", more)
			}
			fmt.Fprintln(w)
			if verbose {
				for _, p := range r.Problems[1:] {
					fmt.Fprintf(w, "     %s\n", p)
				}
			}
		default:
			passed++
		}
	}
	if out > 0 {
		fmt.Fprintf(w, "not in scope: %d\n", out)
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed
}
