// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command runner runs the tests, or the fuzz targets, of every module it is given and prints the counts of each:
// a plain `go test ./...` does not reach the other modules of a workspace, and a module without tests must not pass unseen.
// With -events it counts tests that something else runs, whose events it reads from standard input.
//
// Called by: make test, make fuzz, make fuzz-wire, make test-cluster.
// Next: the packages' own tests.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	race := flag.Bool("race", false, "use the race detector")
	fuzz := flag.Duration("fuzz", 0, "run each fuzz target in the directories for this long instead of the tests")
	atOnce := flag.Int("at-once", 1, "with -fuzz, run so many targets at once, with a share of the processors each")
	piped := flag.Bool("events", false, "read the events of a `go test -json` that runs elsewhere from standard input; progress lines (\"  1.2s …\") are shown at once")
	flag.Parse()
	if *piped {
		os.Exit(countEvents(os.Stdin, os.Stdout))
	}
	modules := flag.Args()
	if len(modules) == 0 {
		fmt.Fprintln(os.Stderr, "usage: runner [-race] MODULE_DIR..., runner -fuzz DURATION [-at-once N] DIR..., or runner -events")
		os.Exit(2)
	}
	var sum counts
	ok := true
	for _, dir := range modules {
		start := time.Now()
		var c counts
		var err error
		if *fuzz > 0 {
			c, err = fuzzDirectory(dir, *fuzz, max(*atOnce, 1))
		} else {
			c, err = testModule(dir, *race)
		}
		fmt.Printf("%-19s %5d passed, %d failed, %d skipped  (%s)\n", dir, c.passed, c.failed, c.skipped, time.Since(start).Round(time.Second))
		if err != nil {
			fmt.Fprintf(os.Stderr, "module %s: %v\n", dir, err)
			ok = false
		}
		if *fuzz == 0 && c.passed+c.failed == 0 {
			fmt.Fprintf(os.Stderr, "module %s: no test ran: a module without tests is a failure\n", dir)
			ok = false
		}
		sum.passed += c.passed
		sum.failed += c.failed
		sum.skipped += c.skipped
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if !ok || sum.failed > 0 {
		os.Exit(1)
	}
}

// countEvents returns the exit code. That no test failed is not enough: some must have run.
func countEvents(in io.Reader, out io.Writer) int {
	c := readEvents(in, out)
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	if c.failed > 0 || c.passed == 0 {
		return 1
	}
	return 0
}

type counts struct {
	passed, failed, skipped int
	// again are the tests that stood aside for the race detector, by package.
	again map[string][]string
}

// event is one line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output, ImportPath string
}

func testModule(dir string, race bool) (counts, error) {
	args := []string{"test", "-json", "-vet=off"} // vet runs in lint
	if race {
		args = append(args, "-race")
	}
	if strings.HasPrefix(filepath.ToSlash(filepath.Clean(dir)), "test/") {
		// The cache of results does not see that the binaries which such a module builds and starts have changed.
		args = append(args, "-count=1")
	}
	c, err := runTests(dir, append(args, "./..."))
	if err != nil || len(c.again) == 0 {
		return c, err
	}
	// What the race detector disturbs, such as counts of allocations, is tested without it.
	names := map[string]bool{}
	for _, tests := range c.again {
		for _, name := range tests {
			names[name] = true
		}
	}
	pattern := "^(" + strings.Join(slices.Sorted(maps.Keys(names)), "|") + ")$"
	again, err := runTests(dir, append([]string{"test", "-json", "-vet=off", "-run", pattern}, slices.Sorted(maps.Keys(c.again))...))
	c.passed += again.passed
	c.failed += again.failed
	for _, tests := range c.again {
		c.skipped -= len(tests)
	}
	c.skipped += again.skipped
	return c, err
}

func runTests(dir string, args []string) (counts, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return counts{}, err
	}
	if err := cmd.Start(); err != nil {
		return counts{}, err
	}
	c := readEvents(out, os.Stdout)
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && c.failed == 0 {
		return c, fmt.Errorf("go test: %w (a package did not build or ended early; see above)", err)
	}
	if err != nil && c.failed > 0 {
		return c, nil
	}
	return c, err
}

// readEvents counts results and prints what failed or was skipped, with its output, as it happens.
func readEvents(in io.Reader, out io.Writer) counts {
	var c counts
	held := map[string][]string{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text())
			continue
		}
		key := e.Package + "\x00" + e.Test
		switch e.Action {
		case "output":
			if progress.MatchString(e.Output) {
				fmt.Fprint(out, e.Output)
				continue
			}
			held[key] = append(held[key], e.Output)
		case "build-output":
			fmt.Fprint(out, e.Output)
		case "pass":
			if e.Test != "" {
				c.passed++
			} else if n := len(held[key]); n > 0 {
				fmt.Fprint(out, held[key][n-1])
			}
			delete(held, key)
		case "skip":
			if e.Test != "" {
				c.skipped++
				why := reason(held[key])
				if strings.Contains(why, "race detector") && !strings.Contains(e.Test, "/") {
					if c.again == nil {
						c.again = map[string][]string{}
					}
					c.again[e.Package] = append(c.again[e.Package], e.Test)
				}
				fmt.Fprintf(out, "skipped %s %s: %s", e.Package, e.Test, why)
			}
			delete(held, key)
		case "fail":
			if e.Test != "" {
				c.failed++
			}
			fmt.Fprint(out, strings.Join(held[key], ""))
			delete(held, key)
		}
	}
	return c
}

// progress is a line that a long test prints to say how far it is: it begins with seconds.
var progress = regexp.MustCompile(`^ *\d+\.\ds `)

// reason is the message of a skipped test: the one line that is not the runner's own.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "---") && !strings.HasPrefix(t, "===") {
			return t + "\n"
		}
	}
	return "no reason given\n"
}
