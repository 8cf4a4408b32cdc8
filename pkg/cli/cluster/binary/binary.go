// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package binary finds and builds kserve-cluster, the Kubernetes of one binary whose sources are local/: the build target and the
// look-up name it by the same hash of everything that its build reads.
//
// Called by: cli/cluster, which starts it; the program in its folder cmd, which is `make local-cluster`.
// Next: local/, which is a module of its own and is never imported.
package binary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Name is the file name of the cluster binary.
const Name = "kserve-cluster"

// ErrNone says that there is no cluster binary where one is looked for.
var ErrNone = errors.New("no cluster binary")

// Where tells the places to look in.
type Where struct {
	// Explicit is the path that a person gave; nothing else is tried then.
	Explicit string
	// Executable is the running program: a binary beside it comes before the cache.
	Executable string
	// Start is the folder from which a checkout is looked for, upwards.
	Start string
	// Cache is the folder of built binaries; empty means CacheDir.
	Cache string
}

// Here is where a person who started this program in this folder would look.
func Here(explicit string) Where {
	w := Where{Explicit: explicit}
	// What the machine does not tell is a place less to look in.
	w.Executable, _ = os.Executable()
	w.Start, _ = os.Getwd()
	return w
}

// CacheDir is where built binaries are kept, one folder per hash.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w (set XDG_CACHE_HOME or HOME)", err)
	}
	return filepath.Join(base, "kserve-go", "cluster"), nil
}

// Find returns the path of the cluster binary: the one that was named, the one beside this program, the one of this checkout's
// sources in the cache, or, outside a checkout, the one in the cache that was used last.
func Find(ctx context.Context, w Where) (string, error) {
	if w.Explicit != "" {
		if err := executable(w.Explicit); err != nil {
			return "", fmt.Errorf("the cluster binary that was named: %w", err)
		}
		return filepath.Abs(w.Explicit)
	}
	beside := ""
	if w.Executable != "" {
		beside = filepath.Join(filepath.Dir(w.Executable), Name)
		if executable(beside) == nil {
			return beside, nil
		}
	}
	if w.Cache == "" {
		dir, err := CacheDir()
		if err != nil {
			return "", err
		}
		w.Cache = dir
	}
	if root, ok := w.checkout(); ok {
		return ofCheckout(ctx, root, w.Cache)
	}
	entries, err := entries(w.Cache)
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", fmt.Errorf("%w: put %s beside kserve (%s) or name one with --cluster-binary; `make local-cluster` in a checkout of kserve-go builds it",
			ErrNone, Name, beside)
	}
	return entries[0].path, nil
}

func ofCheckout(ctx context.Context, root, cache string) (string, error) {
	s, err := Read(ctx, root)
	if err != nil {
		return "", err
	}
	path := s.path(cache)
	if executable(path) != nil {
		return "", fmt.Errorf("%w for the sources of this checkout (%s): run `make local-cluster` there; a first build takes about 25 minutes on two processors, a later one half a minute",
			ErrNone, root)
	}
	touch(path)
	return path, nil
}

// checkout is the root of the checkout that the person or the program is in.
func (w Where) checkout() (string, bool) {
	for _, start := range []string{w.Start, filepath.Dir(w.Executable)} {
		if root, ok := Checkout(start); ok {
			return root, true
		}
	}
	return "", false
}

// Checkout is the folder at or above dir that has the sources of the cluster binary.
func Checkout(dir string) (string, bool) {
	if dir == "" || dir == "." {
		return "", false
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, sources, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+modulePath+"\n") {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

func executable(path string) error {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !fi.Mode().IsRegular() || fi.Mode()&0o111 == 0:
		return fmt.Errorf("%s is no program", path)
	}
	return nil
}

// touch makes an entry the one that was used last: the oldest ones are thrown away.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now) // a cache that may not be written is not cleaned either
}

// entry is one built binary.
type entry struct {
	path string
	used time.Time
}

// entries are the built binaries, the one used last first.
func entries(cache string) ([]entry, error) {
	dirs, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cache of cluster binaries: %w", err)
	}
	var found []entry
	for _, d := range dirs {
		path := filepath.Join(cache, d.Name(), Name)
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			found = append(found, entry{path, fi.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b entry) int { return b.used.Compare(a.used) })
	return found, nil
}
