// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// maxFile bounds what is read of a file at once: none that a cluster writes, but for its logs, comes near it.
const maxFile = 16 << 20

// ErrNotFile says that something else is where a cluster keeps a file.
var ErrNotFile = errors.New("not a file")

// OpenFile is os.OpenFile for what must be a file: anything else of the name is refused, and no pipe is waited for.
func OpenFile(path string, flag int, mode os.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, mode)
	if err != nil {
		if kerr := checkKind(os.Stat(path)); kerr != nil {
			return nil, fmt.Errorf("%s: %w", path, kerr)
		}
		return nil, err
	}
	if err := checkKind(f.Stat()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return f, nil
}

// checkKind says what something is that is no file; what is not there, or cannot be looked at, is for others to tell.
func checkKind(fi fs.FileInfo, err error) error {
	if err != nil || fi.Mode().IsRegular() {
		return nil
	}
	kind := "a device"
	switch mode := fi.Mode(); {
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return fmt.Errorf("is %s, %w: remove it", kind, ErrNotFile)
}

// ReadFile is os.ReadFile for what must be a file of a size that a cluster writes.
func ReadFile(path string) ([]byte, error) {
	f, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s: larger than the %d MiB that a cluster would write: remove it", path, maxFile>>20)
	}
	return b, nil
}

// WriteFile replaces a file in one step: readers see the old content or the new.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	tmp := path + "." + strconv.FormatInt(time.Now().UnixNano(), 10) + tmpSuffix
	err := os.WriteFile(tmp, content, mode)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		return nil
	}
	if rerr := os.Remove(tmp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	if fi, serr := os.Lstat(path); serr == nil && fi.IsDir() {
		return fmt.Errorf("%s: %w", path, checkKind(fi, nil))
	}
	return fmt.Errorf("write %s: %w", filepath.Base(path), err)
}
