// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// heavy is a model that says that it takes ten bytes, or as many as its file has where they are more.
type heavy struct {
	fakeModel
	size int64
}

func (m *heavy) SizeBytes() int64 { return m.size }

// heavies is an engine of heavy models. gate holds its loads.
type heavies struct {
	fake
	gate chan struct{}
}

func (e *heavies) Open(ctx context.Context, file string, o engine.Options) (engine.Model, error) {
	if e.gate != nil {
		<-e.gate
	}
	m, err := e.fake.Open(ctx, file, o)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	_ = m.Close()
	return &heavy{size: max(info.Size(), 10)}, nil
}

func limited(t *testing.T, e *heavies, files map[string]string) (*Repository, string) {
	t.Helper()
	e.fake = fake{"sklearn", []string{".pkl"}}
	root := write(t, files)
	r := New(Options{Engines: []engine.Engine{e}, Root: root, MaxMemory: 30})
	t.Cleanup(r.Close)
	names, err := r.RootNames()
	require.NoError(t, err)
	for _, name := range names {
		_ = r.AddFromRoot(t.Context(), name)
	}
	return r, root
}

func use(t *testing.T, r *Repository, name string) {
	t.Helper()
	m, err := r.Acquire(t.Context(), name, "")
	require.NoError(t, err)
	m.Release()
}

func resting(r *Repository) (names []string) {
	for _, e := range r.Index() {
		if e.Reason == restingReason {
			names = append(names, e.Name)
		}
	}
	return names
}

func TestTheLeastUsedModelMakesRoom(t *testing.T) {
	r, _ := limited(t, &heavies{}, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x", "c/m.pkl": "x", "d/1/m.pkl": "x", "big/m.pkl": "this is far more than thirty bytes are"})
	require.Equal(t, []string{"a"}, resting(r))
	require.Equal(t, int64(30), r.Used())
	big, err := r.Status("big", "")
	require.NoError(t, err)
	require.Equal(t, Unavailable, big.State)
	require.Equal(t, "the model takes 38 bytes of memory: all models together may take 30", big.Reason)
	use(t, r, "b")
	use(t, r, "d")
	use(t, r, "a") // comes back, and c was used least recently
	require.Equal(t, []string{"c"}, resting(r))
	a, err := r.Status("a", "")
	require.NoError(t, err)
	require.Equal(t, Entry{Name: "a", State: Ready, Bytes: 10}, a)
	c, err := r.Status("c", "")
	require.NoError(t, err)
	require.Equal(t, Entry{Name: "c", State: Ready, Reason: restingReason}, c)
	_, err = r.Metadata("c", "")
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, resting(r), "to tell of a model does not load it")
	require.Equal(t, Tally{Loads: 2, Evictions: 1}, r.Tallies()["a"])
	require.Equal(t, Tally{Failures: 1}, r.Tallies()["big"])
	require.NoError(t, r.Reload(t.Context(), "c"))
	require.NotContains(t, resting(r), "c")
	require.Equal(t, int64(30), r.Used())
	require.NoError(t, r.Remove("b"))
	_, err = r.Acquire(t.Context(), "b", "")
	require.Equal(t, protocol.NotFound, protocol.From(err).Code)
}

func TestAModelInUseIsClosedAfterItsLastUse(t *testing.T) {
	r, _ := limited(t, &heavies{}, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x", "c/m.pkl": "x"})
	held, err := r.Acquire(t.Context(), "a", "")
	require.NoError(t, err)
	use(t, r, "b")
	use(t, r, "c")
	require.NoError(t, r.Add(t.Context(), Source{Name: "d", Path: write(t, map[string]string{"m.pkl": "x"})}))
	require.Equal(t, []string{"a"}, resting(r))
	require.Zero(t, held.Model.(*heavy).closes())
	held.Release()
	require.Equal(t, 1, held.Model.(*heavy).closes())
}

func TestALoadOnDemandIsSharedAndOutlivesItsCallers(t *testing.T) {
	e := &heavies{}
	r, root := limited(t, e, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x", "c/m.pkl": "x", "d/m.pkl": "x"})
	require.Equal(t, []string{"a"}, resting(r))
	e.gate = make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := r.Acquire(ctx, "a", "")
	require.Equal(t, protocol.Deadline, protocol.From(err).Code)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			m, err := r.Acquire(t.Context(), "a", "")
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			m.Release()
		})
	}
	e.gate <- struct{}{} // one load for all of them
	all.Wait()
	require.Equal(t, uint64(2), r.Tallies()["a"].Loads)

	// A file that went bad meanwhile is told, and healed when it is good again.
	close(e.gate)
	evicted := resting(r)[0]
	file := filepath.Join(root, evicted, "m.pkl")
	require.NoError(t, os.WriteFile(file, []byte("corrupt"), 0o600))
	_, err = r.Acquire(t.Context(), evicted, "")
	require.Equal(t, protocol.Unavailable, protocol.From(err).Code)
	s, err := r.Status(evicted, "")
	require.NoError(t, err)
	require.Equal(t, Unavailable, s.State)
	require.Contains(t, s.Reason, "corrupt")
	r.Heal(t.Context())
	r.Wait()
	require.Equal(t, uint64(1), r.Tallies()[evicted].Failures, "nothing has changed: it is not tried again")
	require.NoError(t, os.WriteFile(file, []byte("good now"), 0o600))
	r.Heal(t.Context())
	r.Wait()
	use(t, r, evicted)
}

// Many models in little memory, asked for at random by many: each is answered, and each that was opened is closed.
func TestManyModelsInLittleMemory(t *testing.T) {
	r, _ := limited(t, &heavies{}, map[string]string{"a/m.pkl": "x", "b/m.pkl": "x", "c/m.pkl": "x", "d/m.pkl": "x", "e/m.pkl": "x"})
	names := []string{"a", "b", "c", "d", "e"}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				m, err := r.Acquire(t.Context(), names[(i*j+j)%len(names)], "")
				if err != nil {
					t.Errorf("acquire: %v", err)
					return
				}
				if m.Model.(*heavy).closes() > 0 {
					t.Error("lent a closed model")
				}
				m.Release()
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, r.Used(), int64(30))
}

func TestAFailedReplacementIsHealed(t *testing.T) {
	root := write(t, map[string]string{"m/1/m.pkl": "good", "other/m.pkl": "corrupt"})
	r := New(Options{Engines: engines(), Root: root})
	require.NoError(t, r.AddFromRoot(t.Context(), "m"))
	require.Error(t, r.AddFromRoot(t.Context(), "other"))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "m", "2"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "m", "2", "m.pkl"), []byte("corrupt"), 0o600))
	require.NoError(t, r.Reload(t.Context(), "m"), "version 1 is there")
	use(t, r, "m")
	require.NoError(t, os.WriteFile(filepath.Join(root, "m", "2", "m.pkl"), []byte("good"), 0o600))
	r.Heal(t.Context())
	r.Wait()
	m, err := r.Acquire(t.Context(), "m", "")
	require.NoError(t, err)
	require.Equal(t, "2", m.Version)
	m.Release()
	s, err := r.Status("other", "")
	require.NoError(t, err)
	require.Equal(t, Unavailable, s.State)
}
