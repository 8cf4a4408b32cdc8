// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// record is what a target tells about itself: which sources it was fetched from, in which versions, and which files they brought.
type record struct {
	Sources []recordSource `json:"sources"`
}

type recordSource struct {
	Source  string         `json:"source"`
	Objects []recordObject `json:"objects"`
	// Unpacked holds the files that came out of an archive; empty when the objects themselves are the files.
	Unpacked []recordFile `json:"unpacked,omitempty"`
}

type recordObject struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Version string `json:"version,omitempty"`
}

type recordFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// readRecord returns an empty record where there is none, or none that can be read: then nothing is known, and all is fetched.
func readRecord(dir string) record {
	var rec record
	data, err := os.ReadFile(filepath.Join(dir, recordName))
	if err != nil || json.Unmarshal(data, &rec) != nil {
		return record{}
	}
	return rec
}

func (r record) write(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// An archive may have brought something of this name, a link even.
	if err := os.RemoveAll(filepath.Join(dir, recordName)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordName), append(data, '\n'), 0o644) //nolint:gosec // other users read the model too
}

// find returns the entry of a source.
func (r record) find(source string) *recordSource {
	i := slices.IndexFunc(r.Sources, func(s recordSource) bool { return s.Source == source })
	if i < 0 {
		return nil
	}
	return &r.Sources[i]
}

// with returns the record with one source's entry added or replaced.
func (r record) with(s recordSource) record {
	out := record{Sources: slices.Clone(r.Sources)}
	if old := out.find(s.Source); old != nil {
		*old = s
	} else {
		out.Sources = append(out.Sources, s)
	}
	return out
}

// files are the paths and sizes that the source put into the target.
func (s *recordSource) files() []recordFile {
	if len(s.Unpacked) > 0 {
		return s.Unpacked
	}
	out := make([]recordFile, len(s.Objects))
	for i, o := range s.Objects {
		out[i] = recordFile{o.Path, o.Size}
	}
	return out
}

// current says that the target holds exactly the listed versions, and that no file was lost or cut since.
func (s *recordSource) current(objects []provider.Object, dir string) bool {
	if s == nil || len(s.Objects) != len(objects) {
		return false
	}
	for i, o := range objects {
		if o.Version == "" || s.Objects[i] != (recordObject{o.Path, o.Size, o.Version}) {
			return false
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	for _, f := range s.files() {
		info, err := root.Lstat(f.Path)
		if err != nil || info.Mode().IsRegular() && f.Size >= 0 && info.Size() != f.Size {
			return false
		}
	}
	return true
}

// owns says that all the target holds came from this source: then, and only then, the target may be replaced as a whole.
func (r record) owns(source, dir string) bool {
	if len(r.Sources) != 1 || r.Sources[0].Source != source {
		return false
	}
	known := map[string]bool{recordName: true}
	for _, f := range r.Sources[0].files() {
		known[f.Path] = true
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !known[name] {
			err = fs.ErrExist
		}
		return err
	})
	return err == nil
}

// stale lists the files of the old entry that the new one lacks and that no other source brought.
func (r record) stale(now recordSource) []string {
	old := r.find(now.Source)
	if old == nil {
		return nil
	}
	keep := map[string]bool{}
	for _, f := range now.files() {
		keep[f.Path] = true
	}
	for i := range r.Sources {
		if r.Sources[i].Source != now.Source {
			for _, f := range r.Sources[i].files() {
				keep[f.Path] = true
			}
		}
	}
	var out []string
	for _, f := range old.files() {
		if !keep[f.Path] {
			out = append(out, f.Path)
		}
	}
	return out
}
