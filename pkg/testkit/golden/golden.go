// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golden runs tests over folders of input and expected output. With -update it writes what the code does now; without, every file must be read and equal.
//
// Called by: tests of pkg/control and pkg/cli.
// Next: the testdata folders beside those tests.
package golden

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files from what the code does now") //nolint:gochecknoglobals // a test flag has to be known before tests run

// Case is one folder of testdata.
type Case struct {
	t    *testing.T
	dir  string
	seen map[string]bool
}

// Run calls test once for each folder under root. A folder with a file that the test did not ask for fails.
func Run(t *testing.T, root string, test func(t *testing.T, c *Case)) {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatalf("read cases: %v", err)
	}
	ran := 0
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		ran++
		t.Run(e.Name(), func(t *testing.T) {
			c := &Case{t: t, dir: filepath.Join(root, e.Name()), seen: map[string]bool{}}
			test(t, c)
			c.finish()
		})
	}
	if ran == 0 {
		t.Fatalf("%s has no cases", root)
	}
}

// Input reads a file that the case must have.
func (c *Case) Input(name string) []byte {
	c.t.Helper()
	c.seen[name] = true
	raw, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatalf("read input: %v", err)
	}
	return raw
}

// Want compares got with the file of the case, or writes it under -update.
func (c *Case) Want(name string, got []byte) {
	c.t.Helper()
	c.seen[name] = true
	File(c.t, filepath.Join(c.dir, name), got)
}

// File compares got with a file, or writes it under -update.
func File(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("golden file is missing, run with -update and read the diff: %v", err)
		return
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (-want +got):\n%s", path, cmp.Diff(string(want), string(got)))
	}
}

// finish finds files that nothing asked for; under -update it removes them, inputs excepted.
func (c *Case) finish() {
	c.t.Helper()
	var extra []string
	err := filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(c.dir, path)
		if err == nil && !c.seen[filepath.ToSlash(name)] {
			extra = append(extra, path)
		}
		return err
	})
	if err != nil {
		c.t.Fatalf("list golden files: %v", err)
	}
	slices.Sort(extra)
	for _, path := range extra {
		if *update && !strings.HasPrefix(filepath.Base(path), "in.") {
			if err := os.Remove(path); err != nil {
				c.t.Errorf("remove stale golden file: %v", err)
			}
			continue
		}
		c.t.Errorf("%s is read by no test: remove it, or run with -update", path)
	}
}
