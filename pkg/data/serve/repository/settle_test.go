// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// obstinate is an engine of which some models take until they are let on, or fail.
type obstinate struct {
	fake
	mu     sync.Mutex
	held   map[string]chan struct{} // by the name of the model's directory
	faults map[string]error
	opened map[string]int
}

func (e *obstinate) Open(ctx context.Context, file string, o engine.Options) (engine.Model, error) {
	name := filepath.Base(filepath.Dir(file))
	e.mu.Lock()
	e.opened[name]++
	held, fault := e.held[name], e.faults[name]
	e.mu.Unlock()
	if held != nil {
		<-held
	}
	if fault != nil {
		return nil, fmt.Errorf("open model: %w", &os.PathError{Op: "open", Path: file, Err: fault})
	}
	return e.fake.Open(ctx, file, o)
}

func (e *obstinate) times(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened[name]
}

func newObstinate() *obstinate {
	return &obstinate{
		fake: fake{"sklearn", []string{".pkl"}}, held: map[string]chan struct{}{}, faults: map[string]error{}, opened: map[string]int{},
	}
}

func states(r *Repository) map[string]State {
	all := map[string]State{}
	for _, e := range r.Index() {
		all[e.Name] = e.State
	}
	return all
}

const (
	waitFor = 30 * time.Second
	tick    = time.Millisecond
)

// A model that takes long, or for ever, holds up neither the others nor what is to be done about them; what is to be done about it itself is
// done when it can be, and only the last of it.
func TestASlowModelHoldsUpNoOther(t *testing.T) {
	root := write(t, map[string]string{"slow/m.pkl": "x", "a/m.pkl": "x", "b/m.pkl": "x"})
	e := newObstinate()
	e.held["slow"] = make(chan struct{})
	r := New(Options{Engines: []engine.Engine{e}})
	place := func(name, dir string) {
		r.Place(Source{Name: name, Path: filepath.Join(root, dir)})
		r.Settle(t.Context(), name)
	}
	place("slow", "slow")
	require.Eventually(t, func() bool { return e.times("slow") == 1 }, waitFor, tick)
	place("a", "a")
	require.Eventually(t, func() bool { return states(r)["a"] == Ready }, waitFor, tick)
	r.Forget("a")
	r.Settle(t.Context(), "a")
	require.Eventually(t, func() bool { return len(states(r)) == 1 }, waitFor, tick)
	for _, dir := range []string{"a", "slow", "b"} { // it is told to be three others meanwhile
		place("slow", dir)
	}
	close(e.held["slow"])
	r.Wait()
	require.Equal(t, map[string]State{"slow": Ready}, states(r))
	require.Equal(t, map[string]int{"slow": 1, "a": 1, "b": 1}, e.opened)

	place("slow", "b")
	r.Wait()
	require.Equal(t, 1, e.times("b"), "it is that already")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.Place(Source{Name: "slow", Path: filepath.Join(root, "a")})
	r.Settle(ended, "slow")
	r.Wait()
	require.Equal(t, 1, e.times("a"), "nobody waits for it")
	r.Settle(t.Context(), "slow")
	r.Wait()
	require.Equal(t, 2, e.times("a"))
	r.Forget("slow")
	r.Settle(t.Context(), "slow")
	r.Close()
	require.Empty(t, states(r))
}

func TestAFollowerKeepsTheModelsThoseOfTheDirectories(t *testing.T) {
	root := write(t, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x"})
	r := New(Options{Engines: engines(), Root: root})
	for _, name := range []string{"a", "b"} {
		r.Place(Source{Name: name, Path: filepath.Join(root, name)})
		require.NoError(t, r.AddFromRoot(t.Context(), name))
	}
	f := r.Follow(true)
	sync := func() {
		t.Helper()
		require.NoError(t, f.Sync(t.Context()))
		r.Wait()
	}
	sync()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "c"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "c", "m.pkl"), []byte("x"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(root, "b")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a", "m.pkl"), []byte("longer"), 0o600))
	sync()
	require.Equal(t, []string{"a", "b"}, r.Names(), "what has just been written may not be whole, and what is gone may come back")
	sync()
	require.Equal(t, []string{"a", "c"}, r.Names())
	require.Equal(t, uint64(2), r.Tallies()["a"].Loads)
	sync()
	require.Equal(t, uint64(2), r.Tallies()["a"].Loads)

	// A directory is exchanged for another: at one look it is not there.
	require.NoError(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, ".old")))
	sync()
	require.NoError(t, os.Rename(filepath.Join(root, ".old"), filepath.Join(root, "a")))
	sync()
	require.Equal(t, []string{"a", "c"}, r.Names())
	require.Equal(t, uint64(2), r.Tallies()["a"].Loads)

	// What a client unloaded stays unloaded, until its files change.
	require.NoError(t, r.Remove("c"))
	sync()
	sync()
	require.Equal(t, []string{"a"}, r.Names())
	require.NoError(t, os.WriteFile(filepath.Join(root, "c", "m.pkl"), []byte("longer"), 0o600))
	sync()
	sync()
	require.Equal(t, []string{"a", "c"}, r.Names())

	require.NoError(t, os.RemoveAll(root))
	require.Error(t, f.Sync(t.Context()))
	require.Equal(t, []string{"a", "c"}, r.Names(), "a root that is gone for a moment takes nothing along")
}

// Files are fetched by another into the place of a model: first there are none, then half of one, then all, then newer ones.
func TestWhatIsFetchedIsLoadedWhenItIsWhole(t *testing.T) {
	root := t.TempDir()
	r := New(Options{Engines: engines()})
	dir := filepath.Join(root, "m")
	r.Place(Source{Name: "m", Path: dir})
	f := r.Follow(false)
	sync := func() State {
		t.Helper()
		r.Heal(t.Context())
		r.Wait()
		require.NoError(t, f.Sync(t.Context()))
		r.Wait()
		return states(r)["m"]
	}
	r.Settle(t.Context(), "m")
	require.Equal(t, Unavailable, sync())
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.pkl"), []byte("corrupt"), 0o600)) // as half a file may be
	require.Equal(t, Unavailable, sync())
	require.Equal(t, Unavailable, sync())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.pkl"), []byte("whole"), 0o600))
	require.Equal(t, Ready, sync())
	loads := r.Tallies()["m"].Loads
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SUCCESS.0123"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.pkl"), []byte("newer ones"), 0o600))
	require.Equal(t, Ready, sync())
	require.Equal(t, loads, r.Tallies()["m"].Loads, "they may be written still")
	require.Equal(t, Ready, sync())
	require.Equal(t, loads+1, r.Tallies()["m"].Loads)
	sync()
	require.Equal(t, loads+1, r.Tallies()["m"].Loads)
}

// A fault of the moment is tried again without a change of the files, less and less often; one of the files is not.
func TestAFaultThatPassesIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newObstinate()
		e.faults["tired"], e.faults["bad"] = syscall.EMFILE, errors.New("damaged")
		r := New(Options{Engines: []engine.Engine{e}, Root: write(t, map[string]string{"tired/m.pkl": "x", "bad/m.pkl": "x"})})
		for _, name := range []string{"tired", "bad"} {
			require.Error(t, r.AddFromRoot(t.Context(), name))
		}
		for range 720 { // an hour
			time.Sleep(5 * time.Second)
			r.Heal(t.Context())
			r.Wait()
		}
		require.Equal(t, 1, e.times("bad"))
		require.Greater(t, e.times("tired"), 10)
		require.Less(t, e.times("tired"), 30)
		e.mu.Lock()
		delete(e.faults, "tired")
		e.mu.Unlock()
		time.Sleep(lastWait)
		r.Heal(t.Context())
		r.Wait()
		require.Equal(t, map[string]State{"tired": Ready, "bad": Unavailable}, states(r))
	})
}

// The limit is lowered, lifted and set while models are used.
func TestTheLimitOfMemoryChanges(t *testing.T) {
	r, _ := limited(t, &heavies{}, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x", "c/m.pkl": "x", "d/m.pkl": "x"})
	require.Equal(t, []string{"a"}, resting(r))
	use(t, r, "c")
	r.UseMemory(10)
	require.Equal(t, []string{"a", "b", "d"}, resting(r))
	require.Equal(t, int64(10), r.Used())
	r.UseMemory(0)
	use(t, r, "a")
	use(t, r, "b")
	use(t, r, "d")
	require.Empty(t, resting(r))
	r.UseMemory(5) // less than any model takes
	require.Len(t, resting(r), 4)
	_, err := r.Acquire(t.Context(), "a", "")
	require.EqualError(t, err, "Model with name a is not ready.")
	s, err := r.Status("a", "")
	require.NoError(t, err)
	require.Equal(t, "the model takes 10 bytes of memory: all models together may take 5", s.Reason)
	r.UseMemory(20)
	r.Heal(t.Context())
	r.Wait()
	use(t, r, "a")
}
