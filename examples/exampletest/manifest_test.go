// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exampletest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/cli/inspect"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Every example has a page, and an InferenceService that a cluster would take and that runs its image.
func TestEveryExampleCanBeDeployed(t *testing.T) {
	mains, err := filepath.Glob("../*/main.go")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(mains), 4)
	list, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for _, main := range mains {
		dir := filepath.Dir(main)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			page, err := os.ReadFile(filepath.Join(dir, "README.md"))
			require.NoError(t, err)
			require.Contains(t, string(page), "go run ./examples/"+name+" ")
			require.Contains(t, string(list), "["+name+"]("+name+")")

			said := call(t, inspect.ValidateCommand, filepath.Join(dir, "inferenceservice.yaml"))
			require.Contains(t, said, "1 object is valid")
			require.NotContains(t, said, "warning")
			rendered := call(t, inspect.RenderCommand, filepath.Join(dir, "inferenceservice.yaml"))
			require.Contains(t, rendered, "image: kserve-go/"+name+":dev")
		})
	}
}

func call(t *testing.T, command func(output.Streams) *cobra.Command, file string) string {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := command(output.Streams{Out: &out, Err: &problems})
	cmd.SetArgs([]string{"-f", file})
	require.NoError(t, cmd.Execute(), problems.String())
	return out.String()
}
