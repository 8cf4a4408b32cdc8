// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// budget bounds what one file may make us allocate, over all its parts.
type budget struct{ left, limit int64 }

// charge takes n bytes from the budget before they are allocated.
func (b *budget) charge(n int64) error {
	if n < 0 || n > b.left {
		return fmt.Errorf("asks for more than the %d bytes that a file of this size may take in memory", b.limit)
	}
	b.left -= n
	return nil
}

// source reads a stream whose total size may be known, and counts the bytes.
type source struct {
	r      *bufio.Reader
	offset int64
	size   int64 // -1 when unknown
	budget *budget
}

func newSource(r io.Reader, size int64, b *budget) *source {
	return &source{r: bufio.NewReaderSize(r, 64<<10), size: size, budget: b}
}

func (s *source) damaged(format string, args ...any) error {
	return &Damaged{Offset: s.offset, Reason: fmt.Sprintf(format, args...)}
}

func (s *source) charge(n int64) error {
	if err := s.budget.charge(n); err != nil {
		return s.damaged("%v", err)
	}
	return nil
}

// failed turns a read error into a Damaged one.
func (s *source) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Damaged{Offset: s.offset, Reason: "the file breaks off here", Cause: io.ErrUnexpectedEOF}
	}
	return &Damaged{Offset: s.offset, Reason: err.Error(), Cause: err}
}

func (s *source) readByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err != nil {
		return 0, s.failed(err)
	}
	s.offset++
	return b, nil
}

// small fills a few bytes.
func (s *source) small(b []byte) error {
	n, err := io.ReadFull(s.r, b)
	s.offset += int64(n)
	if err != nil {
		return s.failed(err)
	}
	return nil
}

// take reads n bytes into new memory, which it charges. A claim beyond the end of the file costs nothing.
func (s *source) take(n uint64) ([]byte, error) {
	if s.size >= 0 && n > uint64(max(s.size-s.offset, 0)) {
		return nil, s.damaged("%d bytes are announced, %d are left in the file", n, max(s.size-s.offset, 0))
	}
	if n > uint64(s.budget.limit) {
		return nil, s.damaged("%d bytes are announced, more than the %d that a file of this size may take", n, s.budget.limit)
	}
	if err := s.charge(int64(n)); err != nil {
		return nil, err
	}
	const step = 1 << 20
	buf := make([]byte, 0, min(n, step))
	for uint64(len(buf)) < n {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(n, uint64(cap(buf))*2))
			copy(grown, buf)
			buf = grown
		}
		part := buf[len(buf):cap(buf)]
		k, err := io.ReadFull(s.r, part)
		s.offset += int64(k)
		if err != nil {
			return nil, s.failed(err)
		}
		buf = buf[:len(buf)+k]
	}
	return buf, nil
}

// line reads up to and including a newline, which it drops.
func (s *source) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		s.offset += int64(len(part))
		if chargeErr := s.charge(int64(len(part))); chargeErr != nil {
			return nil, chargeErr
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, s.failed(err)
		}
	}
}

// skip drops n bytes.
func (s *source) skip(n int) error {
	k, err := s.r.Discard(n)
	s.offset += int64(k)
	if err != nil {
		return s.failed(err)
	}
	return nil
}
