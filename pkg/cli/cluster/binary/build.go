// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package binary

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// kept is how many built binaries stay in the cache, each of 200 MB; one that was used in the last graceTime stays in any case.
	kept      = 2
	graceTime = 10 * time.Minute
	// tick is how often a build says that it goes on.
	tick = 15 * time.Second
	// maxRounds bounds how often a build starts again because the sources changed under it.
	maxRounds = 3
)

// Build returns the path of the binary for the checkout at root, and builds it first where it is missing. It tells its progress to w.
func Build(ctx context.Context, root, cache string, w io.Writer) (string, error) {
	if cache == "" {
		var err error
		if cache, err = CacheDir(); err != nil {
			return "", err
		}
	}
	if err := os.MkdirAll(cache, 0o755); err != nil { //nolint:gosec // programs are for all to run
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	for range maxRounds {
		s, err := Read(ctx, root)
		if err != nil {
			return "", err
		}
		path := s.path(cache)
		if executable(path) == nil {
			touch(path)
			return path, nil
		}
		if err := s.buildLocked(ctx, cache, w); err != nil {
			return "", err
		}
		again, err := Read(ctx, root)
		if err != nil {
			return "", err
		}
		if again.Hash == s.Hash {
			return path, clean(cache, path, time.Now())
		}
		fmt.Fprintln(w, "the sources changed during the build: building again")
		if err := os.RemoveAll(filepath.Dir(path)); err != nil { // nobody knows of what mixture it was made
			return "", fmt.Errorf("throw the build away: %w", err)
		}
	}
	return "", errors.New("the sources of local/ change faster than they can be built")
}

// buildLocked lets one build run at a time, over all checkouts: two at once take longer than one after the other.
func (s *Sources) buildLocked(ctx context.Context, cache string, w io.Writer) error {
	lock, err := os.OpenFile(filepath.Join(cache, "build.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the build lock: %w", err)
	}
	defer lock.Close()
	if err := waitForLock(ctx, lock, w); err != nil {
		return err
	}
	if executable(s.path(cache)) == nil { // by whoever held the lock
		return nil
	}
	return s.build(ctx, s.path(cache), w)
}

func waitForLock(ctx context.Context, lock *os.File, w io.Writer) error {
	err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("take the build lock: %w", err)
	}
	fmt.Fprintln(w, "another build of the cluster binary is running: waiting for it")
	taken := make(chan error, 1)
	go func() { taken <- syscall.Flock(int(lock.Fd()), syscall.LOCK_EX) }()
	started, ticks := time.Now(), time.NewTicker(tick)
	defer ticks.Stop()
	for {
		select {
		case err := <-taken:
			if err != nil {
				return fmt.Errorf("take the build lock: %w", err)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("wait for the other build: %w", ctx.Err())
		case <-ticks.C:
			fmt.Fprintf(w, "%7s waiting for the other build\n", time.Since(started).Round(time.Second))
		}
	}
}

func (s *Sources) build(ctx context.Context, path string, w io.Writer) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as above
		return fmt.Errorf("make the folder of the binary: %w", err)
	}
	total := s.packages(ctx)
	fmt.Fprintf(w, "building %s from %s: up to %d packages; the first time this takes about 25 minutes on two processors, after a change half a minute\n", Name, s.Dir, total)
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer func() {
		_ = os.Remove(tmp)                // gone when all went well
		_ = os.Remove(filepath.Dir(path)) // refused when all went well: it is not empty
	}()
	cmd := s.goCommand(ctx, "build", "-v", "-ldflags", s.LinkFlags, "-o", tmp, ".")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("start the build: %w", err)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it then ends its compilers
	cmd.WaitDelay = 5 * time.Second
	started := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the build: %w", err)
	}
	var compiled atomic.Int64
	stop := make(chan struct{})
	go func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
				fmt.Fprintf(w, "%7s %d packages compiled\n", time.Since(started).Round(time.Second), compiled.Load())
			}
		}
	}()
	said := follow(stderr, &compiled)
	err = cmd.Wait()
	close(stop)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build the cluster binary: %w", ctx.Err())
		}
		return fmt.Errorf("build the cluster binary: %w\n%s", err, bytes.TrimSpace(said))
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("keep the cluster binary: %w", err)
	}
	fmt.Fprintf(w, "%7s built, %d packages compiled\n", time.Since(started).Round(time.Second), compiled.Load())
	return nil
}

// packages is how many packages a first build compiles; 0 when that cannot be told.
func (s *Sources) packages(ctx context.Context) int {
	out, err := s.goCommand(ctx, "list", "-deps", ".").Output()
	if err != nil {
		return 0 // the build will say what is wrong
	}
	return bytes.Count(out, []byte{'\n'})
}

// follow counts the names of packages in what the build says, and keeps the rest, which is what went wrong.
func follow(r io.Reader, compiled *atomic.Int64) []byte {
	const most = 64 << 10
	var rest bytes.Buffer
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if text := lines.Text(); !strings.ContainsAny(text, " \t#:") && text != "" {
			compiled.Add(1)
		} else if rest.Len() < most {
			rest.WriteString(text + "\n")
		}
	}
	_, _ = io.Copy(io.Discard, r) // a line that is too long must not stop the build
	return rest.Bytes()
}

// clean throws away what was not used lately.
func clean(cache, current string, now time.Time) error {
	all, err := entries(cache)
	if err != nil {
		return err
	}
	for i, e := range all {
		if i < kept || e.path == current || now.Sub(e.used) < graceTime {
			continue
		}
		// A cluster that runs from it keeps its file until it ends.
		if err := os.RemoveAll(filepath.Dir(e.path)); err != nil {
			return fmt.Errorf("clean the cache of cluster binaries: %w", err)
		}
	}
	return nil
}
