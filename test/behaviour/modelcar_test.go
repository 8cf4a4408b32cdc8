// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALinkToAModelImageIsMadeAnewAfterARestart runs the command of the container beside the server twice in one folder, as a restarted
// container does.
func TestALinkToAModelImageIsMadeAnewAfterARestart(t *testing.T) {
	raw, err := os.ReadFile("testdata/oci/an-image-runs-beside-the-server.yaml")
	require.NoError(t, err)
	e, err := read(raw)
	require.NoError(t, err)
	got, err := run(e)
	require.NoError(t, err)
	args, ok := at(got.pods[0], "spec.containers[modelcar].args").([]any)
	require.True(t, ok)
	require.Len(t, args, 3)
	link := filepath.Join(t.TempDir(), "models")
	command, _ := args[2].(string)
	// Kubernetes makes $$$$ of a pod to $$, the number of the shell's process.
	command = strings.NewReplacer("$$$$", "$$", "/mnt/models", link, "sleep infinity", "echo $$").Replace(command)
	for range 2 {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
		require.NoError(t, err, "%s", out)
		target, err := os.Readlink(link)
		require.NoError(t, err)
		require.Equal(t, "/proc/"+strings.TrimSpace(string(out))+"/root/models", target)
	}
}
