// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzRuns = regexp.MustCompile(`execs: (\d+)`)
	// fuzzLate is the whole of what Go says when the time was up while an input still ran (go.dev/issue/75804): no input failed.
	fuzzLate = regexp.MustCompile(`(?m)^--- FAIL: Fuzz\w+ \(.*\)\n    context deadline exceeded\nFAIL$`)
)

type fuzzTarget struct{ pkg, name string }

// fuzzTargets are those of a directory and of those below it, but for other modules.
func fuzzTargets(dir string) (targets []fuzzTarget, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != dir {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range fuzzFunc.FindAllSubmatch(src, -1) {
			targets = append(targets, fuzzTarget{filepath.Dir(path), string(m[1])})
		}
		return nil
	})
	return targets, err
}

// fuzzDirectory builds each package of a directory, one after the other, and runs its fuzz targets, each alone, as Go asks, and some at once.
func fuzzDirectory(dir string, each time.Duration, atOnce int) (counts, error) {
	targets, err := fuzzTargets(dir)
	if err != nil {
		return counts{}, err
	}
	if len(targets) == 0 && atOnce > 1 {
		return counts{}, errors.New("no fuzz target is there")
	}
	work, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		return counts{}, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return counts{}, fmt.Errorf("go env: %w", err)
	}
	share := max(1, runtime.GOMAXPROCS(0)/atOnce)
	var c counts
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, t := range targets {
		binary := filepath.Join(work, strings.ReplaceAll(t.pkg, string(filepath.Separator), "-"))
		if out, err := t.build(binary); err != nil {
			c.failed++
			fmt.Printf("fuzz %s %s: FAILED\n%s", t.pkg, t.name, out)
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			ok, report := t.run(binary, filepath.Join(strings.TrimSpace(string(cache)), "fuzz", t.pkg), each, share)
			mu.Lock()
			defer mu.Unlock()
			fmt.Print(report)
			if ok {
				c.passed++
			} else {
				c.failed++
			}
		})
	}
	all.Wait()
	return c, nil
}

// build makes the test binary of a package, unless it has been made for another target of it.
func (t fuzzTarget) build(binary string) ([]byte, error) {
	if _, err := os.Stat(binary); err == nil {
		return nil, nil
	}
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-fuzz", ".", "-o", binary, ".")
	cmd.Dir = t.pkg
	return cmd.CombinedOutput()
}

func (t fuzzTarget) run(binary, cache string, each time.Duration, share int) (ok bool, report string) {
	cmd := exec.Command(binary, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", each.String(),
		"-test.parallel", strconv.Itoa(share), "-test.fuzzcachedir", cache)
	cmd.Dir = t.pkg
	out, err := cmd.CombinedOutput()
	return fuzzed(t, out, err)
}

// fuzzed judges what one target printed.
func fuzzed(t fuzzTarget, out []byte, err error) (ok bool, report string) {
	if err != nil && (!fuzzLate.Match(out) || bytes.Contains(out, []byte("Failing input"))) {
		return false, fmt.Sprintf("fuzz %s %s: FAILED\n%s", t.pkg, t.name, out)
	}
	runs := "no"
	if all := fuzzRuns.FindAllSubmatch(out, -1); len(all) > 0 {
		runs = string(all[len(all)-1][1])
	}
	return true, fmt.Sprintf("fuzz %s %s: ok, %s inputs\n", t.pkg, t.name, runs)
}
