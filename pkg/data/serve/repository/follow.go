// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"path/filepath"

	"go.uber.org/zap"
)

// Follower keeps a repository's models those of the directories below its root. It is for one goroutine.
type Follower struct {
	r *Repository
	// served is what a directory looked like when it was loaded; seen what it looked like at the last look.
	served, seen map[string]uint64
}

// Follow makes a Follower that takes the directories there are now for served.
func (r *Repository) Follow() (*Follower, error) {
	f := &Follower{r: r, served: map[string]uint64{}, seen: map[string]uint64{}}
	names, err := r.RootNames()
	for _, name := range names {
		f.served[name] = f.look(name)
	}
	return f, err
}

func (f *Follower) look(name string) uint64 {
	return fingerprint(filepath.Join(*f.r.root.Load(), name))
}

// Sync loads directories that are new or have changed, and that look as at the last call: others are still being written. It removes the
// models of directories that are gone.
func (f *Follower) Sync(ctx context.Context) error {
	names, err := f.r.RootNames()
	if err != nil {
		return err
	}
	now := map[string]uint64{}
	for _, name := range names {
		now[name] = f.look(name)
		if served, ok := f.served[name]; ok && served == now[name] || f.seen[name] != now[name] {
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		f.served[name] = now[name]
		if err := f.r.AddFromRoot(ctx, name); err != nil {
			f.r.opts.Log.Error("model is not served", zap.String("model", name), zap.Error(err))
		}
	}
	for name := range f.served {
		if _, ok := now[name]; !ok {
			delete(f.served, name)
			_ = f.r.Remove(name) // somebody may have done so
		}
	}
	f.seen = now
	return nil
}
