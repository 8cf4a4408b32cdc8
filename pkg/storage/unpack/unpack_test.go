// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package unpack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/storage/unpack"
)

// memory is a sink that holds every claim of the Sink contract to be true, and fails the test when one is not.
type memory struct {
	tb    testing.TB
	files map[string]string
	links map[string]string
	dirs  []string
}

func newMemory(tb testing.TB) *memory {
	tb.Helper()
	return &memory{tb: tb, files: map[string]string{}, links: map[string]string{}}
}

func (m *memory) check(name string) {
	if !fs.ValidPath(name) || name == "." || strings.ContainsRune(name, 0) {
		m.tb.Fatalf("the sink was given %q", name)
	}
	for d := path.Dir(name); d != "."; d = path.Dir(d) {
		if _, ok := m.links[d]; ok {
			m.tb.Fatalf("%q goes through the link %q", name, d)
		}
	}
}

func (m *memory) Dir(name string) error {
	m.check(name)
	m.dirs = append(m.dirs, name)
	return nil
}

func (m *memory) File(name string, _ bool, content io.Reader) error {
	m.check(name)
	data, err := io.ReadAll(content)
	m.files[name] = string(data)
	return err
}

func (m *memory) Symlink(name, target string) error {
	m.check(name)
	if at := path.Join(path.Dir(name), target); path.IsAbs(target) || at == ".." || strings.HasPrefix(at, "../") {
		m.tb.Fatalf("link %q to %q leaves the target", name, target)
	}
	m.links[name] = target
	return nil
}

func (m *memory) Hardlink(name, existing string) error {
	m.check(name)
	data, ok := m.files[existing]
	if !ok {
		m.tb.Fatalf("hard link %q to %q, which does not exist", name, existing)
	}
	m.files[name] = data
	return nil
}

type entry struct {
	name, data, link string
	kind             byte
	mode             int64
}

func makeTar(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.data)), Mode: max(e.mode, 0o644)}
		require.NoError(tb, w.WriteHeader(h))
		_, err := w.Write([]byte(e.data))
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func makeZip(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.kind == tar.TypeSymlink {
			h.SetMode(fs.ModeSymlink | 0o777)
			e.data = e.link
		}
		if e.kind == tar.TypeChar {
			h.SetMode(fs.ModeDevice | fs.ModeCharDevice)
		}
		f, err := w.CreateHeader(h)
		require.NoError(tb, err)
		_, err = f.Write([]byte(e.data))
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func zipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func TestGoodArchives(t *testing.T) {
	entries := []entry{
		{name: "./"},
		{name: "model.bin", data: "weights"},
		{name: "./deep/down/config.json", data: "{}"},
		{name: "empty", data: ""},
		{name: "model.bin", data: "later wins"},
	}
	entries[0].kind = tar.TypeDir
	want := map[string]string{"model.bin": "later wins", "deep/down/config.json": "{}", "empty": ""}
	plain := makeTar(t, entries...)
	for name, data := range map[string][]byte{"tar": plain, "tar.gz": zipped(t, plain)} {
		t.Run(name, func(t *testing.T) {
			sink := newMemory(t)
			stats, err := unpack.FromTar(bytes.NewReader(data), sink, unpack.Limits{})
			require.NoError(t, err)
			require.Equal(t, want, sink.files)
			require.Equal(t, 4, stats.Files)
			require.EqualValues(t, 19, stats.Bytes)
		})
	}
	t.Run("zip", func(t *testing.T) {
		data := makeZip(t, entries[1:]...)
		sink := newMemory(t)
		_, err := unpack.FromZip(bytes.NewReader(data), int64(len(data)), sink, unpack.Limits{})
		require.NoError(t, err)
		require.Equal(t, want, sink.files)
	})
	t.Run("links that stay inside", func(t *testing.T) {
		data := makeTar(t,
			entry{name: "blobs/a", data: "x"},
			entry{name: "snap/model", kind: tar.TypeSymlink, link: "../blobs/a"},
			entry{name: "copy", kind: tar.TypeLink, link: "blobs/a"},
		)
		sink := newMemory(t)
		_, err := unpack.FromTar(bytes.NewReader(data), sink, unpack.Limits{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"snap/model": "../blobs/a"}, sink.links)
		require.Equal(t, map[string]string{"blobs/a": "x", "copy": "x"}, sink.files)
	})
}

func TestBadArchives(t *testing.T) {
	long := strings.Repeat("d/", 80) + "x"
	for name, tc := range map[string]struct {
		entries []entry
		limits  unpack.Limits
		want    error
		tarOnly bool
	}{
		"a path that climbs out":               {entries: []entry{{name: "../x"}}, want: unpack.ErrUnsafe},
		"a path that climbs out in the middle": {entries: []entry{{name: "a/../../x"}}, want: unpack.ErrUnsafe},
		"a path that climbs and comes back":    {entries: []entry{{name: "a/../x"}}, want: unpack.ErrUnsafe},
		"an absolute path":                     {entries: []entry{{name: "/etc/x"}}, want: unpack.ErrUnsafe},
		"a link out of the target":             {entries: []entry{{name: "l", kind: tar.TypeSymlink, link: "../x"}}, want: unpack.ErrUnsafe},
		"a link to an absolute path":           {entries: []entry{{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}}, want: unpack.ErrUnsafe},
		"a link to nothing":                    {entries: []entry{{name: "l", kind: tar.TypeSymlink, link: ""}}, want: unpack.ErrUnsafe},
		"a file through a link": {
			entries: []entry{{name: "l", kind: tar.TypeSymlink, link: "d"}, {name: "l/x"}}, want: unpack.ErrUnsafe,
		},
		"a link through a link": {
			entries: []entry{{name: "d/l", kind: tar.TypeSymlink, link: ".."}, {name: "m", kind: tar.TypeSymlink, link: "d/l/../x"}}, want: unpack.ErrUnsafe,
		},
		"a file over a link": {
			entries: []entry{{name: "l", kind: tar.TypeSymlink, link: "d"}, {name: "l", data: "x"}}, want: unpack.ErrUnsafe,
		},
		"a link over a file": {
			entries: []entry{{name: "l", data: "x"}, {name: "l", kind: tar.TypeSymlink, link: "d"}}, want: unpack.ErrUnsafe,
		},
		"a file below a file":               {entries: []entry{{name: "a", data: "x"}, {name: "a/b", data: "y"}}, want: unpack.ErrUnsafe},
		"a device":                          {entries: []entry{{name: "dev", kind: tar.TypeChar}}, want: unpack.ErrUnsafe},
		"a pipe":                            {entries: []entry{{name: "pipe", kind: tar.TypeFifo}}, want: unpack.ErrUnsafe, tarOnly: true},
		"a hard link out of the target":     {entries: []entry{{name: "h", kind: tar.TypeLink, link: "../x"}}, want: unpack.ErrUnsafe, tarOnly: true},
		"a hard link to no file":            {entries: []entry{{name: "h", kind: tar.TypeLink, link: "x"}}, want: unpack.ErrUnsafe, tarOnly: true},
		"too many entries":                  {entries: []entry{{name: "a"}, {name: "b"}, {name: "c"}}, limits: unpack.Limits{Files: 2}, want: unpack.ErrLimit},
		"too many bytes in one file":        {entries: []entry{{name: "a", data: "0123456789"}}, limits: unpack.Limits{Bytes: 9}, want: unpack.ErrLimit},
		"too many bytes in all files":       {entries: []entry{{name: "a", data: "012345"}, {name: "b", data: "012345"}}, limits: unpack.Limits{Bytes: 9}, want: unpack.ErrLimit},
		"too deep":                          {entries: []entry{{name: long}}, want: unpack.ErrLimit},
		"a name longer than file names are": {entries: []entry{{name: strings.Repeat("n", 256)}}, want: unpack.ErrLimit},
		"a bomb": {
			entries: []entry{{name: "zeros", data: strings.Repeat("\x00", 2<<20)}}, limits: unpack.Limits{Floor: 1 << 20, Ratio: 100}, want: unpack.ErrLimit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpack.FromTar(bytes.NewReader(zipped(t, makeTar(t, tc.entries...))), newMemory(t), tc.limits)
			require.ErrorIs(t, err, tc.want)
			if tc.tarOnly {
				return
			}
			data := makeZip(t, tc.entries...)
			_, err = unpack.FromZip(bytes.NewReader(data), int64(len(data)), newMemory(t), tc.limits)
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestDamagedArchives(t *testing.T) {
	plain := makeTar(t, entry{name: "a", data: strings.Repeat("0123456789", 1000)})
	packed := zipped(t, plain)
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-6] ^= 0xff
	for name, data := range map[string][]byte{
		"nothing":             nil,
		"a page":              []byte("<html>404</html>"),
		"text":                bytes.Repeat([]byte("text "), 500),
		"a cut tar":           plain[:600],
		"a cut gzip":          packed[:len(packed)/2],
		"a wrong checksum":    flipped,
		"a zip":               makeZip(t, entry{name: "a"}),
		"another compression": append([]byte("\xfd7zXZ\x00"), make([]byte, 600)...),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpack.FromTar(bytes.NewReader(data), newMemory(t), unpack.Limits{})
			require.ErrorIs(t, err, unpack.ErrFormat)
		})
	}
	good := makeZip(t, entry{name: "a", data: strings.Repeat("0123456789", 1000)})
	torn := bytes.Clone(good)
	torn[40] ^= 0xff
	for name, data := range map[string][]byte{"nothing": nil, "a tar": plain, "a cut zip": good[:len(good)-30], "damaged content": torn} {
		t.Run("zip: "+name, func(t *testing.T) {
			_, err := unpack.FromZip(bytes.NewReader(data), int64(len(data)), newMemory(t), unpack.Limits{})
			require.ErrorIs(t, err, unpack.ErrFormat)
		})
	}
}

var errSource = errors.New("the source broke")

func TestTheSourcesOwnErrorIsKept(t *testing.T) {
	packed := zipped(t, makeTar(t, entry{name: "a", data: strings.Repeat("x", 1<<20)}))
	_, err := unpack.FromTar(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), broken{}), newMemory(t), unpack.Limits{})
	require.ErrorIs(t, err, errSource)
	require.NotErrorIs(t, err, unpack.ErrFormat)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errSource }

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]unpack.Format{
		"m.tar": unpack.Tar, "m.tar.gz": unpack.Tar, "M.TGZ": unpack.Tar, "m.tar.bz2": unpack.Tar, "m.zip": unpack.Zip,
		"model.joblib.gz": unpack.None, "model.pt": unpack.None, "w.npz": unpack.None, "zip": unpack.None,
	} {
		require.Equal(t, want, unpack.FormatOf(name), name)
	}
}

func FuzzTar(f *testing.F) {
	plain := makeTar(f, entry{name: "d", kind: tar.TypeDir}, entry{name: "d/a", data: "x"}, entry{name: "l", kind: tar.TypeSymlink, link: "d/a"},
		entry{name: "h", kind: tar.TypeLink, link: "d/a"}, entry{name: "../out"})
	f.Add(plain)
	f.Add(zipped(f, plain))
	f.Add([]byte("BZh9"))
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := unpack.Limits{Files: 100, Bytes: 1 << 20}
		sink := newMemory(t)
		stats, _ := unpack.FromTar(bytes.NewReader(data), sink, limits)
		bounded(t, sink, stats, limits)
	})
}

func FuzzZip(f *testing.F) {
	f.Add(makeZip(f, entry{name: "d/a", data: "x"}, entry{name: "l", kind: tar.TypeSymlink, link: "d/a"}, entry{name: "../out"}))
	f.Add(makeZip(f, entry{name: `a\b`, data: "x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := unpack.Limits{Files: 100, Bytes: 1 << 20}
		sink := newMemory(t)
		stats, _ := unpack.FromZip(bytes.NewReader(data), int64(len(data)), sink, limits)
		bounded(t, sink, stats, limits)
	})
}

func bounded(t *testing.T, sink *memory, stats unpack.Stats, limits unpack.Limits) {
	t.Helper()
	if len(sink.files)+len(sink.links)+len(sink.dirs) > limits.Files {
		t.Fatalf("%d entries: %v", len(sink.files), slices.Collect(maps.Keys(sink.files)))
	}
	sum := 0
	for _, d := range sink.files {
		sum += len(d)
	}
	// What breaks the limit is counted, not kept; a hard link counts once.
	if stats.Bytes > limits.Bytes+1<<20 || int64(sum) > limits.Bytes*2 {
		t.Fatalf("%d bytes came out", sum)
	}
}

func BenchmarkTar(b *testing.B) {
	data := makeTar(b, entry{name: "a", data: strings.Repeat("0123456789abcdef", 1<<18)})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unpack.FromTar(bytes.NewReader(data), discard{}, unpack.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

type discard struct{}

func (discard) Dir(string) error { return nil }
func (discard) File(_ string, _ bool, r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
func (discard) Symlink(string, string) error  { return nil }
func (discard) Hardlink(string, string) error { return nil }
