// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

func TestReadFileOfEveryKind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	sparse := write("sparse", nil)
	require.NoError(t, os.Truncate(sparse, 1<<40))
	large := bytes.Repeat([]byte("large"), 5000)
	cases := map[string]struct {
		file  string
		limit int64
		want  string
		bad   string
	}{
		"an empty file":                    {file: write("empty", nil)},
		"a small file":                     {file: write("small", []byte("small")), limit: 5, want: "small"},
		"a small file of zeros":            {file: write("zeros", []byte{0, 0}), want: "\x00\x00"},
		"a large file":                     {file: write("large", large), want: string(large)},
		"a large file, up to the limit":    {file: write("large", large), limit: int64(len(large)), want: string(large)},
		"a file beyond the limit":          {file: write("large", large), limit: 24999, bad: "the file is larger than the 24999 bytes allowed"},
		"a file that was never filled":     {file: sparse, bad: "the file begins with 4096 zero bytes: it was made and not filled"},
		"a named pipe that nobody writes":  {file: pipe, bad: "expected a regular file, got a named pipe"},
		"a device that never ends":         {file: "/dev/zero", bad: "expected a regular file, got a device"},
		"a directory in the file's place":  {file: dir, bad: "expected a regular file, got a directory"},
		"a small file beyond a tiny limit": {file: write("small", []byte("small")), limit: 4, bad: "the file is larger than the 4 bytes allowed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			data, err := engine.ReadFile(c.file, engine.Options{MaxBytes: c.limit})
			if c.bad != "" {
				var bad *engine.BadModel
				require.ErrorAs(t, err, &bad)
				require.Equal(t, c.bad, bad.Error())
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(data))
		})
	}
}
