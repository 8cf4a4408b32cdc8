// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package initializer_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/storage/initializer"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
)

func run(t *testing.T, env map[string]string, args ...string) (handoff.FetchReport, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "termination-log")
	require.NoError(t, os.WriteFile(name, nil, 0o600))
	if env == nil {
		env = map[string]string{handoff.EnvStorageAllowAddresses: "127.0.0.0/8"}
	}
	env[handoff.EnvTerminationLog] = name
	o := initializer.NewOptions(func(k string) string { return env[k] })
	o.Pairs, o.Retries = args, 1
	i, err := initializer.New(o, zaptest.NewLogger(t))
	require.NoError(t, err)
	err = i.Run(t.Context())
	data, rerr := os.ReadFile(name)
	require.NoError(t, rerr)
	var report handoff.FetchReport
	require.NoError(t, json.Unmarshal(data, &report), "%s", data)
	return report, err
}

func TestSourcesAreFetchedInOrder(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/a.bin": {Data: []byte("a")}, "/b.bin": {Data: []byte("bb")}})
	dir := t.TempDir()
	first, second := filepath.Join(dir, "models"), filepath.Join(dir, "models", "extra")
	report, err := run(t, nil, srv.URL+"/a.bin", first, srv.URL+"/b.bin", second)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(first, "a.bin"))
	require.FileExists(t, filepath.Join(second, "b.bin"))
	require.Equal(t, handoff.FetchReport{
		Outcome: handoff.FetchDone, Source: srv.URL + "/b.bin", Target: second, Files: 1, Bytes: 2, Fetched: 2, Seconds: report.Seconds,
	}, report)
}

func TestTheFirstFailureEndsTheRun(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/b.bin": {Data: []byte("b")}})
	dir := t.TempDir()
	report, err := run(t, nil, srv.URL+"/none.bin", filepath.Join(dir, "a"), srv.URL+"/b.bin", filepath.Join(dir, "b"))
	require.ErrorContains(t, err, "Storage initialization failed: fetch "+srv.URL+"/none.bin")
	require.NoDirExists(t, filepath.Join(dir, "b"))
	require.Equal(t, handoff.FetchFailed, report.Outcome)
	require.Equal(t, "not found", report.Kind)
	require.False(t, report.Retryable)
	require.Contains(t, report.Message, "not found (HTTP 404)")
}

func TestLoopbackIsRefusedByDefault(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/b.bin": {Data: []byte("b")}})
	report, err := run(t, map[string]string{}, srv.URL+"/b.bin", filepath.Join(t.TempDir(), "a"))
	require.ErrorContains(t, err, "loopback")
	require.Equal(t, "refused", report.Kind)
	require.Empty(t, srv.Requests())
}

func TestTheModelDirectoryItselfIsNoSource(t *testing.T) {
	report, err := run(t, nil, "/mnt/models", "/mnt/models")
	require.NoError(t, err)
	require.True(t, report.UpToDate)
}

func TestNoTerminationLogIsNoFault(t *testing.T) {
	src := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(src, "m"), []byte("m"), 0o600))
	o := initializer.NewOptions(func(string) string { return "" })
	o.TerminationLog = filepath.Join(t.TempDir(), "none")
	o.Pairs = []string{src, filepath.Join(t.TempDir(), "target")}
	i, err := initializer.New(o, zaptest.NewLogger(t))
	require.NoError(t, err)
	require.NoError(t, i.Run(context.Background()))
	require.NoFileExists(t, o.TerminationLog)
}

func TestWrongOptions(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*initializer.Options)
		env    map[string]string
		says   string
	}{
		"no arguments":      {func(o *initializer.Options) { o.Pairs = nil }, nil, "0 arguments"},
		"one argument":      {func(o *initializer.Options) { o.Pairs = o.Pairs[:1] }, nil, "each source needs a directory"},
		"an empty argument": {func(o *initializer.Options) { o.Pairs[1] = " " }, nil, "argument 2 is empty"},
		"a negative number": {func(o *initializer.Options) { o.Retries = -1 }, nil, "negative"},
		"a wrong address":   {func(*initializer.Options) {}, map[string]string{handoff.EnvStorageAllowAddresses: "local"}, `"local" is neither`},
		"a wrong setting":   {func(*initializer.Options) {}, map[string]string{handoff.EnvS3MaxAttempts: "many"}, "S3_MAX_ATTEMPTS"},
		"a wrong pattern":   {func(*initializer.Options) {}, map[string]string{handoff.EnvStorageIgnorePatterns: "[1"}, "STORAGE_IGNORE_PATTERNS"},
	} {
		t.Run(name, func(t *testing.T) {
			o := initializer.NewOptions(func(k string) string { return tc.env[k] })
			o.Getenv = func(k string) string { return tc.env[k] }
			o.Pairs = []string{"a", "b"}
			tc.change(&o)
			_, err := initializer.New(o, zaptest.NewLogger(t))
			require.ErrorContains(t, err, tc.says)
		})
	}
}
