// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

// Target is the address that a gRPC client of o calls.
func Target(o Options) (string, error) {
	target, _, err := o.target()
	return target, err
}
