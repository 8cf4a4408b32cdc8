// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import "os/exec"

func dieWithParent(*exec.Cmd) {}
