// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/unpack"
)

// run is one call of Fetch.
type run struct {
	f      *Fetcher
	p      Provider
	ref    modelref.Ref
	source string
	place  *place
	stats  *stats
	log    *zap.Logger
}

// once lists the source and brings the target to what was listed.
func (r *run) once(ctx context.Context) (Result, error) {
	r.stats.phase(PhaseListing)
	list, err := r.list(ctx)
	if err != nil {
		return Result{}, err
	}
	objects, err := r.f.check(list, r.source)
	if err != nil {
		return Result{}, err
	}
	had := readRecord(r.place.dir)
	if old := had.find(r.source); old.current(objects, r.place.dir) {
		if err := r.place.discard(); err != nil {
			return Result{}, err
		}
		r.log.Info("the target already holds this version", zap.Int("objects", len(objects)))
		res := r.result(old)
		res.UpToDate = true
		return res, nil
	}
	entry := recordSource{Source: r.source}
	for _, o := range objects {
		entry.Objects = append(entry.Objects, recordObject{o.Path, o.Size, o.Version})
	}
	if format := archiveOf(objects); format != unpack.None {
		entry.Unpacked, err = r.archive(ctx, objects[0], format)
	} else {
		err = r.files(ctx, objects)
	}
	if err != nil {
		return Result{}, err
	}
	return r.publish(had, entry)
}

// list asks the provider, again when it is unavailable.
func (r *run) list(ctx context.Context) (list provider.Listing, err error) {
	err = r.retry(ctx, "list", func(ctx context.Context) (bool, error) {
		list, err = r.p.List(ctx, r.ref)
		return false, err
	})
	return list, err
}

// files stages the objects under their own names.
func (r *run) files(ctx context.Context, objects []provider.Object) error {
	t, err := r.newTransfer(r.place.tree(), objects)
	if err != nil {
		return err
	}
	defer t.close()
	if n := r.stats.resumed.Load(); n > 0 {
		r.log.Info("going on where an earlier fetch stopped", zap.String("have", size(n)))
	}
	return t.run(ctx)
}

// publish writes the record into the staged tree and makes the tree the target.
func (r *run) publish(had record, entry recordSource) (Result, error) {
	r.stats.phase(PhasePublishing)
	rec := had.with(entry)
	if err := rec.write(r.place.tree()); err != nil {
		return Result{}, err
	}
	if err := errors.Join(syncFile(r.place.tree()+"/"+recordName), syncDir(r.place.tree())); err != nil {
		return Result{}, err
	}
	if err := r.place.publish(had.owns(r.source, r.place.dir), had.stale(entry)); err != nil {
		return Result{}, err
	}
	res := r.result(&entry)
	r.log.Info("fetched", zap.Int("files", res.Files), zap.String("size", size(res.Bytes)), zap.String("read", size(res.Fetched)),
		zap.Duration("took", res.Elapsed.Round(time.Millisecond)), zap.Int("retries", res.Retries))
	return res, nil
}

func (r *run) result(s *recordSource) Result {
	res := Result{
		Source: r.source, Dir: r.place.dir,
		Fetched: r.stats.fetched.Load(), Resumed: r.stats.resumed.Load(), Retries: int(r.stats.retries.Load()),
		Elapsed: time.Since(r.stats.started),
	}
	for _, f := range s.files() {
		res.Files++
		res.Bytes += max(f.Size, 0)
	}
	return res
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
