// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

func writeMap(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "images.json")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestFindLooksFromTheFullNameToTheLastElement(t *testing.T) {
	file := writeMap(t, `{"r.test/a/model:v1": {"cmd": ["full"]}, "r.test/a/model": {"cmd": ["bare"]}, "model": {"cmd": ["last"]}}`)
	s := NewStore(t.TempDir(), filepath.Join(t.TempDir(), "missing.json"), file)
	for ref, want := range map[string]string{
		"r.test/a/model:v1": "full", "r.test/a/model:v1@sha256:0": "full", "r.test/a/model:v2": "bare", "r.test:5000/b/model": "last", "model:x": "last",
	} {
		img, err := s.Find(ref)
		require.NoError(t, err, ref)
		require.Equal(t, []string{want}, img.Cmd, ref)
	}
	_, err := s.Find("other")
	require.ErrorIs(t, err, ErrNotMapped)
	require.ErrorContains(t, err, `"model"`)
}

func TestLaterMapsWinAndLoadAdds(t *testing.T) {
	first := writeMap(t, `{"a": {"cmd": ["1"]}}`)
	second := filepath.Join(t.TempDir(), "loaded.json")
	two, three := t.TempDir(), t.TempDir()
	require.NoError(t, Load(second, "a", two))
	require.NoError(t, Load(second, "b", three))
	s := NewStore(t.TempDir(), first, second)
	for ref, want := range map[string]string{"a": two, "b": three} {
		img, err := s.Find(ref)
		require.NoError(t, err)
		require.Equal(t, want, img.RootFS)
	}
}

func tarOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := []byte(nil)
		if h.Typeflag == tar.TypeReg {
			content = []byte("content")
			h.Size = int64(len(content))
		}
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(content)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestLayoutIsUnpackedWithItsConfig(t *testing.T) {
	content := tarOf(
		t, tar.Header{Name: "app/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "app/run", Typeflag: tar.TypeReg, Mode: 0o755},
		tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/app/run"},
	)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	require.NoError(t, err)
	img, err := mutate.AppendLayers(empty.Image, layer)
	require.NoError(t, err)
	img, err = mutate.Config(img, v1.Config{Entrypoint: []string{"/app/run"}, Cmd: []string{"x"}, Env: []string{"A=b"}, User: "1000:2000", WorkingDir: "/app"})
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	require.NoError(t, err)
	require.NoError(t, path.AppendImage(img))

	home, cache := t.TempDir(), t.TempDir()
	file := filepath.Join(home, "images.json")
	require.ErrorContains(t, Load(file, "", dir), "image name")
	t.Run("a layout that was copied in part is refused and leaves nothing", func(t *testing.T) {
		digest, err := layer.Digest()
		require.NoError(t, err)
		part := t.TempDir()
		require.NoError(t, os.CopyFS(part, os.DirFS(dir)))
		require.NoError(t, os.Truncate(filepath.Join(part, "blobs", digest.Algorithm, digest.Hex), 20))
		require.ErrorContains(t, Load(file, "m", part), digest.Hex+": its content is sha256:")
		require.NoFileExists(t, file)
		left, err := os.ReadDir(filepath.Join(home, layoutsFolder))
		require.NoError(t, err)
		require.Empty(t, left)
	})
	require.NoError(t, Load(file, "m", dir))
	require.NoError(t, os.RemoveAll(dir), "what was loaded stands on its own")
	s := NewStore(cache, file)
	got, err := s.Find("m:latest")
	require.NoError(t, err)
	t.Run("a sweep keeps what a map names", func(t *testing.T) {
		unused := filepath.Join(cache, "0000.tmp")
		require.NoError(t, os.Mkdir(unused, 0o700))
		require.NoError(t, s.Sweep())
		require.NoDirExists(t, unused)
		require.DirExists(t, got.RootFS)
	})
	t.Run("another image under the name frees the first", func(t *testing.T) {
		other, err := mutate.Config(img, v1.Config{User: "1"})
		require.NoError(t, err)
		path, err := layout.Write(dir, empty.Index)
		require.NoError(t, err)
		require.NoError(t, path.AppendImage(other))
		require.NoError(t, Load(file, "m2", dir))
		require.NoError(t, Load(file, "m2", dir), "twice is harmless")
		require.NoError(t, Load(file, "m2", t.TempDir()))
		left, err := os.ReadDir(filepath.Join(home, layoutsFolder))
		require.NoError(t, err)
		require.Len(t, left, 1)
	})
	require.Equal(t, []string{"/app/run"}, got.Entrypoint)
	require.Equal(t, "/app", got.WorkingDir)
	b, err := os.ReadFile(filepath.Join(got.RootFS, "app", "run"))
	require.NoError(t, err)
	require.Equal(t, "content", string(b))
	fi, err := os.Stat(filepath.Join(got.RootFS, "app", "run"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), fi.Mode().Perm())
	uid, gid, err := got.Account()
	require.NoError(t, err)
	require.Equal(t, []int64{1000, 2000}, []int64{uid, gid})
}

func TestUntarStaysInside(t *testing.T) {
	for name, headers := range map[string][]tar.Header{
		"a link out, written through": {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, {Name: "out/f", Typeflag: tar.TypeReg, Mode: 0o644}},
		"a relative link out":         {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: "../.."}, {Name: "out/f", Typeflag: tar.TypeReg, Mode: 0o644}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, untar(bytes.NewReader(tarOf(t, headers...)), t.TempDir()))
		})
	}
	t.Run("dots are cut off", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, untar(bytes.NewReader(tarOf(t, tar.Header{Name: "../../f", Typeflag: tar.TypeReg, Mode: 0o644})), dir))
		require.FileExists(t, filepath.Join(dir, "f"))
	})
}
