// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refused starts a cluster that must not start, and returns what it says: one line, without the progress before it.
func refused(t *testing.T, state, name string, args ...string) string {
	t.Helper()
	c, err := tryStart(state, name, append(args, "--quiet")...)
	if err == nil {
		c.stop(t)
	}
	require.Error(t, err)
	text := strings.TrimSpace(c.errOut.String())
	require.NotContains(t, text, "\n", "one sentence")
	require.NotContains(t, text, "goroutine ")
	return text
}

func TestClusterThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	t.Run("a file where the folder should be", func(t *testing.T) {
		state := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(state, nil, 0o600))
		require.Contains(t, refused(t, state, "a", "--no-node"), "a file is where a folder should be (choose another with --state)")
	})
	t.Run("a busy port", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		require.NoError(t, err)
		text := refused(t, t.TempDir(), "busy", "--no-node", "--port", port)
		require.Contains(t, text, "take the API server's port")
		require.Contains(t, text, "address already in use (leave --port out to take any free one)")
	})
	t.Run("an audit log that cannot be written", func(t *testing.T) {
		require.Contains(t, refused(t, t.TempDir(), "a", "--no-node", "--audit-log", "/no/such/folder/log"), "open audit log: open /no/such/folder/log: no such file")
	})
	t.Run("a read-only file system", func(t *testing.T) {
		require.Contains(t, refused(t, tmpfs(t, "size=1m,ro"), "a", "--no-node"), "cannot be written")
	})
	t.Run("a full disk", func(t *testing.T) {
		require.Regexp(t, `has \d+ MiB free, and a cluster needs \d+: free some, or choose another folder with --state`, refused(t, tmpfs(t, "size=16m"), "a", "--no-node"))
	})
	state := t.TempDir()
	start(t, state, "spoilt", "--no-node", "--no-controllers").stop(t)
	etcd, kept := filepath.Join(state, "spoilt", "etcd"), filepath.Join(t.TempDir(), "etcd")
	require.NoError(t, os.CopyFS(kept, os.DirFS(etcd)))
	for name, file := range map[string]string{"a database of garbage": "member/snap/db", "a write-ahead log of garbage": "member/wal/*.wal"} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(etcd))
			require.NoError(t, os.CopyFS(etcd, os.DirFS(kept)))
			files, err := filepath.Glob(filepath.Join(etcd, file))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, f := range files {
				require.NoError(t, os.WriteFile(f, []byte(strings.Repeat("garbage", 10000)), 0o600))
			}
			text := refused(t, state, "spoilt", "--no-node", "--no-controllers")
			require.Contains(t, text, "the objects that an earlier cluster stored cannot be read")
			require.Contains(t, text, "(--fresh throws them away)")
		})
	}
	start(t, state, "spoilt", "--no-node", "--no-controllers", "--fresh", "--discard").stop(t)
}

// Each user namespace counts what is made in it: one that may make none stands for a machine that forbids it.
func TestClusterWhereNamespacesAreForbiddenSaysWhatToChange(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root makes a namespace with two users")
	}
	dir, err := os.MkdirTemp("", "kc")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	binary := copySelf(t, dir)
	for name, c := range map[string]struct {
		sysctl, as string
		user       int
		says       string
	}{
		"to an ordinary user": {"max_user_namespaces", "setpriv --reuid=65534 --regid=65534 --clear-groups", 65534, "their number is limited to 0: sysctl user.max_user_namespaces=10000, or run as root, or use --no-node"},
		"to everybody":        {"max_net_namespaces", "", 0, "the kernel or a container around this process forbids namespaces; --no-node runs the control plane without them"},
	} {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(dir, c.sysctl)
			require.NoError(t, os.Mkdir(state, 0o700))
			require.NoError(t, os.Chown(state, c.user, 0))
			up := strings.Join(append([]string{binary}, upArgs(state, "a", "--quiet")...), " ")
			cmd := exec.Command("sh", "-c", "echo 0 >/proc/sys/user/"+c.sysctl+" && exec "+c.as+" "+up)
			cmd.Env = append(os.Environ(), asProgram+"=1")
			ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65535}}
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
			failed, err := startProgram(cmd, state)
			require.Error(t, err)
			text := strings.TrimSpace(failed.errOut.String())
			require.NotContains(t, text, "\n", "one sentence")
			require.Contains(t, text, "start in fresh namespaces: ")
			require.Contains(t, text, c.says)
		})
	}
}

// copySelf puts the program where every user can run it.
func copySelf(t *testing.T, dir string) string {
	t.Helper()
	require.NoError(t, os.Chmod(dir, 0o755))
	content, err := os.ReadFile(self())
	require.NoError(t, err)
	path := filepath.Join(dir, "kserve-cluster")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}

// tmpfs is a small file system.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a file system of that size")
	}
	dir := t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir
}

// One cluster on a small disk dies of every cause, and is there again each time with what it stored.
func TestClusterThatDiedComesBack(t *testing.T) {
	t.Parallel()
	state, err := os.MkdirTemp("", "kc")
	require.NoError(t, err)
	defer os.RemoveAll(state)
	if os.Geteuid() == 0 {
		state = tmpfs(t, "size=420m")
	}
	before, err := net.Interfaces()
	require.NoError(t, err)
	ends := int32(0)
	images := filepath.Join(t.TempDir(), "images.json")
	require.NoError(t, os.WriteFile(images, []byte(`{"sh": {"entrypoint": ["/bin/sh", "-c"]}}`), 0o600))
	load(t, state, "back", "r.test/packed", shellLayout(t, containerConfig("sleep", "1000")))
	for name, c := range map[string]struct {
		kill func(t *testing.T, c *cluster)
		says string
		down bool
	}{
		"process 1 of its namespaces is killed": {
			kill: func(t *testing.T, c *cluster) { kill(t, initOf(t, c.cmd.Process.Pid), syscall.SIGKILL) },
			says: "the cluster ended: signal: killed",
		},
		"the parent is killed": {kill: func(t *testing.T, c *cluster) { kill(t, c.cmd.Process.Pid, syscall.SIGKILL) }},
		"both are killed": {
			kill: func(t *testing.T, c *cluster) {
				inside, parent := initOf(t, c.cmd.Process.Pid), c.cmd.Process.Pid
				kill(t, parent, syscall.SIGSTOP) // or it would see the other end
				kill(t, inside, syscall.SIGKILL)
				kill(t, parent, syscall.SIGKILL)
			},
			down: true, // nobody is left to remove the control group
		},
		"the disk is full": {
			kill: func(t *testing.T, c *cluster) {
				filler := filepath.Join(state, "filler")
				t.Cleanup(func() { require.NoError(t, os.Remove(filler)) })
				fill(t, filler)
				until(t, "the cluster to notice", func() bool {
					m := configMap("x")
					m.GenerateName, m.Name, m.Data = "x-", "", map[string]string{"k": strings.Repeat("x", 900<<10)}
					_, _ = c.client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{})
					return syscall.Kill(c.cmd.Process.Pid, 0) != nil || zombie(c.cmd.Process.Pid)
				})
			},
			says: "is full",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "disk") && os.Geteuid() != 0 {
				t.Skip("only root mounts a file system of that size")
			}
			ends++
			k := start(t, state, "back", "--images", images, "--quiet")
			k.waitAccount(t, "default")
			k.apply(t, "default", packed+"---"+strings.ReplaceAll(clinger, "STATE", k.State))
			k.waitPod(t, "default", "packed", isReady)
			k.waitPod(t, "default", "clinger", isReady)
			require.NotEmpty(t, leftovers(t, k.State, before), "the test sees what it looks for")
			c.kill(t, k)
			require.Error(t, k.cmd.Wait())
			require.Contains(t, k.errOut.String(), c.says)
			require.NotContains(t, k.errOut.String(), "goroutine ")
			if c.down {
				out, err := program("down", "--state", state, "--name", "back").CombinedOutput()
				require.NoError(t, err, string(out))
			}
			until(t, "nothing to be left", func() bool { return len(leftovers(t, k.State, before)) == 0 })
		})
	}
	again := start(t, state, "back", "--images", images, "--discard")
	again.waitPod(t, "default", "packed", isReady)
	again.waitPod(t, "default", "clinger", func(p *corev1.Pod) bool { return isReady(p) && p.Status.ContainerStatuses[0].RestartCount == ends })
	again.stop(t)
	require.NoDirExists(t, again.State)
}

func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
}

// initOf is the child of the launching process that is process 1 of the cluster.
func initOf(t *testing.T, parent int) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range all {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		after := string(b[strings.LastIndexByte(string(b), ')')+1:])
		if f := strings.Fields(after); len(f) > 1 && f[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("process %d has no child", parent)
	return 0
}

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}
