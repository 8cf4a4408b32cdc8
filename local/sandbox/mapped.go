// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// runMapped waits until its user namespace has users, and becomes what its other arguments say: only a program that is executed as a
// user that the namespace knows gets that user's rights.
func runMapped() int {
	const first = 2 // after the name and the descriptor
	if len(os.Args) <= first {
		return ExitNotStarted
	}
	fd, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return ExitNotStarted
	}
	pipe := os.NewFile(uintptr(fd), "mapped")
	b, err := io.ReadAll(pipe)
	if err != nil || len(b) == 0 {
		return ExitNotStarted // the parent gave up
	}
	pipe.Close()
	if err := syscall.Exec(Self, os.Args[first:], os.Environ()); err != nil {
		fmt.Fprintf(os.Stderr, "start as root of the user namespace: %v\n", err)
	}
	return ExitNotStarted
}

// runRemove removes its arguments, as root of a user namespace.
func runRemove() int {
	for _, path := range os.Args[1:] {
		if err := os.RemoveAll(path); err != nil {
			fmt.Fprintf(os.Stderr, "remove: %v\n", err)
			return 1
		}
	}
	return 0
}
