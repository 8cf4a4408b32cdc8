// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// OpenFile opens a model file and tells its size. What is no regular file, a named pipe or a device, is a *BadModel: reading it might
// never end.
func OpenFile(file string) (f *os.File, size int64, err error) {
	// Opening a named pipe waits for its writer, unless told not to.
	f, err = os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open model: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("open model: %w", err)
	case !info.Mode().IsRegular():
		err = &BadModel{Reason: fmt.Sprintf("expected a regular file, got %s", KindOf(info.Mode()))}
	default:
		return f, info.Size(), nil
	}
	_ = f.Close()
	return nil, 0, err
}

// KindOf names the kind of file that is no regular one.
func KindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "a file of mode " + mode.String()
	}
}

// blank is how many zero bytes at the start tell a file that was made and never filled: no format begins so.
const blank = 4 << 10

// ReadFile reads a model file whole, for engines whose formats are parsed in memory. A file of more than Options.MaxBytes is a *BadModel.
func ReadFile(file string, o Options) ([]byte, error) {
	f, size, err := OpenFile(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if o.MaxBytes > 0 && size > o.MaxBytes {
		return nil, tooLarge(o)
	}
	var from io.Reader = f
	if o.MaxBytes > 0 {
		// One byte more than is allowed tells a file that grows.
		from = io.LimitReader(f, o.MaxBytes+1)
	}
	head := make([]byte, blank)
	n, err := io.ReadFull(from, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return head[:n], nil
	}
	if err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	if !slices.ContainsFunc(head, func(b byte) bool { return b != 0 }) {
		return nil, &BadModel{Reason: fmt.Sprintf("the file begins with %d zero bytes: it was made and not filled", blank)}
	}
	data := bytes.NewBuffer(make([]byte, 0, max(size, blank)+bytes.MinRead))
	data.Write(head)
	if _, err := data.ReadFrom(from); err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	if o.MaxBytes > 0 && int64(data.Len()) > o.MaxBytes {
		return nil, tooLarge(o)
	}
	return data.Bytes(), nil
}

func tooLarge(o Options) error {
	return &BadModel{Reason: fmt.Sprintf("the file is larger than the %d bytes allowed", o.MaxBytes)}
}
