// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/kserve-go/kserve-go/local/place"
)

const (
	// roomToStart is what etcd lays out in advance, twice, and something to live on.
	roomToStart = 192 << 20
	// roomToRun is so little that what failed has failed for that reason.
	roomToRun = 1 << 20
)

// checkRoom refuses to start where etcd would die half-way.
func checkRoom(p *place.Place) error {
	free, err := free(p)
	if err != nil {
		return err
	}
	if free < roomToStart {
		return fmt.Errorf("the file system of the state folder %s has %d MiB free, and a cluster needs %d: free some, or choose another folder with --state",
			p.Dir, free>>20, roomToStart>>20)
	}
	return nil
}

func free(p *place.Place) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(p.Dir, &s); err != nil {
		return 0, fmt.Errorf("look for room in %s: %w", p.Dir, err)
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec,unconvert // never negative, and of another type on other machines
}

// explainState adds what to do about a folder that cannot be used.
func explainState(p *place.Place, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, place.ErrRunning):
		return fmt.Errorf("%w (`down` stops it, another --name runs beside it)", err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the state folder %s cannot be written: %w%s (choose another with --state)", p.Dir, err, owner(p))
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the state folder %s cannot be made: %w: a file is where a folder should be (choose another with --state)", p.Dir, err)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("the state folder %s cannot be made: %w: a link that leads nowhere is where a folder should be (remove it, or choose another with --state)", p.Dir, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the file system of the state folder %s is full: %w", p.Dir, err)
	}
	return err
}

// owner says whose the folder is when it is another user's: somebody once started this cluster as root.
func owner(p *place.Place) string {
	fi, err := os.Stat(p.Dir)
	if err != nil {
		return ""
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() {
		return ""
	}
	return fmt.Sprintf("; it belongs to user %d", st.Uid)
}

// crashLog is where the process inside writes when the Go runtime or a library ends it.
func crashLog(p *place.Place) string { return p.Path("crash.log") }

// explainEnd says in one sentence why the process inside ended on its own.
func explainEnd(p *place.Place, err error) error {
	if n, ferr := free(p); ferr == nil && n < roomToRun {
		return fmt.Errorf("the cluster ended because the file system of the state folder %s is full (%w): free some and start it again, what it stored is kept", p.Dir, err)
	}
	if why := crash(p); why != "" {
		return fmt.Errorf("the cluster ended: %w: %s (all of it is in %s)", err, why, crashLog(p))
	}
	return fmt.Errorf("the cluster ended: %w (see %s)", err, p.Path("cluster.log"))
}

// crash is the line of the crash log that names the reason.
func crash(p *place.Place) string {
	f, err := os.Open(crashLog(p))
	if err != nil {
		return ""
	}
	defer f.Close()
	first := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
		if first == "" {
			first = strings.TrimSpace(line)
		}
	}
	return first
}

// catchCrash sends standard error to the crash log: a trace of thousands of lines is nothing for a terminal.
func catchCrash(p *place.Place) error {
	f, err := os.OpenFile(crashLog(p), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open crash log: %w", err)
	}
	defer f.Close()
	if err := syscall.Dup3(int(f.Fd()), int(os.Stderr.Fd()), 0); err != nil {
		return fmt.Errorf("redirect standard error: %w", err)
	}
	return nil
}
