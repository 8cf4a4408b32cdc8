// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package enginetest

// raceDetector makes pools drop what they hold, so that allocations tell nothing.
const raceDetector = true
