// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pickle reads Python's pickle files and joblib's, of all versions, as plain values: a bounded interpreter that builds
// containers, arrays and inert objects, and neither looks up nor calls anything that the file names.
//
// Called by: data/serve/engine/sklearn.
// Next: data/serve/engine/sklearn, which turns an Object into an estimator.
package pickle

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// Options bound what Load may do.
type Options struct {
	// Size is the number of bytes in the reader; 0 when unknown.
	Size int64
	// MaxBytes bounds the memory that the values take; 0 means 32 MiB and 64 bytes for each byte of the file.
	MaxBytes int64
	// Side opens a file beside the pickle, by its plain name: joblib 0.9 kept its arrays there. nil means that there is none.
	Side func(name string) (io.ReadCloser, error)
}

const (
	baseBytes   = 32 << 20
	bytesFactor = 64
	maxDepth    = 1000
)

// Load reads one pickle or joblib file, compressed or not, which it tells by its bytes, to its end.
// It returns a *Refused for a name outside the allow list, a *Damaged for anything else.
func Load(r io.Reader, o Options) (any, error) {
	limit := o.MaxBytes
	if limit <= 0 {
		limit = baseBytes + bytesFactor*max(o.Size, 0)
	}
	b := &budget{left: limit, limit: limit}
	size := o.Size
	if size <= 0 {
		size = -1
	}
	plain, size, err := decompress(r, size, b)
	if err != nil {
		return nil, err
	}
	m := &machine{source: newSource(plain, size, b), wrappers: &joblibArrays{side: o.Side}}
	if err := m.recognise(); err != nil {
		return nil, err
	}
	v, err := m.run()
	if err != nil {
		return nil, err
	}
	if size < 0 {
		// The checksum of compressed data stands at its end.
		if err := m.drain(); err != nil {
			return nil, err
		}
	}
	if err := shallow(v, b.limit); err != nil {
		return nil, m.damaged("%v", err)
	}
	return v, nil
}

// recognise looks at the first bytes, so that an HTML page or an ONNX model gets a better message than an unknown opcode.
func (m *machine) recognise() error {
	head, err := m.r.Peek(16)
	if err != nil && !errors.Is(err, io.EOF) {
		return m.failed(err)
	}
	if len(head) == 0 {
		return m.damaged("the file is empty")
	}
	if head[0] == 0x80 || strings.IndexByte("(]})clNIJKLMGFSTUVXi", head[0]) >= 0 {
		return nil
	}
	return m.damaged("the file is neither a pickle nor a joblib file: it begins with %q", head)
}

// drain reads to the end of the source within the budget.
func (s *source) drain() error {
	n, err := io.Copy(io.Discard, io.LimitReader(s.r, s.budget.left+1))
	s.offset += n
	if err != nil {
		return s.failed(err)
	}
	return s.charge(n)
}

// rest reads everything that is left, within the budget.
func (s *source) rest() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(s.r, s.budget.left+1))
	if err != nil {
		return nil, s.failed(err)
	}
	return data, s.charge(int64(len(data)))
}

// decompress finds out how r is compressed and returns the plain stream, with its size where that is known, else -1.
func decompress(r io.Reader, size int64, b *budget) (io.Reader, int64, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(21)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, &Damaged{Reason: "the file cannot be read: " + err.Error(), Cause: err}
	}
	plain, name, err := decompressor(in, head, b)
	switch {
	case err != nil:
		return nil, 0, &Damaged{Reason: fmt.Sprintf("the %s data is damaged: %v", name, err), Cause: err}
	case plain == nil:
		return in, size, nil
	}
	return &decoder{plain, name}, -1, nil
}

// decoder says in its errors which compression failed.
type decoder struct {
	io.Reader
	name string
}

func (n *decoder) Read(p []byte) (int, error) {
	k, err := n.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the %s data is damaged: %w", n.name, err)
	}
	return k, err
}

// decompressor returns nil for plain data.
func decompressor(in *bufio.Reader, head []byte, b *budget) (r io.Reader, name string, err error) {
	has := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case has("\x1f\x8b"):
		r, err = gzip.NewReader(in)
		return r, "gzip", err
	case has("BZh"):
		return bzip2.NewReader(in), "bzip2", nil
	case has("\xfd7zXZ\x00"):
		// The dictionary is the file's own, where it is larger. Whoever keeps one model in a file writes one stream.
		r, err = xz.ReaderConfig{DictCap: lzma.MinDictCap, SingleStream: true}.NewReader(&xzBlocks{in: in, limit: int64(dictionary(b))})
		return r, "xz", err
	case len(head) >= 13 && has("\x5d\x00\x00"):
		r, err = lzma.ReaderConfig{DictCap: dictionary(b)}.NewReader(in)
		return r, "lzma", err
	case has("\x04\x22\x4d\x18"):
		return lz4.NewReader(in), "lz4", nil
	case has("ZF0x"):
		return zFile(in, head)
	case len(head) >= 2 && head[0] == 0x78 && (int(head[0])<<8|int(head[1]))%31 == 0:
		r, err = zlib.NewReader(in)
		return r, "zlib", err
	}
	return nil, "", nil
}

// dictionary bounds the window that a compressed file may ask for: Python's highest preset takes 64 MiB.
func dictionary(b *budget) int { return int(min(b.limit*2, 64<<20)) }

// zFile opens joblib 0.9's compressed file: "ZF", the plain length in hexadecimal, padded, then zlib.
func zFile(in *bufio.Reader, head []byte) (io.Reader, string, error) {
	const name = "joblib zlib"
	// The length is padded to 18 or, where the writer's longest number ended in L, 19 characters.
	width := 20
	if len(head) < width+1 {
		return nil, name, io.ErrUnexpectedEOF
	}
	if c := head[20]; c == ' ' || c == 'L' {
		width = 21
	}
	digits := strings.TrimSuffix(strings.TrimRight(string(head[4:width]), " "), "L")
	length, err := strconv.ParseInt(digits, 16, 64)
	if err != nil {
		return nil, name, fmt.Errorf("its length %q is no number", digits)
	}
	if _, err := in.Discard(width); err != nil {
		return nil, name, err
	}
	z, err := zlib.NewReader(in)
	if err != nil {
		return nil, name, err
	}
	_ = length // a claim only: the data says how long it is
	return z, name, nil
}
