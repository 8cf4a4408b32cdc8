// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// An ordinary user is whoever is not root; the binary is copied to where that user can read it.
func TestClusterOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root: every other test is this test")
	}
	t.Run("who is alone", func(t *testing.T) {
		t.Parallel()
		asNobody(t, "", "0")
	})
	t.Run("who has others to give", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("newuidmap"); err != nil {
			t.Skip("this machine has no newuidmap: install uidmap")
		}
		ranges := filepath.Join(t.TempDir(), "ranges")
		require.NoError(t, os.WriteFile(ranges, []byte("65534:100000:65536\n"), 0o644))
		asNobody(t, ranges, "1234")
	})
}

// asNobody starts a cluster as the user nobody, who has the ids that the file ranges names, or none; a pod that asks for user 1234 gets uid.
func asNobody(t *testing.T, ranges, uid string) {
	t.Helper()
	const nobody = 65534
	before, err := net.Interfaces()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "kc")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	binary := copySelf(t, dir)
	state := filepath.Join(dir, "state")
	require.NoError(t, os.Mkdir(state, 0o755))
	layout := shellLayout(t, v1.Config{Entrypoint: []string{"/bin/sh", "-c"}, Cmd: []string{tellAll}, Env: []string{"A=b"}, User: "app", WorkingDir: "/app"})
	load(t, state, "plain", "r.test/shell", layout)
	require.NoError(t, filepath.WalkDir(state, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	images := filepath.Join(dir, "images.json")
	require.NoError(t, os.WriteFile(images, []byte(`{"sh": {"entrypoint": ["/bin/sh", "-c"]}}`), 0o644))

	args := upArgs(state, "plain", "--images", images, "--discard")
	cmd := exec.Command(binary, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if ranges != "" { // in a mount namespace of its own, where they are the machine's
		script := "mount --make-rprivate / && mount --bind " + ranges + " /etc/subuid && mount --bind " + ranges + " /etc/subgid && exec setpriv --reuid=65534 --regid=65534 --clear-groups " + binary + ` "$@"`
		cmd = exec.Command("sh", append([]string{"-c", script, "sh"}, args...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	cmd.Env = append(os.Environ(), asProgram+"=1", "HOME="+state)
	cmd.Dir = dir
	c, err := startProgram(cmd, state)
	if err != nil && strings.Contains(c.errOut.String(), "start in fresh namespaces") {
		t.Skipf("this machine forbids namespaces to ordinary users: %s", c.errOut)
	}
	require.NoError(t, err, "standard error: %s", c.errOut)
	require.Equal(t, ranges == "", c.oneUser())
	t.Logf("users of pods: %s; memory limits by %s", uid, c.MemoryLimits)
	c.connect(t)
	c.waitAccount(t, "default")
	c.apply(t, "default", podYAML(`
  securityContext: {runAsUser: 1234, fsGroup: 2345}
  containers: [{name: c, image: sh, args: ["cat /d/labels; echo; id -u; getent hosts kubernetes | cut -d' ' -f1; echo x >/m/f"], volumeMounts: [{name: d, mountPath: /d}, {name: m, mountPath: /m}]}]
  volumes: [{name: d, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}, {name: m, emptyDir: {medium: Memory}}]`))
	p := c.waitPod(t, "default", "p", hasEnded)
	require.Equal(t, corev1.PodSucceeded, p.Status.Phase)
	require.Equal(t, "l=\"v\"\n"+uid+"\n10.96.0.1\n", c.kubectl("default", "", "logs", "p"))
	c.apply(t, "default", strings.Replace(podYAML(`{containers: [{name: c, image: sh, args: ["python3 -c 'x=bytearray(200<<20); import time; time.sleep(60)'"], resources: {limits: {memory: 64Mi}}}]}`), "name: p", "name: big", 1))
	p = c.waitPod(t, "default", "big", hasEnded)
	require.Equal(t, "OOMKilled", p.Status.ContainerStatuses[0].State.Terminated.Reason)
	c.apply(t, "default", strings.Replace(podYAML(`{containers: [{name: c, image: "r.test/shell"}]}`), "name: p", "name: packed", 1))
	c.waitPod(t, "default", "packed", hasEnded)
	log := c.kubectl("default", "", "logs", "packed")
	require.Contains(t, log, "/app b")
	if uid != "0" {
		require.Contains(t, log, "Uid: 1000")
	}
	c.stop(t)
	until(t, "nothing to be left", func() bool { return len(leftovers(t, state, before)) == 0 })
	entries, err := os.ReadDir(state)
	require.NoError(t, err)
	require.Empty(t, entries)
}
