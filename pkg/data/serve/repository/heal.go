// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"
)

// attempt is a load that failed, and what the files looked like when it began.
type attempt struct {
	src   Source
	files uint64
}

// maxLooked bounds the files of one model that are looked at.
const maxLooked = 1000

// fingerprint tells whether a model's files have changed: their names, sizes and times. It follows links, as volumes of Kubernetes are
// made of them.
func (r *Repository) fingerprint(src Source) uint64 {
	if src.Model != nil {
		return 0
	}
	return fingerprint(src.Path)
}

func fingerprint(path string) uint64 {
	h := fnv.New64a()
	looked := 0
	var look func(path string)
	look = func(path string) {
		info, err := os.Stat(path)
		if looked++; looked > maxLooked {
			return
		}
		if err != nil {
			fmt.Fprintln(h, path, "absent")
			return
		}
		target, _ := filepath.EvalSymlinks(path)
		fmt.Fprintln(h, path, target, info.Size(), info.Mode().Type(), info.ModTime().UnixNano())
		if !info.IsDir() {
			return
		}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			// Names with a dot in front are what links lead to, or are not finished.
			if !strings.HasPrefix(e.Name(), ".") && e.Type() != fs.ModeNamedPipe {
				look(filepath.Join(path, e.Name()))
			}
		}
	}
	look(path)
	return h.Sum64()
}

// Heal loads again what could not be loaded and whose files have changed since.
func (r *Repository) Heal(ctx context.Context) {
	r.mu.Lock()
	var changed []attempt
	for _, a := range r.failed {
		changed = append(changed, a)
	}
	r.mu.Unlock()
	healed := map[string]bool{}
	for _, a := range changed {
		if ctx.Err() != nil {
			return
		}
		if healed[a.src.Name] || a.src.Model != nil || fingerprint(a.src.Path) == a.files {
			continue
		}
		healed[a.src.Name] = true
		if err := r.heal(ctx, a.src); err != nil {
			r.opts.Log.Warn("model still cannot be loaded", zap.String("model", a.src.Name), zap.Error(err))
		}
	}
}

func (r *Repository) heal(ctx context.Context, src Source) error {
	one := r.lock(src.Name)
	one.Lock()
	defer one.Unlock()
	r.mu.Lock()
	_, still := r.failed[slotKey{src.Name, src.Version}]
	r.mu.Unlock()
	if !still {
		return nil
	}
	// A model that has a directory of models, or a place, is read as it was: its versions may be others now.
	if place, ok := r.place(src.Name); ok && (src.Path == place.Path || filepath.Dir(src.Path) == place.Path) {
		return r.reload(ctx, src.Name)
	}
	return r.add(ctx, src)
}

// Place gives a name a directory and an engine of its own, from which AddFromRoot and Reload read it. Version and Model are not used.
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

// Refuse puts a name into the index that cannot be loaded, with the reason. A model that serves under it goes on.
func (r *Repository) Refuse(name string, reason error) {
	r.change(name, "", func(s *slot) {
		if !s.serves() {
			s.state = Unavailable
		}
		s.reason = reason.Error()
	})
}
