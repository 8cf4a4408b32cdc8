// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRecordedModelInScopeAnswersAsItsLibrary(t *testing.T) {
	dir := os.Getenv("MODELS_DIR")
	if dir == "" {
		dir = filepath.Join("..", "data", "models")
	}
	var out bytes.Buffer
	summary, err := Run(t.Context(), Options{Dir: dir, Engines: Engines(), Out: &out})
	require.NoError(t, err)
	t.Log("\n" + out.String())
	require.Zero(t, summary.Failed)
	require.NotZero(t, summary.Equal)
}
