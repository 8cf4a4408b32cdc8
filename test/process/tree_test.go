// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTreeHasTheProcessesBelow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	cmd := exec.Command("sleep", "60")
	require.NoError(t, cmd.Start())
	all, err := Tree(os.Getpid())
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(b Branch) bool { return b.PID == cmd.Process.Pid })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, "sleep", all[i].Name)
	require.True(t, all[i].Lives())
	rss, pss, err := all[i].Memory()
	require.NoError(t, err)
	require.Positive(t, pss)
	require.GreaterOrEqual(t, rss, pss)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.False(t, all[i].Lives())
}
