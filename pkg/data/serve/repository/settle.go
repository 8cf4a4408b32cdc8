// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"maps"
	"path/filepath"

	"go.uber.org/zap"
)

// Place gives a name a directory and an engine of its own, from which Settle, AddFromRoot and Reload read it. Version and Model are not used.
func (r *Repository) Place(src Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places[src.Name] = src
}

// Forget takes back what Place said.
func (r *Repository) Forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.places, name)
	delete(r.looked, name)
	delete(r.refused, name)
}

// place is where the model of a name is to be read from; false where there is no such place.
func (r *Repository) place(name string) (Source, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	src, ok := r.places[name]
	if !ok {
		if src.Path = *r.root.Load(); src.Path == "" {
			return src, false
		}
		src.Name, src.Path = name, filepath.Join(src.Path, name)
	}
	if src.Engine == "" {
		src.Engine = r.opts.Engine
	}
	src.Options = r.opts.EngineOptions
	return src, true
}

// Refuse puts a name into the index that cannot be loaded, with the reason. A model that serves under it goes on, and stays as it is until
// Place says what it shall be.
func (r *Repository) Refuse(name string, reason error) {
	r.change(name, "", func(s *slot) {
		if !s.serves() {
			s.state = Unavailable
		}
		s.reason = reason.Error()
		r.refused[name] = true
	})
}

// Settle makes a name's model the one that Place said last, or removes it after Forget, in the background: names side by side, each its own
// steps one after the other. A model that is there already, of files that have not changed, is left alone. A fault is logged, and in the index.
func (r *Repository) Settle(ctx context.Context, name string) {
	r.inTurn(ctx, name, func() { r.settle(ctx, name) })
}

// Wait returns when everything that was begun in the background has ended.
func (r *Repository) Wait() { r.background.Wait() }

// inTurn runs step in the background, after the step of the same name that runs, unless ctx has ended. Of more that wait only the last is
// taken: a step looks at how things are when it begins.
func (r *Repository) inTurn(ctx context.Context, name string, step func()) {
	next := func() {
		if ctx.Err() == nil {
			step()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, running := r.turns[name]; running {
		r.turns[name] = next
		return
	}
	r.turns[name] = nil
	r.background.Go(func() {
		for next != nil {
			next()
			r.mu.Lock()
			if next = r.turns[name]; next == nil {
				delete(r.turns, name)
			} else {
				r.turns[name] = nil
			}
			r.mu.Unlock()
		}
	})
}

func (r *Repository) settle(ctx context.Context, name string) {
	defer r.lock(name)()
	r.mu.Lock()
	_, placed := r.places[name]
	refused := r.refused[name]
	delete(r.refused, name)
	r.mu.Unlock()
	if !placed {
		r.remove(name)
		return
	}
	if src, _ := r.place(name); !refused && r.isLoaded(name, attempt{src, src.fingerprint()}) {
		return
	}
	if err := r.reload(ctx, name); err != nil {
		r.opts.Log.Error("model is not served", zap.String("model", name), zap.Error(err))
	}
}

// isLoaded says that the last load of a name, whatever came of it, was of this.
func (r *Repository) isLoaded(name string, a attempt) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	looked, ok := r.looked[name]
	return ok && looked == a
}

// Follower keeps a repository's models those of the files in their places. It is for one goroutine.
type Follower struct {
	r    *Repository
	dirs bool
	// seen is what the files of a name looked like at the last look; gone are directories that were not there.
	seen map[string]uint64
	gone map[string]bool
}

// Follow makes a Follower of all that Place names. With dirs it places the directories below the root, too.
func (r *Repository) Follow(dirs bool) *Follower {
	return &Follower{r: r, dirs: dirs, seen: map[string]uint64{}}
}

// Sync loads, in the background, models whose files are new or have changed, and look as at the last call: others are still being written.
// It removes the models of directories that are gone since the last call. An error, of a root that cannot be read, leaves all as it is.
func (f *Follower) Sync(ctx context.Context) error {
	if f.dirs {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	f.r.mu.Lock()
	places := maps.Clone(f.r.places)
	maps.DeleteFunc(places, func(name string, _ Source) bool { return f.r.refused[name] })
	f.r.mu.Unlock()
	seen := make(map[string]uint64, len(places))
	for name := range places {
		src, placed := f.r.place(name)
		if !placed {
			continue
		}
		files := src.fingerprint()
		seen[name] = files
		if before, known := f.seen[name]; known && before == files && !f.r.isLoaded(name, attempt{src, files}) {
			f.r.Settle(ctx, name)
		}
	}
	f.seen = seen
	return nil
}

// list places the directories that are there, and forgets those that were not there twice: one may be exchanged for another just now.
func (f *Follower) list(ctx context.Context) error {
	root := *f.r.root.Load()
	names, err := f.r.RootNames()
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
		f.r.Place(Source{Name: name, Path: filepath.Join(root, name)})
	}
	f.r.mu.Lock()
	places := maps.Clone(f.r.places)
	f.r.mu.Unlock()
	gone := map[string]bool{}
	for name := range places {
		switch {
		case there[name]:
		case f.gone[name]:
			f.r.Forget(name)
			f.r.Settle(ctx, name)
		default:
			gone[name] = true
		}
	}
	f.gone = gone
	return nil
}
