// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
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
	for name, end := range map[string]func(t *testing.T, c *cluster){
		"stopped in order": func(t *testing.T, c *cluster) { c.stop(t) },
		"parent killed": func(t *testing.T, c *cluster) {
			kill(t, c.cmd.Process.Pid, syscall.SIGKILL)
			require.Error(t, c.cmd.Wait())
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := net.Interfaces()
			require.NoError(t, err)
			state, err := os.MkdirTemp("", "kc")
			require.NoError(t, err)
			defer os.RemoveAll(state)
			images := filepath.Join(state, "images.json")
			require.NoError(t, os.WriteFile(images, []byte(`{"sh": {"entrypoint": ["/bin/sh", "-c"]}}`), 0o600))
			load(t, state, "gone", "r.test/packed", shellLayout(t, v1.Config{Cmd: []string{"sleep", "1000"}}))
			c := start(t, state, "gone", "--images", images, "--discard")
			c.waitAccount(t, "default")
			c.apply(t, "default", packed)
			c.waitPod(t, "default", "packed", isReady)
			c.apply(t, "default", strings.ReplaceAll(clinger, "STATE", state))
			c.waitPod(t, "default", "clinger", isReady)
			require.NotEmpty(t, leftovers(t, state, before), "the test sees what it looks for")
			end(t, c)
			until(t, "nothing to be left", func() bool { return len(leftovers(t, state, before)) == 0 })
			if name == "stopped in order" {
				require.NoDirExists(t, filepath.Join(state, "gone"))
				return
			}
			// The next one of the name sweeps the folder and starts.
			next := start(t, state, "gone", "--images", images, "--discard")
			next.waitPod(t, "default", "clinger", func(p *corev1.Pod) bool { return isReady(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
			next.waitPod(t, "default", "packed", isReady)
			next.stop(t)
			require.NoDirExists(t, filepath.Join(state, "gone"))
		})
	}
}
