// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podlog keeps what containers print: one file per run of a container, each line with its time and stream, in the format of
// container runtimes, so that tail, since, timestamps, previous and follow can be answered.
//
// Called by: node (Writer) and kubelet (Copy).
// Next: nothing; the files end with their pod.
package podlog

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// maxSize bounds a file; a second one of the same size is kept as the older half.
	maxSize = 32 << 20
	// maxLine is where a line without end is cut into parts.
	maxLine = 16 << 10
)

// Path is the file of a container's n-th run.
func Path(dir, container string, run int32) string {
	return filepath.Join(dir, container, strconv.Itoa(int(run))+".log")
}

// Writer is the file of one run.
type Writer struct {
	mu   sync.Mutex
	file *os.File
	size int64
}

// Create opens a new file.
func Create(path string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make log folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	return &Writer{file: f}, nil
}

// Close ends the file.
func (w *Writer) Close() error { return w.file.Close() }

// Stream is a writer for stdout or stderr. It never fails: a full disk must not stop a program.
func (w *Writer) Stream(name string) io.Writer { return &stream{to: w, name: name} }

type stream struct {
	to   *Writer
	name string
	rest []byte
}

func (s *stream) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.rest = append(s.rest, p...)
			for len(s.rest) >= maxLine {
				s.to.line(s.name, "P", s.rest[:maxLine])
				s.rest = append(s.rest[:0], s.rest[maxLine:]...)
			}
			return n, nil
		}
		s.to.line(s.name, "F", append(s.rest, p[:i]...))
		s.rest, p = s.rest[:0], p[i+1:]
	}
}

// Flush writes a last line that had no end.
func Flush(w io.Writer) {
	if s, ok := w.(*stream); ok && len(s.rest) > 0 {
		s.to.line(s.name, "P", s.rest)
		s.rest = nil
	}
}

func (w *Writer) line(stream, tag string, text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size > maxSize {
		w.rotate()
	}
	b := make([]byte, 0, len(text)+48)
	b = time.Now().UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, ' ')
	b = append(b, stream...)
	b = append(b, ' ')
	b = append(b, tag...)
	b = append(b, ' ')
	b = append(b, text...)
	b = append(b, '\n')
	n, err := w.file.Write(b)
	w.size += int64(n)
	if err != nil {
		w.size = maxSize + 1 // try a fresh file with the next line
	}
}

func (w *Writer) rotate() {
	name := w.file.Name()
	if err := os.Rename(name, name+".old"); err != nil {
		return // the old file goes on growing: better than losing lines
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	w.file.Close()
	w.file, w.size = f, 0
}
