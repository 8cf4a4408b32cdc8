// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// castagnoli has an instruction of its own on common processors.
var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant table

// span is a range of a staged file that was written whole, and its checksum.
type span struct {
	Off, Len int64
	CRC      uint32
}

// line is one line of the journal: the header, or a span of one version of one file. Each stands alone, so a torn last line costs
// only itself.
type line struct {
	Boot    string `json:"boot,omitempty"`
	Path    string `json:"p,omitempty"`
	Size    int64  `json:"s,omitempty"`
	Version string `json:"v,omitempty"`
	Off     int64  `json:"o,omitempty"`
	Len     int64  `json:"n,omitempty"`
	CRC     uint32 `json:"c,omitempty"`
}

// journal notes what is on disk, so that a killed fetch goes on where it stopped. Lines are written, not synced: the page cache
// outlives the process, and after a restart of the machine every span is read back and checked.
type journal struct {
	mu sync.Mutex
	f  *os.File
	// buf is reused by every append.
	buf bytes.Buffer
}

type fileVersion struct {
	path, version string
	size          int64
}

// readJournal returns the spans by file, and whether they were written since the machine started.
func readJournal(name string) (map[fileVersion][]span, bool) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	found := map[fileVersion][]span{}
	boot := ""
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for sc.Scan() {
		var l line
		if json.Unmarshal(sc.Bytes(), &l) != nil {
			break
		}
		if l.Path == "" {
			boot = l.Boot
			continue
		}
		if l.Version == "" || l.Off < 0 || l.Len <= 0 {
			continue
		}
		k := fileVersion{l.Path, l.Version, l.Size}
		found[k] = append(found[k], span{l.Off, l.Len, l.CRC})
	}
	return found, boot != "" && boot == bootID()
}

// createJournal starts a journal anew, with the spans that survived.
func createJournal(name string, files []*file) (*journal, error) {
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644) //nolint:gosec // no secret in it
	if err != nil {
		return nil, err
	}
	j := &journal{f: f}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	err = enc.Encode(line{Boot: bootID()})
	for _, fl := range files {
		for _, s := range fl.done {
			err = errors.Join(err, enc.Encode(fl.line(s)))
		}
	}
	if err = errors.Join(err, w.Flush()); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return j, nil
}

func (f *file) line(s span) line {
	return line{Path: f.obj.Path, Size: f.obj.Size, Version: f.obj.Version, Off: s.Off, Len: s.Len, CRC: s.CRC}
}

// add appends one line in one write.
func (j *journal) add(l line) error {
	if l.Version == "" {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.buf.Reset()
	if err := json.NewEncoder(&j.buf).Encode(l); err != nil {
		return err
	}
	_, err := j.f.Write(j.buf.Bytes())
	return err
}

func (j *journal) close() { _ = j.f.Close() }

// resume sets what of the file is already staged. Spans must lie within the staged file; unless sure, their bytes are read back.
func (f *file) resume(root *os.Root, spans []span, sure bool) {
	info, err := root.Lstat(f.obj.Path)
	if err != nil || !info.Mode().IsRegular() || f.obj.Size <= 0 {
		return
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.Off, b.Off) })
	at, left := int64(0), f.obj.Size
	var kept []span
	for _, s := range spans {
		if s.Off < at || s.Off+s.Len > min(info.Size(), f.obj.Size) || !sure && !matches(root, f.obj.Path, s) {
			continue
		}
		at = s.Off + s.Len
		left -= s.Len
		kept = append(kept, s)
	}
	if f.obj.Ranges || left == 0 {
		f.done, f.left = kept, left
	}
}

// matches reads a span back and compares its checksum.
func matches(root *os.Root, name string, s span) bool {
	f, err := root.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	h := crc32.New(castagnoli)
	if _, err := io.Copy(h, io.NewSectionReader(f, s.Off, s.Len)); err != nil {
		return false
	}
	return h.Sum32() == s.CRC
}

// removeStray deletes what a staged tree holds besides the planned files: leftovers of another version of the source.
func removeStray(root *os.Root, planned map[string]bool) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || planned[name] {
			return err
		}
		return root.Remove(name)
	})
}
