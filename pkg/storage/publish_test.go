// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
	"github.com/kserve-go/kserve-go/pkg/storage/unpack"
)

var errEOF = io.EOF

func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, data := range files {
		name = filepath.Join(dir, name)
		require.NoError(tb, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(tb, os.WriteFile(name, []byte(data), 0o600))
	}
}

func TestPublish(t *testing.T) {
	for name, mounted := range map[string]bool{"into a plain directory": false, "into a mount": true} {
		t.Run(name, func(t *testing.T) {
			f := storage.New(quick(t))
			if mounted {
				f.PretendMounted()
			}
			src, dir := t.TempDir(), filepath.Join(t.TempDir(), "target")
			write(t, src, map[string]string{"a": "1", "d/b": "2", "d/c": "3", ".hidden": "4"})
			_, err := f.Fetch(t.Context(), src, dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "1", "d/b": "2", "d/c": "3", ".hidden": "4"}, tree(t, dir))
			onlyChild(t, dir)

			// Another version: files that it lacks go, and so do the folders that this leaves empty.
			require.NoError(t, os.RemoveAll(filepath.Join(src, "d")))
			write(t, src, map[string]string{"a": "new", "e": "5"})
			_, err = f.Fetch(t.Context(), src, dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "new", "e": "5", ".hidden": "4"}, tree(t, dir))
			require.NoDirExists(t, filepath.Join(dir, "d"))

			// A file of somebody else outlives the next version too.
			write(t, dir, map[string]string{"notes": "mine"})
			write(t, src, map[string]string{"a": "newer"})
			_, err = f.Fetch(t.Context(), src, dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "newer", "e": "5", ".hidden": "4", "notes": "mine"}, tree(t, dir))
			require.NoError(t, os.Remove(filepath.Join(dir, "notes")))
			write(t, src, map[string]string{"a": "new"})
			_, err = f.Fetch(t.Context(), src, dir)
			require.NoError(t, err)

			// Another source joins the first; what neither brought stays.
			other := t.TempDir()
			write(t, other, map[string]string{"f/g": "6"})
			write(t, dir, map[string]string{"mine": "7"})
			_, err = f.Fetch(t.Context(), other, dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"a": "new", "e": "5", ".hidden": "4", "f/g": "6", "mine": "7"}, tree(t, dir))

			// Both are up to date now.
			for _, s := range []string{src, other} {
				res, err := f.Fetch(t.Context(), s, dir)
				require.NoError(t, err)
				require.True(t, res.UpToDate)
			}
			onlyChild(t, dir)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			for _, e := range entries {
				require.NotContains(t, e.Name(), ".kserve-fetch/", "no work directory is left")
				require.False(t, e.IsDir() && strings.HasPrefix(e.Name(), "."), e.Name())
			}
		})
	}
}

func TestPublishInTheWay(t *testing.T) {
	src, dir := t.TempDir(), filepath.Join(t.TempDir(), "target")
	write(t, src, map[string]string{"a": "file"})
	write(t, dir, map[string]string{"a/b": "folder"})
	_, err := storage.New(quick(t)).Fetch(t.Context(), src, dir)
	require.ErrorContains(t, err, "one is a folder, the other a file")
	require.Equal(t, map[string]string{"a/b": "folder"}, tree(t, dir))

	// A link of an earlier tool, dangling even, is replaced, not followed.
	dir = filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "a")))
	_, err = storage.New(quick(t)).Fetch(t.Context(), src, dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "file"}, tree(t, dir))
	require.NoFileExists(t, outside)
}

func tarOf(tb testing.TB, files ...[2]string) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Size: int64(len(f[1])), Mode: 0o644}
		if target, ok := strings.CutPrefix(f[1], "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, f[1] = tar.TypeSymlink, target, 0, ""
		}
		require.NoError(tb, w.WriteHeader(h))
		_, err := w.Write([]byte(f[1]))
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func gz(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(data)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func zipOf(tb testing.TB, files ...[2]string) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range files {
		e, err := w.Create(f[0])
		require.NoError(tb, err)
		_, err = e.Write([]byte(f[1]))
		require.NoError(tb, err)
	}
	require.NoError(tb, w.Close())
	return buf.Bytes()
}

func TestArchives(t *testing.T) {
	noise := string(storagetest.Bytes(400<<10, 21))
	files := [][2]string{{"model.bin", noise}, {"deep/config.json", "{}"}}
	want := map[string]string{"model.bin": noise, "deep/config.json": "{}"}
	plain := tarOf(t, files...)
	packed, zipped := gz(t, plain), zipOf(t, files...)
	for name, tc := range map[string]struct {
		path  string
		file  storagetest.File
		fault func(n int, r *http.Request) storagetest.Fault
		want  map[string]string
		says  string
	}{
		"tar.gz":                               {path: "/m.tar.gz", file: storagetest.File{Data: packed, ContentType: "application/gzip"}, want: want},
		"tgz with a query":                     {path: "/m.tgz?x=y", file: storagetest.File{Data: packed}, want: want},
		"tar":                                  {path: "/m.tar", file: storagetest.File{Data: plain}, want: want},
		"a gzip named like a plain tar":        {path: "/m.tar", file: storagetest.File{Data: packed}, want: want},
		"zip":                                  {path: "/m.zip", file: storagetest.File{Data: zipped, ContentType: "application/zip"}, want: want},
		"zip without ranges":                   {path: "/m.zip", file: storagetest.File{Data: zipped, NoRanges: true}, want: want},
		"the name in the query":                {path: "/download?path=/x/m.zip", file: storagetest.File{Data: zipped}, want: want},
		"no name, but a type":                  {path: "/latest", file: storagetest.File{Data: packed, ContentType: "application/x-gtar"}, want: want},
		"an archive format that is a model":    {path: "/w.npz", file: storagetest.File{Data: zipped, ContentType: "application/zip"}, want: map[string]string{"w.npz": string(zipped)}},
		"a compressed file that is no archive": {path: "/m.joblib.gz", file: storagetest.File{Data: packed}, want: map[string]string{"m.joblib.gz": string(packed)}},
		"cut connections on the way": {path: "/m.tar.gz", file: storagetest.File{Data: packed}, want: want, fault: func(n int, _ *http.Request) storagetest.Fault {
			return storagetest.Fault{CutAfter: 70_000}
		}},
		"a stall on the way": {path: "/m.tar.gz", file: storagetest.File{Data: packed}, want: want, fault: func(n int, _ *http.Request) storagetest.Fault {
			if n == 2 {
				return storagetest.Fault{StallAfter: 70_000}
			}
			return storagetest.Fault{}
		}},
		"not an archive at all": {path: "/m.zip", file: storagetest.File{Data: []byte("nothing")}, says: "not a valid archive"},
		"a cut archive":         {path: "/m.tar.gz", file: storagetest.File{Data: packed[:len(packed)/2]}, says: "not a valid archive"},
		"traversal":             {path: "/m.tar", file: storagetest.File{Data: tarOf(t, [2]string{"ok", "1"}, [2]string{"../evil", "2"})}, says: "unsafe archive"},
		"traversal in a zip":    {path: "/m.zip", file: storagetest.File{Data: zipOf(t, [2]string{"ok", "1"}, [2]string{"../evil", "2"})}, says: "unsafe archive"},
		"a link out":            {path: "/m.tar", file: storagetest.File{Data: tarOf(t, [2]string{"l", "-> ../../evil"}, [2]string{"l", "2"})}, says: "unsafe archive"},
		"a bomb":                {path: "/m.tar.gz", file: storagetest.File{Data: gz(t, tarOf(t, [2]string{"zeros", strings.Repeat("\x00", 3<<20)}))}, says: "over the limit"},
		"nothing in it":         {path: "/m.tar", file: storagetest.File{Data: tarOf(t)}, says: "holds no file"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _, _ := strings.Cut(tc.path, "?")
			srv := storagetest.NewWeb(t, map[string]storagetest.File{path: tc.file})
			srv.Fail(tc.fault)
			dir := filepath.Join(t.TempDir(), "target")
			f := storage.New(quick(t, func(o *storage.Options) {
				o.Unpack = unpack.Limits{Floor: 1 << 20, Ratio: 100}
				o.Stall = 300 * time.Millisecond
			}))
			res, err := f.Fetch(t.Context(), srv.URL+tc.path, dir)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				require.NoDirExists(t, dir)
				require.NoFileExists(t, filepath.Join(filepath.Dir(dir), "evil"))
				left, err := os.ReadDir(filepath.Dir(dir))
				require.NoError(t, err)
				require.Empty(t, left, "a bad archive leaves nothing on the disk")
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, tree(t, dir))
			require.Equal(t, len(tc.want), res.Files)
			onlyChild(t, dir)
			srv.Fail(nil)
			res, err = f.Fetch(t.Context(), srv.URL+tc.path, dir)
			require.NoError(t, err)
			require.True(t, res.UpToDate, "an unpacked archive is recognised")
		})
	}
}

func TestManySmallFiles(t *testing.T) {
	src, dir := t.TempDir(), filepath.Join(t.TempDir(), "target")
	files := map[string]string{}
	for i := range 2000 {
		files[fmt.Sprintf("d%02d/f%04d", i/100, i)] = fmt.Sprint(i)
	}
	write(t, src, files)
	res, err := storage.New(quick(t)).Fetch(t.Context(), "file://"+src, dir)
	require.NoError(t, err)
	require.Equal(t, 2000, res.Files)
	require.Equal(t, files, tree(t, dir))
	onlyChild(t, dir)
}

func TestProgress(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: storagetest.Bytes(2<<20, 22)}})
	srv.Fail(func(int, *http.Request) storagetest.Fault { return storagetest.Fault{Delay: 20 * time.Millisecond} })
	var latest storage.Latest
	var bar bytes.Buffer
	core, logs := observer.New(zapcore.InfoLevel)
	_, before := latest.Snapshot()
	require.False(t, before)
	var all []storage.Progress
	_, err := storage.New(quick(t, func(o *storage.Options) {
		o.Parallel, o.ProgressEvery = 2, 10*time.Millisecond
		o.Progress = storage.Tee(latest.Set, storage.Bar(&bar, func() int { return 100 }), storage.Lines(zap.New(core), 50*time.Millisecond),
			nil, func(p storage.Progress) { all = append(all, p) })
	})).Fetch(t.Context(), srv.URL+"/m.bin", filepath.Join(t.TempDir(), "target"))
	require.NoError(t, err)
	last, ok := latest.Snapshot()
	require.True(t, ok)
	require.Equal(t, storage.PhaseDone, last.Phase)
	require.EqualValues(t, 2<<20, last.BytesDone)
	require.EqualValues(t, 2<<20, last.BytesTotal)
	require.EqualValues(t, 1, last.FilesDone)
	require.Greater(t, len(all), 3)
	for i := 1; i < len(all); i++ {
		require.GreaterOrEqual(t, all[i].BytesDone, all[i-1].BytesDone)
	}
	require.Contains(t, bar.String(), "2.0 MiB / 2.0 MiB")
	require.True(t, strings.HasSuffix(bar.String(), "\n"))
	require.NotZero(t, logs.FilterMessage("progress").FilterFieldKey("percent").Len())
}

func TestReportersServeOneFetchAfterAnother(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	lines := storage.Lines(zap.New(core), time.Second)
	for range 2 {
		for _, at := range []time.Duration{0, 900 * time.Millisecond, 1100 * time.Millisecond, 1500 * time.Millisecond, 2200 * time.Millisecond} {
			lines(storage.Progress{Phase: storage.PhaseFetching, Elapsed: at, BytesTotal: 10})
		}
		lines(storage.Progress{Phase: storage.PhaseDone, Elapsed: 3 * time.Second})
	}
	require.Equal(t, 4, logs.Len(), "two lines for each fetch")
}

func TestOneArchiveInAFolder(t *testing.T) {
	src, dir := t.TempDir(), filepath.Join(t.TempDir(), "target")
	write(t, src, map[string]string{"m.tar.gz": string(gz(t, tarOf(t, [2]string{"model.bin", "m"}))), "README.md": "about"})
	f := storage.New(quick(t, func(o *storage.Options) { o.Ignore = []string{"*.md"} }))
	_, err := f.Fetch(t.Context(), src, dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"model.bin": "m"}, tree(t, dir))
}

func TestReport(t *testing.T) {
	name := filepath.Join(t.TempDir(), "termination-log")
	report := storage.Report("https://u:p@h/m?sig=secret", "/mnt/models", storage.Result{},
		provider.Errorf(provider.Unavailable, "%s", strings.Repeat("é\"", 4000)))
	require.ErrorIs(t, storage.WriteReport(name, report), os.ErrNotExist)
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	require.NoError(t, storage.WriteReport(name, report))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), 4096)
	require.NotContains(t, string(data), "secret")
	require.Contains(t, string(data), `"outcome":"`+handoff.FetchFailed+`"`)
	require.Contains(t, string(data), `"retryable":true`)
	require.Contains(t, string(data), `…"`)
}

func TestFnmatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "a/b", true},
		{"*.bin", "d/x.bin", true},
		{"*.bin", "x.bin.txt", false},
		{"a?c", "abc", true},
		{"a?c", "a/c", true},
		{"[ab]x", "bx", true},
		{"[!ab]x", "bx", false},
		{"[a-c]1", "b1", true},
		{"[", "[", true},
		{"[]", "[]", true},
		{"d/", "d/e/f", true},
		{"", "", true},
		{"", "a", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"**", "x", true},
	} {
		require.Equal(t, tc.want, storage.Fnmatch(tc.pattern, tc.name), "%q against %q", tc.pattern, tc.name)
	}
}

func FuzzFnmatch(f *testing.F) {
	f.Add("a*[!b-d]?", "a/x/y")
	f.Add("[]", "]")
	f.Add("[!", "!")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 64 || len(name) > 256 {
			return
		}
		storage.Fnmatch(pattern, name)
		if !strings.ContainsAny(pattern, "*?[") && !strings.HasSuffix(pattern, "/") && storage.Fnmatch(pattern, name) != (pattern == name) {
			t.Fatalf("%q against %q", pattern, name)
		}
	})
}
