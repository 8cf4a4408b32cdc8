// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "os/exec"

func dieWithParent(*exec.Cmd) {}

// FollowParent does nothing where the kernel has no such service.
func FollowParent() {}
