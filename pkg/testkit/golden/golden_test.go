// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/testkit/golden"
)

// TestInner is run by the tests below in a process of its own, on a folder that they prepare.
func TestInner(t *testing.T) {
	root := os.Getenv("GOLDEN_TEST_ROOT")
	if root == "" {
		t.Skip("run by the other tests of this package")
	}
	golden.Run(t, root, func(_ *testing.T, c *golden.Case) {
		c.Want("out/upper.txt", []byte(strings.ToUpper(string(c.Input("in.txt")))))
	})
}

func inner(t *testing.T, files map[string]string, args ...string) (string, error) {
	t.Helper()
	root := t.TempDir()
	for name, body := range files {
		path := filepath.Join(root, "case", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(body), 0o600))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.run=^TestInner$"}, args...)...)
	cmd.Env = append(os.Environ(), "GOLDEN_TEST_ROOT="+root)
	out, err := cmd.CombinedOutput()
	written, readErr := os.ReadFile(filepath.Join(root, "case", "out", "upper.txt"))
	if readErr == nil {
		out = append(out, "\nupper.txt: "+string(written)...)
	}
	return string(out), err
}

func TestEveryFileCounts(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		args  []string
		fails string
		holds string
	}{
		"an equal file passes":                {files: map[string]string{"in.txt": "a", "out/upper.txt": "A"}},
		"a different file fails":              {files: map[string]string{"in.txt": "a", "out/upper.txt": "B"}, fails: "differs"},
		"a missing golden file fails":         {files: map[string]string{"in.txt": "a"}, fails: "golden file is missing"},
		"a missing input fails":               {files: map[string]string{"out/upper.txt": "A"}, fails: "read input"},
		"a file that nothing reads fails":     {files: map[string]string{"in.txt": "a", "out/upper.txt": "A", "out/old.txt": "x"}, fails: "is read by no test"},
		"update writes the file":              {files: map[string]string{"in.txt": "a", "out/upper.txt": "B"}, args: []string{"-update"}, holds: "upper.txt: A"},
		"update removes what nothing reads":   {files: map[string]string{"in.txt": "a", "out/old.txt": "x"}, args: []string{"-update"}, holds: "upper.txt: A"},
		"update does not remove other inputs": {files: map[string]string{"in.txt": "a", "in.other": "x"}, args: []string{"-update"}, fails: "is read by no test"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := inner(t, c.files, c.args...)
			if c.fails != "" {
				require.Error(t, err)
				require.Contains(t, out, c.fails)
				return
			}
			require.NoError(t, err, out)
			require.Contains(t, out, c.holds)
		})
	}
}
