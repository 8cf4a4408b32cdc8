// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// maxLink is the longest target of a symbolic link in a zip.
const maxLink = 4096

// FromZip unpacks a zip.
func FromZip(r io.ReaderAt, size int64, sink Sink, lim Limits) (Stats, error) {
	at := &sourceAt{r: r}
	u := newUnpacker(sink, lim, func() int64 { return size })
	err := u.zip(at, size)
	if at.err != nil {
		return u.stats, at.err
	}
	return u.stats, err
}

// sourceAt keeps the reader's own errors.
type sourceAt struct {
	r   io.ReaderAt
	err error
}

func (s *sourceAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (u *unpacker) zip(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return damaged(err)
	}
	if len(z.File) > u.lim.Files {
		return fmt.Errorf("%w: more than %d entries", ErrLimit, u.lim.Files)
	}
	for _, f := range z.File {
		if err := u.zipEntry(f); err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipEntry(f *zip.File) error {
	name := f.Name
	if !strings.Contains(name, "/") && strings.Contains(name, `\`) {
		// Written by a program that used the wrong separator.
		name = strings.ReplaceAll(name, `\`, "/")
	}
	mode := f.Mode()
	switch {
	case strings.HasSuffix(name, "/") || mode.IsDir():
		return u.dir(name)
	case f.Flags&1 != 0:
		return fmt.Errorf("%w: entry %q is encrypted", ErrFormat, name)
	case mode&fs.ModeSymlink == 0 && !mode.IsRegular():
		return fmt.Errorf("%w: entry %q is neither file, folder nor link", ErrUnsafe, name)
	}
	if f.UncompressedSize64 > uint64(u.lim.Bytes) {
		return u.overBytes()
	}
	content, err := f.Open()
	if err != nil {
		return damaged(err)
	}
	defer content.Close()
	if mode&fs.ModeSymlink != 0 {
		target, err := io.ReadAll(io.LimitReader(content, maxLink+1))
		if err != nil {
			return damaged(err)
		}
		return u.symlink(name, string(target))
	}
	return u.file(name, mode&0o111 != 0, int64(f.UncompressedSize64), content)
}
