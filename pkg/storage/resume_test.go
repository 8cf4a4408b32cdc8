// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/web"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
)

// The variables that make this test binary a child that fetches.
const (
	childSource = "STORAGE_TEST_SOURCE"
	childTarget = "STORAGE_TEST_TARGET"
	childLimit  = "STORAGE_TEST_FILE_LIMIT"
)

func TestMain(m *testing.M) {
	if os.Getenv(childSource) != "" {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

func child() int {
	if os.Getenv(childLimit) != "" {
		// A write past the limit then fails like one on a full disk.
		signal.Ignore(syscall.SIGXFSZ)
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100 << 10, Max: 100 << 10}); err != nil {
			fmt.Println(err)
			return 3
		}
	}
	w := web.New(web.Options{Policy: &netguard.Policy{AllowLoopback: true}})
	res, err := storage.New(storage.Options{
		Providers: map[modelref.Store]storage.Provider{modelref.HTTP: w},
		PartSize:  64 << 10, Parallel: 4, BackoffMin: time.Millisecond, BackoffMax: time.Millisecond,
	}).Fetch(context.Background(), os.Getenv(childSource), os.Getenv(childTarget))
	if err != nil {
		fmt.Println(err, "retries:", res.Retries)
		return 1
	}
	return 0
}

func startChild(t *testing.T, source, target string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childSource+"="+source, childTarget+"="+target)...)
	return cmd
}

func TestKilledFetchResumes(t *testing.T) {
	const mib, parallel, part = 1 << 20, 4, 64 << 10
	data := storagetest.Bytes(4*mib, 11)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: data}})
	dir := filepath.Join(t.TempDir(), "target")
	// Killed three times, each time a megabyte further on.
	for kill := range 3 {
		reached := make(chan struct{})
		srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
			switch {
			case n == (kill+1)*20:
				close(reached)
				return storagetest.Fault{StallAfter: 1000}
			case n > (kill+1)*20:
				return storagetest.Fault{StallAfter: 1000}
			}
			return storagetest.Fault{}
		})
		cmd := startChild(t, srv.URL+"/m.bin", dir)
		require.NoError(t, cmd.Start())
		<-reached
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.NoDirExists(t, dir, "what is not complete is not visible")
	}
	srv.Fail(nil)
	require.NoError(t, startChild(t, srv.URL+"/m.bin", dir).Run())
	require.Equal(t, map[string]string{"m.bin": string(data)}, tree(t, dir))
	onlyChild(t, dir)
	again := srv.Sent() - int64(len(data))
	t.Logf("%d bytes were sent twice", again)
	require.LessOrEqual(t, again, int64(3*(parallel*part+1)+1), "at most the parts in work are fetched again")
}

func TestRestartOfTheMachine(t *testing.T) {
	data := storagetest.Bytes(1<<20, 12)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: data}})
	dir := filepath.Join(t.TempDir(), "target")
	ctx, cancel := context.WithCancel(t.Context())
	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		if n == 10 {
			cancel()
		}
		return storagetest.Fault{}
	})
	f := storage.New(quick(t, func(o *storage.Options) { o.Parallel = 1 }))
	_, err := f.Fetch(ctx, srv.URL+"/m.bin", dir)
	require.ErrorIs(t, err, context.Canceled)

	// After a crash of the machine the journal may be ahead of the data: here, one span's bytes never reached the disk.
	work := filepath.Join(filepath.Dir(dir), ".target.kserve-fetch")
	journal, err := os.ReadFile(filepath.Join(work, "journal"))
	require.NoError(t, err)
	_, spans, ok := strings.Cut(string(journal), "\n")
	require.True(t, ok)
	require.NoError(t, os.WriteFile(filepath.Join(work, "journal"), []byte(`{"boot":"another"}`+"\n"+spans+`{"p":"torn li`), 0o600))
	staged, err := os.OpenFile(filepath.Join(work, "tree", "m.bin"), os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = staged.WriteAt(make([]byte, 100), 70<<10)
	require.NoError(t, err)
	require.NoError(t, staged.Close())

	srv.Reset()
	res, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.Positive(t, res.Resumed, "what is sound is kept")
	require.Equal(t, map[string]string{"m.bin": string(data)}, tree(t, dir), "what is not sound is fetched again")
}

func TestLeftoversOfAnotherVersion(t *testing.T) {
	before, after := storagetest.Bytes(1<<20, 13), storagetest.Bytes(1<<20, 14)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: before}})
	dir := filepath.Join(t.TempDir(), "target")
	ctx, cancel := context.WithCancel(t.Context())
	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		if n == 10 {
			cancel()
		}
		return storagetest.Fault{}
	})
	f := storage.New(quick(t))
	_, err := f.Fetch(ctx, srv.URL+"/m.bin", dir)
	require.ErrorIs(t, err, context.Canceled)
	srv.Reset()
	srv.Set("/m.bin", storagetest.File{Data: after})
	res, err := f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.NoError(t, err)
	require.Zero(t, res.Resumed)
	require.Equal(t, map[string]string{"m.bin": string(after)}, tree(t, dir))
}

func TestDiskErrors(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: storagetest.Bytes(1<<20, 15)}})
	t.Run("a write that fails is no reason to try again", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "target")
		out, err := startChild(t, srv.URL+"/m.bin", dir, childLimit+"=1").CombinedOutput()
		var exit *exec.ExitError
		require.True(t, errors.As(err, &exit))
		require.Equal(t, 1, exit.ExitCode(), string(out))
		require.Contains(t, string(out), "file too large")
		require.Contains(t, string(out), "m.bin")
		require.NoDirExists(t, dir)
	})
	t.Run("a target that is a file", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		_, err := storage.New(quick(t)).Fetch(t.Context(), srv.URL+"/m.bin", dir)
		require.ErrorContains(t, err, "is a file, not a directory")
	})
	t.Run("a parent that cannot be made", func(t *testing.T) {
		_, err := storage.New(quick(t)).Fetch(t.Context(), srv.URL+"/m.bin", "/proc/self/nothing/target")
		require.ErrorContains(t, err, "prepare /proc/self/nothing/target")
	})
	t.Run("a disk that is too small is seen before the first byte", func(t *testing.T) {
		big := storagetest.NewWeb(t, map[string]storagetest.File{"/big.bin": {Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-0/1152921504606846976")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte{0})
		})}})
		_, err := storage.New(quick(t)).Fetch(t.Context(), big.URL+"/big.bin", filepath.Join(t.TempDir(), "target"))
		require.ErrorContains(t, err, "the model needs 1.0 EiB more")
		require.Len(t, big.Requests(), 1)
	})
}

func TestBoundedMemory(t *testing.T) {
	if raceDetector {
		t.Skip("memory is several times as large under the race detector")
	}
	const size = 96 << 20
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1, 0), zeros(size))
	})}})
	// The child is this binary with nothing but the fetch in it; the kernel keeps its peak.
	cmd := startChild(t, srv.URL+"/m.bin", filepath.Join(t.TempDir(), "target"))
	require.NoError(t, cmd.Run())
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	t.Logf("peak resident set: %d KiB", usage.Maxrss)
	require.Less(t, usage.Maxrss, int64(100<<10))
}

// zeros is a file of so many zero bytes.
func zeros(n int64) *sparse { return &sparse{n: n} }

type sparse struct{ n, at int64 }

func (s *sparse) Read(p []byte) (int, error) {
	n := min(int64(len(p)), s.n-s.at)
	if n == 0 {
		return 0, errEOF
	}
	clear(p[:n])
	s.at += n
	return int(n), nil
}

func (s *sparse) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case 1:
		off += s.at
	case 2:
		off += s.n
	}
	s.at = off
	return off, nil
}

// TestJournalIsAppended guards the format that a newer program must still read.
func TestJournalIsAppended(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: storagetest.Bytes(256<<10, 16)}})
	dir := filepath.Join(t.TempDir(), "target")
	ctx, cancel := context.WithCancel(t.Context())
	srv.Fail(func(n int, _ *http.Request) storagetest.Fault {
		if n == 4 {
			cancel()
		}
		return storagetest.Fault{}
	})
	_, err := storage.New(quick(t, func(o *storage.Options) { o.Parallel = 1 })).Fetch(ctx, srv.URL+"/m.bin", dir)
	require.Error(t, err)
	f, err := os.Open(filepath.Join(filepath.Dir(dir), ".target.kserve-fetch", "journal"))
	require.NoError(t, err)
	defer f.Close()
	sc := bufio.NewScanner(f)
	require.True(t, sc.Scan())
	require.Contains(t, sc.Text(), `{"boot":`)
	require.True(t, sc.Scan())
	require.Regexp(t, `^\{"p":"m.bin","s":262144,"v":"\\"[0-9a-f]+\\"","n":65536,"c":\d+\}$`, sc.Text())
}
