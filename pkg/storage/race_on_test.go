// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package storage_test

// raceDetector multiplies the memory of whatever is measured.
const raceDetector = true
