// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

//nolint:dupword // a mount has a type, a source and options, which often are one word
func TestHierarchiesAreFound(t *testing.T) {
	const v1 = "14 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	for name, c := range map[string]struct {
		mounts, groups string
		want           []hierarchy
	}{
		"version 2 of a user's session": {
			"29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/user-1000.slice/session-2.scope\n",
			[]hierarchy{{CGroup2, "/sys/fs/cgroup", "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope"}},
		},
		"version 1 beside a version 2 without memory": {
			v1 + "20 41 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/a/b\n0::/\n",
			[]hierarchy{{CGroup2, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified"}, {CGroup1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a/b"}},
		},
		"a container that mounts its own part": {
			"14 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n", "4:cpu,memory:/docker/x/y\n",
			[]hierarchy{{CGroup1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/y"}},
		},
		"a path outside of what is mounted": {
			v1, "4:memory:/../other\n", []hierarchy{{CGroup1, "/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory"}},
		},
		"none":         {"", "0::/\n", nil},
		"broken lines": {"- cgroup2\nx - y\n", "::\nnonsense\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, parseHierarchies(c.mounts, c.groups))
		})
	}
}

func TestParentsGoUp(t *testing.T) {
	require.Equal(t, []string{"/s/a/b", "/s/a", "/s"}, hierarchy{CGroup2, "/s", "/s/a/b"}.parents())
	require.Equal(t, []string{"/s"}, hierarchy{CGroup2, "/s", "/s"}.parents())
}

func TestExceededReadsTheKernelsCount(t *testing.T) {
	for name, c := range map[string]struct {
		mode       Mode
		file, text string
		want       bool
	}{
		"version 2, none":     {CGroup2, "memory.events", "low 0\noom 1\noom_kill 0\noom_group_kill 0\n", false},
		"version 2, some":     {CGroup2, "memory.events", "oom 1\noom_kill 2\n", true},
		"version 1, some":     {CGroup1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", true},
		"version 1, disabled": {CGroup1, "memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n", false},
		"no file":             {CGroup1, "other", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
			require.Equal(t, c.want, (&Container{mode: c.mode, dir: dir}).Exceeded())
		})
	}
}

// What this machine allows is found out by the kernel; what is found must work and go away again.
func TestOpenedGroupHoldsAProcess(t *testing.T) {
	sleep := func() (int, func(), error) {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			return 0, nil, err
		}
		return cmd.Process.Pid, func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
	}
	g := Open("kserve-test-of-limit", sleep)
	t.Logf("mode %s in %s", g.Mode, g.Dir)
	if g.Mode == Watcher {
		require.Empty(t, g.Dir)
		return
	}
	c, err := g.Container("a", 16<<20)
	require.NoError(t, err)
	pid, stop, err := sleep()
	require.NoError(t, err)
	require.NoError(t, c.Admit(pid))
	require.False(t, c.Exceeded())
	stop()
	require.NoError(t, c.Close())
	require.NoError(t, Remove(g.Dir))
	require.NoDirExists(t, g.Dir)
	require.NoError(t, Remove(g.Dir), "twice is harmless")
}
