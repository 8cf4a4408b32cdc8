// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// restingReason is what the index says of a model that was let go of to make room.
const restingReason = "not in memory, to make room for others: it is loaded with the next request"

// maxWaking bounds the requests that wait for one model to be loaded.
const maxWaking = 1024

type slotKey struct{ name, version string }

// Tally counts what happened to the models of a name.
type Tally struct{ Loads, Failures, Evictions uint64 }

// tally is the count of a name. The caller holds mu.
func (r *Repository) tally(name string) *Tally {
	t := r.tallies[name]
	if t == nil {
		t = &Tally{}
		r.tallies[name] = t
	}
	return t
}

// Tallies are the counts of each name.
func (r *Repository) Tallies() map[string]Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]Tally, len(r.tallies))
	for name, t := range r.tallies {
		all[name] = *t
	}
	return all
}

// overLimit is the error of a model that takes more memory than all together may.
type overLimit struct{ takes, limit int64 } //nolint:errname // it reads better where it is used

func (e *overLimit) Error() string {
	return fmt.Sprintf("the model takes %d bytes of memory: all models together may take %d", e.takes, e.limit)
}

func (r *Repository) tooLarge(bytes int64) error {
	if limit := r.memory.Load(); limit > 0 && bytes > limit {
		return &overLimit{bytes, limit}
	}
	return nil
}

// UseMemory sets Options.MaxMemory, also while models are used. Models that were too large for another limit are tried again by Heal.
func (r *Repository) UseMemory(limit int64) {
	if r.memory.Swap(limit) == limit {
		return
	}
	r.mu.Lock()
	for key, f := range r.failed {
		if f.large {
			f.files = 0
			r.failed[key] = f
		}
	}
	r.mu.Unlock()
	r.makeRoom(0, slotKey{})
}

// Memory is Options.MaxMemory as it is now.
func (r *Repository) Memory() int64 { return r.memory.Load() }

// makeRoom lets go of the models that were used least recently until so many more bytes fit. The one that the room is for stays.
func (r *Repository) makeRoom(bytes int64, besides slotKey) {
	limit := r.memory.Load()
	if limit <= 0 {
		return
	}
	type candidate struct {
		key  slotKey
		used int64
		size int64
	}
	replaces := bytes > 0 // what is there now is given back
	r.mu.Lock()
	next := r.current.Load().clone()
	var all []candidate
	for name, n := range next.models {
		for _, s := range n.versions {
			switch key := (slotKey{name, s.version}); {
			case s.loaded == nil || s.loaded.Custom:
			case key == besides && replaces:
			default:
				bytes += s.bytes
				if key != besides {
					all = append(all, candidate{key, s.loaded.used.Load(), s.bytes})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.used, b.used) })
	var gone []*Loaded
	for _, c := range all {
		if bytes <= limit {
			break
		}
		n := &named{versions: slices.Clone(next.models[c.key.name].versions)}
		next.models[c.key.name] = n
		i := slices.IndexFunc(n.versions, func(s slot) bool { return s.version == c.key.version })
		s := &n.versions[i]
		gone = append(gone, s.loaded)
		s.loaded, s.resting, s.reason = nil, true, restingReason
		bytes -= c.size
		r.tally(c.key.name).Evictions++
	}
	if len(gone) > 0 {
		r.current.Store(next)
	}
	r.mu.Unlock()
	for _, l := range gone {
		r.opts.Log.Info("model is let go of to make room", zap.String("model", l.Name), zap.String("version", l.Version))
		l.Release()
	}
}

// waking is a model being loaded because it was asked for.
type waking struct {
	done    chan struct{}
	err     error
	waiters int
}

// wake loads a model that rests, once for all that ask for it, and waits. The load goes on when those who asked are gone.
func (r *Repository) wake(ctx context.Context, key slotKey) error {
	r.mu.Lock()
	w := r.waking[key]
	if w == nil {
		w = &waking{done: make(chan struct{})}
		r.waking[key] = w
		go r.load(context.WithoutCancel(ctx), key, w) // it is for all that ask, not for the first
	}
	if w.waiters >= maxWaking {
		r.mu.Unlock()
		return protocol.Errorf(protocol.TooMany, "model %s is being loaded, and %d requests wait for it: retry later", key.name, maxWaking)
	}
	w.waiters++
	r.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		r.mu.Lock()
		w.waiters--
		r.mu.Unlock()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return protocol.Errorf(protocol.Deadline, "the deadline passed while model %s was loaded", key.name)
		}
		return protocol.Wrap(ctx.Err(), protocol.Canceled, "the client went away while model %s was loaded", key.name)
	}
}

// load is what a waking model's waiters wait for.
func (r *Repository) load(ctx context.Context, key slotKey, w *waking) {
	defer r.lock(key.name)()
	s, err := r.current.Load().find(key.name, key.version)
	switch {
	case err != nil:
		w.err = err
	case s.resting: // and nobody loaded or removed it meanwhile
		if err := r.add(ctx, s.source); err != nil {
			r.opts.Log.Error("model is not loaded again", zap.String("model", key.name), zap.String("version", key.version), zap.Error(err))
			w.err = notReady(key.name)
		}
	}
	r.mu.Lock()
	delete(r.waking, key)
	r.mu.Unlock()
	close(w.done)
}

// Used is the memory that all models of engines take, in bytes.
func (r *Repository) Used() (bytes int64) {
	for n := range maps.Values(r.current.Load().models) {
		for _, s := range n.versions {
			if s.loaded != nil {
				bytes += s.bytes
			}
		}
	}
	return bytes
}
