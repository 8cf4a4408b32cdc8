// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// hold takes the lock of a cluster as its process does.
func hold(t *testing.T, p *Place, pid string) (release func()) {
	t.Helper()
	require.NoError(t, os.MkdirAll(p.Dir(), 0o700))
	f, err := os.OpenFile(p.Dir()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	_, err = f.WriteString(pid + "\n")
	require.NoError(t, err)
	return func() { f.Close() }
}

func TestAClusterRunsWhileItsProcessHoldsTheLock(t *testing.T) {
	p, err := At(t.TempDir(), "mine")
	require.NoError(t, err)
	_, err = p.Running()
	require.ErrorIs(t, err, ErrNotRunning)
	require.ErrorContains(t, err, "kserve local up --name=mine --state="+p.Root)

	release := hold(t, p, "42")
	_, err = p.Running()
	require.ErrorIs(t, err, ErrNotRunning)
	require.ErrorContains(t, err, "is starting or ending (process 42)")

	require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "ready.json"),
		[]byte(`{"name":"mine","kubeconfig":"/k","apiServer":"https://a","gateway":"http://g","state":"/s","pid":42,"node":true,"notEnforced":["x"]}`), 0o600))
	r, err := p.Running()
	require.NoError(t, err)
	require.Equal(t, &Record{Name: "mine", Kubeconfig: "/k", Server: "https://a", Gateway: "http://g", State: "/s", PID: 42, Node: true, NotEnforced: []string{"x"}}, r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.WaitFree(ctx), context.Canceled)

	release() // as the kernel does for a process that was killed
	_, err = p.Running()
	require.ErrorIs(t, err, ErrNotRunning, "a record that a dead cluster left does not count")
	require.NoError(t, p.WaitFree(t.Context()))
}

func TestAFolderOfAnyNameIsThrownAwayWhole(t *testing.T) {
	p, err := At(filepath.Join(t.TempDir(), "it's [x]* $H, \"q\""), "mine")
	require.NoError(t, err)
	require.Contains(t, p.Flags(), `/it'\''s [x]* $H, "q"'`, "a shell reads it back")
	require.NoError(t, os.MkdirAll(p.Dir(), 0o700))
	for _, name := range []string{p.Output(), p.Output() + ".123", p.Dir() + "2.log.5"} {
		require.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	require.NoError(t, p.Remove())
	left, err := os.ReadDir(p.Root)
	require.NoError(t, err)
	require.Len(t, left, 1, "that of another cluster stays")
}

func TestAPipeWhereTheLockShouldBeIsNotWaitedFor(t *testing.T) {
	p, err := At(t.TempDir(), "mine")
	require.NoError(t, err)
	require.NoError(t, syscall.Mkfifo(p.Dir()+".lock", 0o600))
	_, err = p.Owner()
	require.ErrorContains(t, err, "mine.lock is no file, as a cluster writes it: remove it")
}

func TestWhereClustersAre(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/x")
	p, err := At("", DefaultName)
	require.NoError(t, err)
	require.Equal(t, "/x/kserve/clusters/default", p.Dir())
	require.Empty(t, p.Flags())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "/h")
	p, err = At("", DefaultName)
	require.NoError(t, err)
	require.Equal(t, "/h/.local/state/kserve/clusters/default", p.Dir())
	for _, name := range []string{"", "A", "a/b", "..", "-a", "a-"} {
		_, err := At("/x", name)
		require.ErrorContains(t, err, "cluster name", name)
	}
}

// The names in the file are those of the writer, which is another module.
func TestTheRecordIsTheOneThatTheClusterWrites(t *testing.T) {
	writer, err := os.ReadFile("../../../../local/place/place.go")
	require.NoError(t, err)
	for _, name := range []string{"name", "kubeconfig", "apiServer", "gateway", "state", "pid", "node", "notEnforced", "memoryLimits", "startSeconds"} {
		require.Regexp(t, "`json:\""+name+"[\",]", string(writer))
	}
}

func TestWhatIsNoFileIsNeitherReadNorWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, is := range []func() error{
		func() error { return syscall.Mkfifo(path, 0o600) },
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return os.Symlink("/dev/zero", path) },
	} {
		require.NoError(t, is())
		_, err := readFile(path)
		require.ErrorContains(t, err, path+" is no file, as a cluster writes it: remove it")
		require.NoError(t, os.Remove(path))
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 1<<40))
	_, err := readFile(path)
	require.ErrorContains(t, err, path+" is longer than any record: remove it")
}
