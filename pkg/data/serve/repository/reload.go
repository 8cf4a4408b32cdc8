// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Reload is the repository API's load. Under a root it reads <root>/<name> again, and the model goes to the end of the list; without one
// it only answers whether the model is ready. Errors are *protocol.Error: Unavailable with the reason, or NotFound for a name
// that cannot be a directory's.
func (r *Repository) Reload(ctx context.Context, name string) error {
	if _, placed := r.place(name); !placed {
		entry, err := r.Status(name, "")
		if err != nil || entry.State != Ready {
			return notReady(name)
		}
		return nil
	}
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return notFound(name)
	}
	defer r.lock(name)()
	if ctx.Err() != nil { // given up while others loaded it: their work is not done again for nobody
		return protocol.Wrap(ctx.Err(), protocol.Unavailable, "the client went away before model %s was loaded", name)
	}
	_, known := r.current.Load().models[name]
	if err := r.reload(ctx, name); err != nil {
		if !known {
			r.drop(name)
		}
		reason := r.relative(strings.TrimPrefix(err.Error(), "load model "+name+": "))
		e := protocol.Wrap(err, protocol.Unavailable, "Model with name %s is not ready. %s", name, reason)
		return e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.current.Load().clone()
	if i := slices.Index(next.names, name); i >= 0 {
		next.names = append(slices.Delete(next.names, i, i+1), name)
		r.current.Store(next)
	}
	return nil
}

// AddFromRoot loads <root>/<name>. Unlike Reload it keeps the name of a model that cannot be loaded, with the reason, in the index.
func (r *Repository) AddFromRoot(ctx context.Context, name string) error {
	defer r.lock(name)()
	return r.reload(ctx, name)
}

func (r *Repository) reload(ctx context.Context, name string) error {
	src, _ := r.place(name)
	now := attempt{src, src.fingerprint()} // before anything is read: what changes meanwhile is read again
	r.mu.Lock()
	r.looked[name] = now
	r.mu.Unlock()
	sources, err := r.sources(name)
	if err != nil {
		return err
	}
	var failed []error
	for _, src := range sources {
		if err := r.add(ctx, src); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == len(sources) {
		return errors.Join(failed...)
	}
	r.keep(name, sources)
	return nil
}

// keep stops serving the versions of a name that are not among sources: their directories are gone.
func (r *Repository) keep(name string, sources []Source) {
	r.mu.Lock()
	next := r.current.Load().clone()
	n := &named{}
	var gone []*Loaded
	for _, s := range next.models[name].versions {
		if slices.ContainsFunc(sources, func(src Source) bool { return src.Version == s.version }) {
			n.versions = append(n.versions, s)
		} else {
			delete(r.failed, slotKey{name, s.version})
			if s.loaded != nil {
				gone = append(gone, s.loaded)
			}
		}
	}
	next.models[name] = n
	r.current.Store(next)
	r.mu.Unlock()
	for _, l := range gone {
		l.Release()
	}
}
