// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"io"
)

// shown is how many disagreements of a case are printed unless all are asked for.
const shown = 8

// Print writes what is wrong with each case in scope, then with the cases out of scope that ran all the same, then the counts. It
// returns how many cases in scope failed.
func Print(w io.Writer, results []Result, verbose bool) int {
	passed, failed := 0, 0
	var ran []Result
	for _, r := range results {
		switch {
		case r.OutOfScope != "":
			if r.Ran {
				ran = append(ran, r)
			}
		case len(r.Problems) > 0:
			failed++
			printCase(w, "FAIL "+r.Name, r.Problems, verbose)
		default:
			passed++
		}
	}
	printOutside(w, ran, verbose)
	if out, rules := perRule(results); out > 0 {
		fmt.Fprintf(w, "out of scope: %d (%s)\n", out, rules)
	} else {
		fmt.Fprintln(w, "out of scope: 0")
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", passed, failed)
	return failed
}

func printCase(w io.Writer, title string, problems []string, verbose bool) {
	fmt.Fprintln(w, title)
	for i, p := range problems {
		if i == shown && !verbose {
			fmt.Fprintf(w, "     … and %d more (-v prints all)\n", len(problems)-i)
			return
		}
		fmt.Fprintf(w, "     %s\n", p)
	}
}

func printOutside(w io.Writer, ran []Result, verbose bool) {
	if len(ran) == 0 {
		return
	}
	passed := 0
	for _, r := range ran {
		if len(r.Problems) == 0 {
			passed++
			continue
		}
		printCase(w, "out of scope, fails: "+r.Name+" ("+r.OutOfScope+")", r.Problems, verbose)
	}
	fmt.Fprintf(w, "of the cases out of scope %d pass, %d fail\n", passed, len(ran)-passed)
}
