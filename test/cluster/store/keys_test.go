// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

func TestOnlyWhoSignsWithTheKeysIsServed(t *testing.T) {
	content := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(r.URL.Path))
	})
	srv := httptest.NewServer(Keys{ID: "id", Secret: "secret"}.Only(content))
	defer srv.Close()
	for name, c := range map[string]struct{ id, secret, code string }{
		"the right keys": {"id", "secret", ""},
		"another id":     {"other", "secret", "InvalidAccessKeyId"},
		"another secret": {"id", "other", "SignatureDoesNotMatch"},
		"no keys":        {"", "", "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := minio.New(strings.TrimPrefix(srv.URL, "http://"), &minio.Options{
				Creds: credentials.NewStaticV4(c.id, c.secret, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath,
			})
			require.NoError(t, err)
			o, err := client.GetObject(t.Context(), "bucket", "a folder/a file", minio.GetObjectOptions{})
			require.NoError(t, err)
			_, err = io.ReadAll(o)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, c.code, minio.ToErrorResponse(err).Code)
		})
	}
}
