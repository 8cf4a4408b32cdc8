// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sampleserver_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
)

func serve(t *testing.T, fsys fs.FS) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(sampleserver.New(map[string]fs.FS{"samples": fsys}))
	t.Cleanup(srv.Close)
	return srv
}

func ask(t *testing.T, srv *httptest.Server, method, path string, header ...string) (int, http.Header, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	srv.Config.Handler.ServeHTTP(rec, req)
	return rec.Code, rec.Header(), rec.Body.String()
}

func TestObjects(t *testing.T) {
	srv := serve(t, fstest.MapFS{"d/a.bin": {Data: []byte("0123456789")}, ".secret": {Data: []byte("s")}, "d/.git/x": {Data: []byte("s")}})
	code, header, body := ask(t, srv, "GET", "/samples/d/a.bin")
	require.Equal(t, 200, code)
	require.Equal(t, "0123456789", body)
	etag := header.Get("Etag")
	require.Equal(t, `"781e5e245d69b566979b86e28d23f2c7"`, etag, "the MD5, as in S3")
	code, header, body = ask(t, srv, "GET", "/samples/d/a.bin", "Range", "bytes=2-4", "If-Match", etag)
	require.Equal(t, 206, code)
	require.Equal(t, "234", body)
	require.Equal(t, "bytes 2-4/10", header.Get("Content-Range"))
	code, _, body = ask(t, srv, "HEAD", "/samples/d/a.bin")
	require.Equal(t, 200, code)
	require.Empty(t, body)
	code, _, _ = ask(t, srv, "GET", "/samples/d/a.bin", "If-Match", `"other"`)
	require.Equal(t, 412, code)
	for path, want := range map[string]int{
		"/samples/none": 404, "/samples/d": 404, "/other/d/a.bin": 404, "/samples/.secret": 404, "/samples/d/.git/x": 404,
		"/samples/d/../d/a.bin": 404, "/": 404, "/samples": 200, "/samples/?location": 200,
	} {
		code, _, _ := ask(t, srv, "GET", path)
		require.Equal(t, want, code, path)
	}
	code, _, _ = ask(t, srv, "PUT", "/samples/x")
	require.Equal(t, 405, code)
	code, _, _ = ask(t, srv, "GET", "/samples?max-keys=x")
	require.Equal(t, 400, code)
}

func TestListingsWithAnS3Client(t *testing.T) {
	fsys := fstest.MapFS{}
	for i := range 25 {
		fsys[fmt.Sprintf("a/d%d/f ü%02d", i%3, i)] = &fstest.MapFile{Data: []byte{1}}
	}
	fsys["a-b"], fsys["a/top"] = &fstest.MapFile{}, &fstest.MapFile{}
	srv := serve(t, fsys)
	client, err := minio.New(srv.Listener.Addr().String(), &minio.Options{Creds: credentials.NewStaticV4("any", "any", "")})
	require.NoError(t, err)
	for _, v1 := range []bool{false, true} {
		for _, page := range []int{1, 2, 7, 1000} {
			list := func(prefix string, recursive bool) (keys []string) {
				for o := range client.ListObjects(t.Context(), "samples", minio.ListObjectsOptions{Prefix: prefix, Recursive: recursive, MaxKeys: page, UseV1: v1}) {
					require.NoError(t, o.Err)
					keys = append(keys, o.Key)
				}
				return keys
			}
			require.Len(t, list("", true), 27)
			require.Len(t, list("a/", true), 26)
			require.Len(t, list("a", true), 27, "a prefix is not a folder")
			require.Equal(t, []string{"a-b", "a/"}, list("", false))
			require.ElementsMatch(t, []string{"a/d0/", "a/d1/", "a/d2/", "a/top"}, list("a/", false))
			require.Empty(t, list("none/", true))
			require.Empty(t, list("../", true))
		}
	}
	region, err := client.GetBucketLocation(t.Context(), "samples")
	require.NoError(t, err)
	require.Equal(t, "us-east-1", region)
	ok, err := client.BucketExists(t.Context(), "samples")
	require.NoError(t, err)
	require.True(t, ok)
}
