// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package handoff is the contract between a rendered pod and the binaries inside it: flags, ports, environment names, container and volume names, paths and the schemas of mounted files.
//
// Called by: control/render (the side that writes), data/serve, data/sidecar, data/route and storage (the side that reads).
// Next: data/serve, storage.
package handoff

// Arg returns a flag and its value as one argument, in the spelling that rendered pods use: --name=value.
func Arg(flag, value string) string { return "--" + flag + "=" + value }

// Flag returns a flag as an argument of its own: --name.
func Flag(flag string) string { return "--" + flag }
