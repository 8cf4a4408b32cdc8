// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/builtin"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
)

const bigFile = 256 << 20

// benchServer serves one big file and 2,000 small ones.
func benchServer(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	require.NoError(b, os.MkdirAll(filepath.Join(dir, "big"), 0o755))
	block := storagetest.Bytes(1<<20, 1)
	f, err := os.Create(filepath.Join(dir, "big", "model.bin"))
	require.NoError(b, err)
	for range bigFile >> 20 {
		_, err := f.Write(block)
		require.NoError(b, err)
	}
	require.NoError(b, f.Close())
	for i := range 2000 {
		name := filepath.Join(dir, "many", fmt.Sprintf("d%02d", i/100), fmt.Sprintf("f%04d.bin", i))
		require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(b, os.WriteFile(name, block[:16<<10], 0o600))
	}
	base, _, err := sampleserver.New(map[string]fs.FS{"bucket": os.DirFS(dir)}).Start(b.Context(), "127.0.0.1:0")
	require.NoError(b, err)
	return base
}

func benchFetcher(b *testing.B, base string) *storage.Fetcher {
	b.Helper()
	o, err := builtin.New(builtin.Options{
		Getenv: env{"AWS_ENDPOINT_URL": base, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}.get,
		Policy: netguard.Policy{AllowLoopback: true},
	})
	require.NoError(b, err)
	return storage.New(o)
}

func BenchmarkFetch(b *testing.B) {
	base := benchServer(b)
	for name, bc := range map[string]struct {
		uri   string
		bytes int64
	}{
		"s3/one big file":     {"s3://bucket/big", bigFile},
		"s3/2000 small files": {"s3://bucket/many", 2000 * 16 << 10},
		"http/one big file":   {base + "/bucket/big/model.bin", bigFile},
	} {
		b.Run(name, func(b *testing.B) {
			f := benchFetcher(b, base)
			b.SetBytes(bc.bytes)
			b.ReportAllocs()
			for b.Loop() {
				dir := filepath.Join(b.TempDir(), "m")
				if _, err := f.Fetch(b.Context(), bc.uri, dir); err != nil {
					b.Fatal(err)
				}
				_ = os.RemoveAll(dir)
			}
		})
	}
}

// BenchmarkPlainRanges is the yardstick: the same bytes read in ranges by as many goroutines, written to one file, and synced; no
// listing, no journal, no checks.
func BenchmarkPlainRanges(b *testing.B) {
	base := benchServer(b)
	const part, workers = 16 << 20, 16
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	b.SetBytes(bigFile)
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Create(filepath.Join(b.TempDir(), "m"))
		require.NoError(b, err)
		offsets := make(chan int64)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				buf := make([]byte, 256<<10)
				for off := range offsets {
					req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, base+"/bucket/big/model.bin", http.NoBody)
					req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+part-1))
					resp, err := client.Do(req)
					if err != nil {
						b.Error(err)
						return
					}
					_, err = io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(f, off)}, struct{ io.Reader }{resp.Body}, buf)
					_ = resp.Body.Close()
					if err != nil {
						b.Error(err)
					}
				}
			})
		}
		for off := int64(0); off < bigFile; off += part {
			offsets <- off
		}
		close(offsets)
		wg.Wait()
		require.NoError(b, f.Sync())
		require.NoError(b, f.Close())
		_ = os.Remove(f.Name())
	}
}
