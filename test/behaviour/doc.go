// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package behaviour is the specification of the control plane in examples. Each file below testdata is one sentence: YAML that goes in, and
// what admission, the planner, pod admission and the status make of it, without a cluster.
//
// Called by: go test ./test/behaviour; one example: go test ./test/behaviour -run TestSpecification/topic/sentence.
// Next: README.md here, which explains the keys of an example.
package behaviour
