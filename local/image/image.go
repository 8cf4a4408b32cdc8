// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image turns the image name of a container into files and a command: by a map of names to programs of this machine, folders
// or OCI layouts. There is no registry.
//
// Called by: node, before it starts a container; command, to load a layout.
// Next: runtime, which starts the container.
package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ErrNotMapped says that no map has the image.
var ErrNotMapped = errors.New("no such image")

// Entry is what a map says about an image. Exactly one of Layout and RootFS is set, or neither: then the container sees the programs
// and libraries of this machine.
type Entry struct {
	// Layout is the folder of an OCI image layout; its config gives command, environment, user and folder.
	Layout string `json:"layout,omitempty"`
	// RootFS is a folder with the image's files.
	RootFS string `json:"rootfs,omitempty"`
	// HostDirs are more folders of this machine to show when there are no files of its own.
	HostDirs []string `json:"hostDirs,omitempty"`

	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	Env        []string `json:"env,omitempty"`
	WorkingDir string   `json:"workingDir,omitempty"`
	User       string   `json:"user,omitempty"`
	StopSignal string   `json:"stopSignal,omitempty"`
}

// Image is an entry whose files are ready to use.
type Image struct {
	Entry
	// ID names the content.
	ID string
}

// Store reads maps, the later winning, and keeps unpacked layouts in a folder.
type Store struct {
	maps  []string
	cache string

	mu sync.Mutex // one layout is unpacked at a time
}

// NewStore does no I/O. Paths in a map are relative to the map's folder.
func NewStore(cache string, maps ...string) *Store {
	return &Store{maps: maps, cache: cache}
}

// Find returns the image of that name: by the full reference, by the one without tag and digest, by its last element.
func (s *Store) Find(ref string) (*Image, error) {
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, key := range keys(ref) {
		if e, ok := entries[key]; ok {
			return s.ready(key, e)
		}
	}
	known := slices.Sorted(maps.Keys(entries))
	const shown = 20
	if len(known) > shown {
		known = append(known[:shown:shown], "…")
	}
	return nil, fmt.Errorf("image %q: %w: the image map has %q (add one with `load`)", ref, ErrNotMapped, known)
}

func keys(ref string) []string {
	bare, _, _ := strings.Cut(ref, "@")
	out := []string{ref, bare}
	if i := strings.LastIndex(bare, ":"); i > strings.LastIndex(bare, "/") {
		bare = bare[:i]
	}
	return append(out, bare, bare[strings.LastIndex(bare, "/")+1:])
}

func (s *Store) read() (map[string]Entry, error) {
	all := map[string]Entry{}
	for _, file := range s.maps {
		m, err := readMap(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, m)
	}
	return all, nil
}

// rawMap is the map as it is written.
func rawMap(file string) (map[string]Entry, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read image map: %w", err)
	}
	m := map[string]Entry{}
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("read image map %s: %w", file, err)
	}
	return m, nil
}

// readMap makes paths absolute.
func readMap(file string) (map[string]Entry, error) {
	m, err := rawMap(file)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(file)
	for name, e := range m {
		for _, p := range []*string{&e.Layout, &e.RootFS} {
			if *p != "" && !filepath.IsAbs(*p) {
				*p = filepath.Join(dir, *p)
			}
		}
		if len(e.Entrypoint) > 0 && strings.HasPrefix(e.Entrypoint[0], "./") && e.Layout == "" && e.RootFS == "" {
			e.Entrypoint = append([]string{filepath.Join(dir, e.Entrypoint[0])}, e.Entrypoint[1:]...)
		}
		m[name] = e
	}
	return m, nil
}

func (s *Store) ready(name string, e Entry) (*Image, error) {
	if e.Layout != "" {
		return s.unpacked(name, e)
	}
	if e.RootFS != "" {
		if fi, err := os.Stat(e.RootFS); err != nil || !fi.IsDir() {
			return nil, fmt.Errorf("image %q: its files should be in %s, which is no folder", name, e.RootFS)
		}
	}
	return &Image{Entry: e, ID: "local/" + name}, nil
}

// Sweep removes unpacked images that no map names any more, and those that were not finished.
func (s *Store) Sweep() error {
	unpacked, err := os.ReadDir(s.cache)
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(unpacked) == 0) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read unpacked images: %w", err)
	}
	entries, err := s.read()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for name, e := range entries {
		if e.Layout == "" {
			continue
		}
		// A layout that cannot be read is reported when a container wants it.
		if img, err := openLayout(e.Layout, name); err == nil {
			if d, err := img.Digest(); err == nil {
				used[d.Hex] = true
			}
		}
	}
	for _, u := range unpacked {
		if !used[u.Name()] {
			if err := os.RemoveAll(filepath.Join(s.cache, u.Name())); err != nil {
				return fmt.Errorf("remove unused image: %w", err)
			}
		}
	}
	return nil
}
