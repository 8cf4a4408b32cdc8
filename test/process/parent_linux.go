// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end the child when this process is gone, however it went.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}

// FollowParent has the kernel end this process when its own parent is gone: `go run` does not pass SIGTERM on.
func FollowParent() { _ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0) }
