// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/volume"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/web"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
)

// quick are options that do not wait long.
func quick(tb testing.TB, change ...func(*storage.Options)) storage.Options {
	tb.Helper()
	w := web.New(web.Options{Policy: &netguard.Policy{AllowLoopback: true}})
	v := volume.New(volume.Options{})
	o := storage.Options{
		Providers:  map[modelref.Store]storage.Provider{modelref.File: v, modelref.HTTP: w},
		Log:        zaptest.NewLogger(tb),
		PartSize:   64 << 10,
		BackoffMin: time.Millisecond, BackoffMax: 2 * time.Millisecond,
		Stall: 5 * time.Second,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// tree reads every file below dir but the record.
func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	require.NoError(tb, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".kserve-fetched" {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	}))
	return out
}

// onlyChild checks that a fetch left nothing beside its target.
func onlyChild(tb testing.TB, dir string) {
	tb.Helper()
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(tb, err)
	require.Len(tb, entries, 1)
}

func TestFetchOfOneFile(t *testing.T) {
	data := storagetest.Bytes(300<<10, 1)
	for name, tc := range map[string]struct {
		file storagetest.File
		path string
		want string
	}{
		"in parts":                     {storagetest.File{Data: data}, "/m/model.bin", "model.bin"},
		"without ranges":               {storagetest.File{Data: data, NoRanges: true}, "/model.bin", "model.bin"},
		"without a length":             {storagetest.File{Data: data, Chunked: true}, "/model.bin", "model.bin"},
		"without a version":            {storagetest.File{Data: data, ETag: "-"}, "/model.bin", "model.bin"},
		"JSON, whatever its type says": {storagetest.File{Data: []byte(`{"a":1}`), ContentType: "application/json"}, "/model.json", "model.json"},
		"an empty file":                {storagetest.File{}, "/empty.bin", "empty.bin"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := storagetest.NewWeb(t, map[string]storagetest.File{tc.path: tc.file})
			dir := filepath.Join(t.TempDir(), "target")
			res, err := storage.New(quick(t)).Fetch(t.Context(), srv.URL+tc.path, dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{tc.want: string(tc.file.Data)}, tree(t, dir))
			require.Equal(t, 1, res.Files)
			require.EqualValues(t, len(tc.file.Data), res.Fetched)
			onlyChild(t, dir)
		})
	}
}

func TestFetchAgain(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: storagetest.Bytes(200<<10, 1)}})
	dir := filepath.Join(t.TempDir(), "target")
	f := storage.New(quick(t))
	_, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)

	res, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.True(t, res.UpToDate)
	require.Zero(t, res.Fetched)

	require.NoError(t, os.Truncate(filepath.Join(dir, "m.bin"), 5))
	res, err = f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.False(t, res.UpToDate, "a damaged target is fetched anew")

	fresh := storagetest.Bytes(100<<10, 2)
	srv.Set("/m.bin", storagetest.File{Data: fresh})
	res, err = f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.False(t, res.UpToDate)
	require.Equal(t, map[string]string{"m.bin": string(fresh)}, tree(t, dir))
	onlyChild(t, dir)
}

func TestFetchSurvivesFaults(t *testing.T) {
	data := storagetest.Bytes(512<<10, 3)
	for name, tc := range map[string]struct {
		fault  func(n int, r *http.Request) storagetest.Fault
		change func(*storage.Options)
	}{
		"connections cut in the middle": {fault: func(n int, _ *http.Request) storagetest.Fault {
			if n%3 == 0 {
				return storagetest.Fault{CutAfter: 10_000}
			}
			return storagetest.Fault{}
		}},
		"errors of the server": {fault: func(n int, _ *http.Request) storagetest.Fault {
			if n%2 == 1 {
				return storagetest.Fault{Status: http.StatusServiceUnavailable}
			}
			return storagetest.Fault{}
		}},
		"throttling with Retry-After": {fault: func(n int, _ *http.Request) storagetest.Fault {
			if n == 1 {
				return storagetest.Fault{Status: http.StatusTooManyRequests, RetryAfter: "1"}
			}
			return storagetest.Fault{}
		}},
		"a stall": {
			fault: func(n int, _ *http.Request) storagetest.Fault {
				if n == 4 {
					return storagetest.Fault{StallAfter: 1000}
				}
				return storagetest.Fault{}
			},
			change: func(o *storage.Options) { o.Stall = 200 * time.Millisecond },
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: data}})
			srv.Fail(tc.fault)
			o := quick(t)
			if tc.change != nil {
				tc.change(&o)
			}
			dir := filepath.Join(t.TempDir(), "target")
			res, err := storage.New(o).Fetch(t.Context(), srv.URL+"/m.bin", dir)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"m.bin": string(data)}, tree(t, dir))
			require.Positive(t, res.Retries)
			require.EqualValues(t, len(data), res.Fetched, "no byte was read twice")
		})
	}
}

func TestFetchGivesUp(t *testing.T) {
	data := storagetest.Bytes(512<<10, 3)
	for name, tc := range map[string]struct {
		path  string
		file  storagetest.File
		fault func(n int, r *http.Request) storagetest.Fault
		kind  provider.Kind
		says  string
		stall time.Duration
	}{
		"not found":         {path: "/other.bin", kind: provider.NotFound, says: "not found (HTTP 404)"},
		"a folder":          {path: "/m/", kind: provider.Invalid, says: "no file name"},
		"an HTML page":      {file: storagetest.File{Data: []byte("<html>"), ContentType: "text/html; charset=utf-8"}, kind: provider.Invalid, says: "HTML page"},
		"a log-in":          {fault: always(storagetest.Fault{Status: 401}), kind: provider.Unauthenticated, says: "authentication"},
		"no permission":     {fault: always(storagetest.Fault{Status: 403}), kind: provider.Denied, says: "access denied"},
		"an odd status":     {fault: always(storagetest.Fault{Status: 418}), kind: provider.Other, says: "418"},
		"a broken server":   {fault: always(storagetest.Fault{Status: 500}), kind: provider.Unavailable, says: "gave up after 3 attempts"},
		"too long a wait":   {fault: always(storagetest.Fault{Status: 503, RetryAfter: "86400"}), kind: provider.Unavailable, says: "asks to wait 24h0m0s"},
		"nothing but cuts":  {fault: data1(storagetest.Fault{CutAfter: -1}), kind: provider.Unavailable, says: "gave up after 3 attempts"},
		"nothing but stall": {fault: data1(storagetest.Fault{StallAfter: -1}), stall: 100 * time.Millisecond, kind: provider.Unavailable, says: "no byte for 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.file.Data == nil {
				tc.file.Data = data
			}
			srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": tc.file})
			srv.Fail(tc.fault)
			if tc.path == "" {
				tc.path = "/m.bin"
			}
			dir := filepath.Join(t.TempDir(), "target")
			_, err := storage.New(quick(t, func(o *storage.Options) {
				o.Retries = 2
				if tc.stall > 0 {
					o.Stall = tc.stall
				}
			})).Fetch(t.Context(), srv.URL+tc.path, dir)
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, tc.path)
			require.Equal(t, tc.kind, provider.KindOf(err))
			require.NoDirExists(t, dir, "what is not complete is not visible")
		})
	}
}

func always(f storagetest.Fault) func(int, *http.Request) storagetest.Fault {
	return func(int, *http.Request) storagetest.Fault { return f }
}

// data1 lets the look at the file pass and breaks the rest.
func data1(f storagetest.Fault) func(int, *http.Request) storagetest.Fault {
	return func(_ int, r *http.Request) storagetest.Fault {
		if storagetest.Probe(r) {
			return storagetest.Fault{}
		}
		return f
	}
}

func TestFetchNoticesAnotherVersion(t *testing.T) {
	before, after := storagetest.Bytes(512<<10, 4), storagetest.Bytes(512<<10, 5)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: before}})
	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		if n == 5 {
			srv.Set("/m.bin", storagetest.File{Data: after})
		}
		return storagetest.Fault{}
	})
	dir := filepath.Join(t.TempDir(), "target")
	_, err := storage.New(quick(t, func(o *storage.Options) { o.Parallel = 1 })).Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m.bin": string(after)}, tree(t, dir), "the two versions are not mixed")

	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		srv.Set("/m.bin", storagetest.File{Data: storagetest.Bytes(512<<10, uint64(100+n))})
		return storagetest.Fault{}
	})
	_, err = storage.New(quick(t)).Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.Equal(t, provider.Changed, provider.KindOf(err), "a source that never rests is given up")
	require.Equal(t, map[string]string{"m.bin": string(after)}, tree(t, dir), "the last good version stays")
}

func TestFetchResumesAfterCancel(t *testing.T) {
	data := storagetest.Bytes(1<<20, 6)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: data}})
	ctx, cancel := context.WithCancel(t.Context())
	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		if n == 9 {
			cancel()
		}
		return storagetest.Fault{}
	})
	dir := filepath.Join(t.TempDir(), "target")
	f := storage.New(quick(t, func(o *storage.Options) { o.Parallel = 2 }))
	_, err := f.Fetch(ctx, srv.URL+"/m.bin", dir)
	require.ErrorIs(t, err, context.Canceled)
	require.NoDirExists(t, dir)

	srv.Reset()
	res, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.Positive(t, res.Resumed)
	require.Equal(t, int64(len(data)), res.Fetched+res.Resumed)
	require.Equal(t, res.Fetched+1, srv.Sent(), "only the missing bytes and the first look were sent")
	require.Equal(t, map[string]string{"m.bin": string(data)}, tree(t, dir))
	onlyChild(t, dir)
}

func TestConcurrentFetchesOfOneTarget(t *testing.T) {
	data := storagetest.Bytes(1<<20, 7)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: data}})
	dir := filepath.Join(t.TempDir(), "target")
	f := storage.New(quick(t))
	var wg sync.WaitGroup
	errs := make([]error, 4)
	fetched := make([]int64, len(errs))
	for i := range errs {
		wg.Go(func() {
			res, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
			errs[i], fetched[i] = err, res.Fetched
		})
	}
	wg.Wait()
	var sum int64
	for i, err := range errs {
		require.NoError(t, err)
		sum += fetched[i]
	}
	require.EqualValues(t, len(data), sum, "one fetched, the others waited and found it done")
	require.Equal(t, map[string]string{"m.bin": string(data)}, tree(t, dir))
	onlyChild(t, dir)
}

func TestUnknownSchemes(t *testing.T) {
	f := storage.New(quick(t))
	for uri, says := range map[string]string{
		"gs://b/m":                   "not built in yet: gs (gs://b/m); this program fetches file, http",
		"ftp://h/m":                  `scheme "ftp" of ftp://h/m is not known; the known ones are s3, gs,`,
		"":                           "empty",
		"s3://":                      "names the bucket",
		"hf://o/m":                   "not built in yet: hf",
		"https://github.com/o/r.git": "not built in yet: git",
		"http:///x.bin":              "names no host",
	} {
		_, err := f.Fetch(t.Context(), uri, t.TempDir())
		require.ErrorContains(t, err, says, uri)
	}
}
