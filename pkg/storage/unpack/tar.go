// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// source counts what is read and keeps the reader's own errors apart from those of damaged data.
type source struct {
	r   io.Reader
	n   int64
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// FromTar unpacks a tar stream: plain, gzip or bzip2, told by its first bytes.
func FromTar(r io.Reader, sink Sink, lim Limits) (Stats, error) {
	src := &source{r: r}
	u := newUnpacker(sink, lim, func() int64 { return src.n })
	err := u.tar(src)
	if src.err != nil {
		// What the source says about itself matters more than what the decoder made of the cut.
		return u.stats, src.err
	}
	return u.stats, err
}

func (u *unpacker) tar(src *source) error {
	head := bufio.NewReaderSize(src, 64<<10)
	plain, err := decompress(head)
	if err != nil {
		return err
	}
	tr := tar.NewReader(plain)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return u.drain(plain)
		}
		if err != nil {
			return damaged(err)
		}
		if err := u.tarEntry(h, tr); err != nil {
			return err
		}
	}
}

// drain reads what follows the end mark, so that a checksum at the end of the stream is seen, and refuses a stream that has no end.
func (u *unpacker) drain(r io.Reader) error {
	if _, err := io.CopyN(io.Discard, r, 64<<20); err != nil && !errors.Is(err, io.EOF) {
		return damaged(err)
	}
	return nil
}

func (u *unpacker) tarEntry(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(h.Name, h.Mode&0o111 != 0, h.Size, content)
	case tar.TypeDir:
		return u.dir(h.Name)
	case tar.TypeSymlink:
		return u.symlink(h.Name, h.Linkname)
	case tar.TypeLink:
		return u.hardlink(h.Name, h.Linkname)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return fmt.Errorf("%w: entry %q is of type %q, neither file, folder nor link", ErrUnsafe, h.Name, h.Typeflag)
}

// decompress looks at the first bytes.
func decompress(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, damaged(err)
		}
		return z, nil
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(r), nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return nil, fmt.Errorf("%w: xz compression is not supported; use gzip", ErrFormat)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, fmt.Errorf("%w: zstd compression is not supported; use gzip", ErrFormat)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, fmt.Errorf("%w: it is a zip, named like a tar", ErrFormat)
	case len(head) < 512:
		return nil, fmt.Errorf("%w: only %d bytes", ErrFormat, len(head))
	}
	return r, nil
}

// damaged marks an error of a decoder as one of the data.
func damaged(err error) error {
	if errors.Is(err, ErrFormat) || errors.Is(err, ErrLimit) || errors.Is(err, ErrUnsafe) {
		return err
	}
	if ce, ok := errors.AsType[flate.CorruptInputError](err); ok {
		return fmt.Errorf("%w: damaged near byte %d", ErrFormat, int64(ce))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it ends too early", ErrFormat)
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}
