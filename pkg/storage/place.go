// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"
)

const (
	// workSuffix names the directory that holds an unfinished fetch.
	workSuffix = ".kserve-fetch"
	// recordName is the file that a finished fetch leaves in its target: a plain, hidden file with no extension, so that no model
	// server takes it for a model.
	recordName = ".kserve-fetched"
	// lockPoll is how often a waiting fetch looks whether the other one is done.
	lockPoll = 100 * time.Millisecond
)

// place is a locked target: where it is, and where the unfinished tree stands until it is published.
//
// Normally the work directory is the target's hidden sibling, and publishing is one rename. Where the target is a mount point, or
// its parent cannot be written (a volume in a pod), it is a hidden child, and publishing renames the tree's entries one by one, the
// record last.
type place struct {
	dir    string
	work   string
	inside bool
	lock   *os.File
}

func (p *place) tree() string    { return filepath.Join(p.work, "tree") }
func (p *place) spool() string   { return filepath.Join(p.work, "spool") }
func (p *place) journal() string { return filepath.Join(p.work, "journal") }

// openPlace makes what is missing, takes the target's lock and waits for whoever holds it.
func (f *Fetcher) openPlace(ctx context.Context, dir string, log *zap.Logger) (*place, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a directory", dir)
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	waited := false
	for {
		p := &place{dir: dir, work: filepath.Join(parent, "."+filepath.Base(dir)+workSuffix)}
		if err := p.acquire(parent, f.mounted(dir)); err != nil {
			return nil, err
		}
		held, err := p.tryLock()
		if held {
			return p, nil
		}
		p.close()
		if err != nil {
			return nil, err
		}
		if !waited {
			waited = true
			log.Info("another fetch of this target is running: waiting for it")
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockPoll):
		}
	}
}

// acquire decides between sibling and child, and opens what is locked: the sibling work directory, or the target itself.
func (p *place) acquire(parent string, mounted bool) (err error) {
	p.inside = mounted || parent == p.dir
	locked := p.work
	if !p.inside {
		err = os.Mkdir(p.work, 0o755)
		switch {
		case err == nil || errors.Is(err, fs.ErrExist):
		case errors.Is(err, fs.ErrPermission) || readOnly(err):
			p.inside = true
		default:
			return err
		}
	}
	if p.inside {
		p.work = filepath.Join(p.dir, workSuffix)
		locked = p.dir
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return err
		}
	}
	p.lock, err = os.Open(locked)
	if errors.Is(err, fs.ErrNotExist) {
		// The previous holder just removed its work directory: the next round makes it anew.
		return nil
	}
	return err
}

// tryLock reports whether the lock is held, and is still that of the directory in place.
func (p *place) tryLock() (bool, error) {
	if p.lock == nil {
		return false, nil
	}
	if held, err := flock(p.lock); !held || err != nil {
		return false, err
	}
	mine, err := p.lock.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(p.lock.Name())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	if !os.SameFile(mine, now) {
		return false, nil
	}
	if err := os.MkdirAll(p.work, 0o755); err != nil {
		return false, err
	}
	return true, nil
}

// close lets the lock go.
func (p *place) close() {
	if p.lock != nil {
		_ = p.lock.Close()
	}
}

// discard removes the unfinished tree and its journal.
func (p *place) discard() error { return os.RemoveAll(p.work) }

// publish makes the finished tree the target. Before it, the tree is complete and on disk; the record is part of the tree.
// replace says that all the target holds came from an earlier fetch of the same source; stale are files of such a fetch, among
// others, that the new tree lacks.
func (p *place) publish(replace bool, stale []string) error {
	if !p.inside {
		// A rename onto a missing or empty directory is the common case, and needs no look first.
		err := os.Rename(p.tree(), p.dir)
		if err == nil {
			return p.published()
		}
		if !errors.Is(err, fs.ErrExist) && !notEmpty(err) {
			return err
		}
		if replace && exchange(p.tree(), p.dir) == nil {
			return p.published()
		}
	}
	if err := merge(p.tree(), p.dir); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range stale {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// Folders that this left empty go too; a folder that still holds something stays, which is what the error says.
		for d := filepath.Dir(name); d != "."; d = filepath.Dir(d) {
			if root.Remove(d) != nil {
				break
			}
		}
	}
	return p.published()
}

// published makes the renames durable and removes what is left of the work.
func (p *place) published() error {
	for _, d := range []string{p.dir, filepath.Dir(p.dir)} {
		if err := syncDir(d); err != nil && (d == p.dir || !errors.Is(err, fs.ErrPermission)) {
			return err
		}
	}
	return p.discard()
}

// merge moves every entry of from into to, folder by folder; the record comes last.
func merge(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	move := func(e fs.DirEntry) error {
		src, dst := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		old, err := os.Lstat(dst)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case e.IsDir() && old.IsDir():
			return merge(src, dst)
		case e.IsDir() != old.IsDir() && old.Mode()&fs.ModeSymlink == 0:
			return fmt.Errorf("%s is in the way: one is a folder, the other a file", dst)
		case e.IsDir():
			if err := os.Remove(dst); err != nil {
				return err
			}
		}
		return os.Rename(src, dst)
	}
	var record fs.DirEntry
	for _, e := range entries {
		if e.Name() == recordName {
			record = e
			continue
		}
		if err := move(e); err != nil {
			return err
		}
	}
	if record != nil {
		return move(record)
	}
	return nil
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
