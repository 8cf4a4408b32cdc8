// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package storage

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func isMount(string) bool { return false }

func exchange(_, _ string) error { return errors.ErrUnsupported }

func syncAll(f *os.File) error { return f.Sync() }

func bootID() string { return "" }

func free(string) (int64, bool) { return 0, false }

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func notEmpty(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

func flock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
