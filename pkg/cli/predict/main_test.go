// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMain keeps the tests away from a cluster that runs on this machine.
func TestMain(m *testing.M) {
	_ = os.Setenv("XDG_STATE_HOME", filepath.Join(os.TempDir(), "kserve-no-such-folder"))
	os.Exit(m.Run())
}
