// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pod that tries to stay: it starts a process in a session of its own, ignores signals, and holds memory mounted.
const clinger = `
apiVersion: v1
kind: Pod
metadata: {name: clinger}
spec:
  terminationGracePeriodSeconds: 600
  containers:
  - name: c
    image: sh
    args: ["trap '' TERM; setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' & while :; do sleep 1000; done"]
    env: [{name: MARK, value: STATE}]
    volumeMounts: [{name: m, mountPath: /mem}]
  volumes: [{name: m, emptyDir: {medium: Memory}}]
`

// packed has a memory limit, and with it a control group where there are any.
const packed = `
apiVersion: v1
kind: Pod
metadata: {name: packed}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: c, image: "r.test/packed:v1", resources: {limits: {memory: 64Mi}}}]}
`

func TestNothingOutlivesACluster(t *testing.T) {
	t.Parallel()
	before, err := net.Interfaces()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "kc")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	state := filepath.Join(dir, "state")
	images := filepath.Join(dir, "images.json")
	require.NoError(t, os.WriteFile(images, []byte(`{"sh": {"entrypoint": ["/bin/sh", "-c"]}}`), 0o600))
	load(t, state, "gone", "r.test/packed", shellLayout(t, containerConfig("sleep", "1000")))

	// Whatever it writes to its home, to the folder for temporary files or to where it stands would be left.
	elsewhere := filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Mkdir(elsewhere, 0o700))
	cmd := program(upArgs(state, "gone", "--images", images, "--discard")...)
	cmd.Env = append(cmd.Env, "HOME="+elsewhere, "TMPDIR="+elsewhere, "XDG_CACHE_HOME=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	cmd.Dir = elsewhere
	c, err := startProgram(cmd, state)
	require.NoError(t, err, "standard error: %s", c.errOut)
	c.connect(t)
	c.waitAccount(t, "default")
	c.apply(t, "default", packed+"---"+strings.ReplaceAll(clinger, "STATE", c.State))
	c.waitPod(t, "default", "packed", isReady)
	c.waitPod(t, "default", "clinger", isReady)
	require.NotEmpty(t, leftovers(t, c.State, before), "the test sees what it looks for")

	out, err := program("down", "--state", state, "--name", "gone").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, c.cmd.Wait(), "standard error: %s", c.errOut)
	until(t, "nothing to be left", func() bool { return len(leftovers(t, c.State, before)) == 0 })
	for _, d := range []string{state, elsewhere} {
		entries, err := os.ReadDir(d)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}
