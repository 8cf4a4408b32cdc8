// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/version"
)

func TestStringNamesVersionAndPlatform(t *testing.T) {
	require.Contains(t, version.String(), version.Version+" ")
	require.Contains(t, version.String(), "go1.")
}

// The link flag's path is a string that no compiler checks: build a program with it and read the version back.
func TestLinkFlagsStampTheVersion(t *testing.T) {
	const pkg = "github.com/kserve-go/kserve-go/pkg/version"
	bin := filepath.Join(t.TempDir(), "stamped")
	build := exec.CommandContext(t.Context(), "go", "build",
		"-ldflags", "-X "+pkg+".Version=v9.8.7 -X "+pkg+".Commit=c0ffee", "-o", bin, "./testdata/print")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.CommandContext(t.Context(), bin).Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "v9.8.7 (c0ffee) ")
}
