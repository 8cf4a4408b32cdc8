// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/storage/initializer"
	"github.com/kserve-go/kserve-go/pkg/version"
)

func noEnv(string) string { return "" }

func TestCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		done bool
		code int
		says string
	}{
		"help":            {[]string{"--help"}, true, 0, "Exit codes:"},
		"version":         {[]string{"--version"}, true, 0, version.String()},
		"no argument":     {nil, true, 1, "Usage: "},
		"three arguments": {[]string{"a", "b", "c"}, true, 1, "Usage: "},
		"a wrong flag":    {[]string{"--nothing"}, true, 2, "unknown flag: --nothing"},
		"two pairs":       {[]string{"--parallel", "3", "a", "b", "c", "d"}, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			line := parse(tc.args, noEnv, &out, &errOut)
			require.Equal(t, tc.done, line.done)
			require.Equal(t, tc.code, line.code)
			if tc.code == 0 {
				require.Contains(t, out.String(), tc.says)
				require.Empty(t, errOut.String())
			} else {
				require.Contains(t, errOut.String(), tc.says)
				require.Empty(t, out.String())
			}
			if !line.done {
				require.Equal(t, []string{"a", "b", "c", "d"}, line.options.Pairs)
				require.Equal(t, 3, line.options.Parallel)
			}
		})
	}
}

// TestHelpTellsTheWholeTruth compares the help with the flags that exist and the variables that the code reads.
func TestHelpTellsTheWholeTruth(t *testing.T) {
	var out bytes.Buffer
	parse([]string{"--help"}, noEnv, &out, io.Discard)
	o := initializer.NewOptions(noEnv)
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.BindFlags(fs)
	fs.VisitAll(func(f *pflag.Flag) { require.Contains(t, out.String(), "--"+f.Name) })

	names, err := os.ReadFile("../../pkg/apis/handoff/initializer.go")
	require.NoError(t, err)
	more, err := os.ReadFile("../../pkg/apis/handoff/fetch.go")
	require.NoError(t, err)
	variables := map[string]string{}
	for _, m := range regexp.MustCompile(`(Env\w+)\s+= "([\w-]+)"`).FindAllStringSubmatch(string(names)+string(more), -1) {
		variables[m[1]] = m[2]
	}
	require.NotEmpty(t, variables)
	read := 0
	require.NoError(t, filepath.WalkDir("../../pkg/storage", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		code, err := os.ReadFile(name)
		for _, m := range regexp.MustCompile(`handoff\.(Env\w+)`).FindAllStringSubmatch(string(code), -1) {
			read++
			require.Contains(t, out.String(), variables[m[1]], "%s reads it", name)
		}
		return err
	}))
	require.Greater(t, read, 20)
}
