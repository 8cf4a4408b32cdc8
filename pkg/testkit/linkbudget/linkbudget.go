// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package linkbudget tests what a binary links: a heavy or foreign package that slips in is found here, with the reason why not.
//
// Called by: the tests of every binary.
// Next: nothing.
package linkbudget

import (
	"os/exec"
	"strings"
	"testing"
)

// Budget maps a denied import path prefix to the reason it is denied.
type Budget map[string]string

// Check fails the test for each denied package that the package under test links.
func Check(t *testing.T, denied Budget) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	linked := strings.Fields(string(out))
	if len(linked) < 10 {
		t.Fatalf("go list -deps named only %d packages", len(linked))
	}
	for _, path := range linked {
		for prefix, reason := range denied {
			if path == prefix || strings.HasPrefix(path, prefix+"/") || (strings.HasSuffix(prefix, ".") && strings.HasPrefix(path, prefix)) {
				t.Errorf("links %s: %s", path, reason)
			}
		}
	}
}
