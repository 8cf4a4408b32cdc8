// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

// PretendMounted makes the fetcher take every target for a mount point.
func (f *Fetcher) PretendMounted() { f.mounted = func(string) bool { return true } }

// Fnmatch is for tests.
var Fnmatch = fnmatch
