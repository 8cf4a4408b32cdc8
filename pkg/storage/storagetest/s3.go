// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// NewS3 starts an S3 store that ends with the test. Keys of objects are "<bucket>/<key>". It returns the endpoint.
func NewS3(tb testing.TB, objects map[string]string) string {
	tb.Helper()
	backend := s3mem.New()
	for name, data := range objects {
		bucket, key, _ := strings.Cut(name, "/")
		if ok, err := backend.BucketExists(bucket); err == nil && !ok {
			require.NoError(tb, backend.CreateBucket(bucket))
		}
		if key != "" {
			_, err := backend.PutObject(bucket, key, nil, bytes.NewReader([]byte(data)), int64(len(data)), nil)
			require.NoError(tb, err)
		}
	}
	srv := httptest.NewServer(gofakes3.New(backend).Server())
	tb.Cleanup(srv.Close)
	return srv.URL
}
