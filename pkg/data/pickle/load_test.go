// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const models = "../../../test/data/models"

func loadFile(tb testing.TB, path string) (any, error) {
	tb.Helper()
	f, err := os.Open(path)
	require.NoError(tb, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(tb, err)
	return Load(f, Options{Size: info.Size(), Side: func(name string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(filepath.Dir(path), name))
	}})
}

func TestEveryModelFileOfTheLibraryIsRead(t *testing.T) {
	for _, pattern := range []string{"*.pkl", "*.joblib", "*.pickle"} {
		files, err := filepath.Glob(filepath.Join(models, "sklearn-*", "model", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(file))), func(t *testing.T) {
				v, err := loadFile(t, file)
				require.NoError(t, err)
				require.NotNil(t, v)
			})
		}
	}
}
