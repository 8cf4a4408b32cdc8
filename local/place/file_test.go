// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// notFiles makes, under a path, what is no file of a cluster.
func notFiles(t *testing.T) map[string]func(path string) error {
	return map[string]func(path string) error{
		"is a named pipe, not a file: remove it": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"is a folder, not a file: remove it":     func(path string) error { return os.MkdirAll(filepath.Join(path, "full"), 0o700) },
		"is a device, not a file: remove it":     func(path string) error { return os.Symlink("/dev/zero", path) },
		"is a socket, not a file: remove it": func(path string) error {
			l, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
		"too many levels of symbolic links": func(path string) error { return os.Symlink(path, path) },
	}
}

func TestWhatIsNoFileIsNeitherReadNorWaitedFor(t *testing.T) {
	for says, is := range notFiles(t) {
		t.Run(says, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			require.NoError(t, is(path))
			_, err := ReadFile(path)
			require.ErrorContains(t, err, path+": "+says)
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND | os.O_CREATE, os.O_WRONLY | os.O_TRUNC | os.O_CREATE, os.O_RDWR | os.O_CREATE} {
				_, err = OpenFile(path, flag, 0o600)
				require.ErrorContains(t, err, says)
			}
		})
	}
	t.Run("a file larger than any", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Truncate(path, maxFile))
		b, err := ReadFile(path)
		require.NoError(t, err)
		require.Len(t, b, maxFile)
		require.NoError(t, os.Truncate(path, 1<<40))
		_, err = ReadFile(path)
		require.ErrorContains(t, err, path+": larger than the 16 MiB that a cluster would write: remove it")
	})
	t.Run("nothing", func(t *testing.T) {
		_, err := ReadFile(filepath.Join(t.TempDir(), "f"))
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

func TestWriteReplacesAllButAFolder(t *testing.T) {
	for what, is := range notFiles(t) {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, is(path))
		err := WriteFile(path, []byte("new"), 0o600)
		if what == "is a folder, not a file: remove it" {
			require.EqualError(t, err, path+": "+what)
			require.DirExists(t, path)
		} else {
			require.NoError(t, err, what)
			b, err := ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "new", string(b))
		}
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1, "the half-written file is gone")
	}
}
