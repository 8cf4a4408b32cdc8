// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAtRefusesWhatCannotWork(t *testing.T) {
	for _, name := range []string{"", "A", "a/b", "..", "-a", "a-", strings.Repeat("a", 41)} {
		_, err := At("/tmp", name)
		require.Error(t, err, "%q", name)
	}
	_, err := At("/"+strings.Repeat("d", 100), "a")
	require.ErrorContains(t, err, "choose a shorter --state")
}

func TestLockIsHeldByOneAndFreedByItsEnd(t *testing.T) {
	a, err := At(t.TempDir(), "x")
	require.NoError(t, err)
	b := &Place{Name: a.Name, Dir: a.Dir}
	pid, err := a.Owner()
	require.NoError(t, err)
	require.Zero(t, pid)
	require.NoError(t, a.Lock())
	require.ErrorIs(t, b.Lock(), ErrRunning)
	pid, err = b.Owner()
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), pid)
	a.Unlock()
	require.NoError(t, b.WaitFree(t.Context()))
	require.NoError(t, b.Lock())
	b.Unlock()
}

func TestWhoLooksKeepsNoOwnerFromTheLock(t *testing.T) {
	p, err := At(t.TempDir(), "x")
	require.NoError(t, err)
	stop := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, err := (&Place{Name: p.Name, Dir: p.Dir}).Owner()
				assert.NoError(t, err)
			}
		}
	})
	for range 200 {
		require.NoError(t, p.Lock())
		p.Unlock()
	}
	close(stop)
	looking.Wait()
}

func TestALockThatWasThrownAwayIsNoLock(t *testing.T) {
	p, err := At(t.TempDir(), "x")
	require.NoError(t, err)
	require.NoError(t, p.Lock())
	thrown, err := os.Open(p.lockPath()) // as another process that waits has it
	require.NoError(t, err)
	defer thrown.Close()
	require.True(t, p.isLock(thrown))
	require.NoError(t, p.Remove())
	p.Unlock()
	require.False(t, p.isLock(thrown))
}

func TestClearKeepsObjectsAndRemovesWhatIsStale(t *testing.T) {
	p, err := At(filepath.Join(t.TempDir(), "a[x]*?\\"), "x") // no pattern
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(p.Path("etcd"), 0o700))
	require.NoError(t, os.MkdirAll(p.Path("pods", "a"), 0o700))
	require.NoError(t, os.WriteFile(p.Path("gate.sock"), nil, 0o600))
	require.NoError(t, p.Clear(false))
	require.DirExists(t, p.Path("etcd"))
	require.NoDirExists(t, p.Path("pods"))
	require.NoFileExists(t, p.Path("gate.sock"))
	require.NoError(t, p.Clear(true))
	require.NoDirExists(t, p.Path("etcd"))
}
