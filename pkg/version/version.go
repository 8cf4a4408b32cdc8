// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version holds what the linker stamps into every binary.
//
// Called by: every cmd's --version, telemetry's build_info, data/serve's server metadata.
// Next: nothing; it is a leaf.
package version

import "runtime"

// Version and Commit are set by the linker:
//
//	-ldflags "-X github.com/kserve-go/kserve-go/pkg/version.Version=v1.2.3 -X github.com/kserve-go/kserve-go/pkg/version.Commit=abc123"
//
//nolint:gochecknoglobals // -X can only set package variables
var (
	Version = "dev"
	Commit  = ""
)

// Compatible is the release of KServe whose wire behaviour this release answers for. Servers report it where a client
// may look for it (the version of the V2 server metadata).
const Compatible = "0.20.0"

// String is one line for --version: the version, the commit when known, the platform and the compiler.
func String() string {
	s := Version
	if Commit != "" {
		s += " (" + Commit + ")"
	}
	return s + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
}
