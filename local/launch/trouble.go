// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kserve-go/kserve-go/local/place"
)

const (
	// roomToStart is what etcd lays out in advance, twice, and something to live on.
	roomToStart = 192 << 20
	// roomToRun is so little that what failed has failed for that reason.
	roomToRun = 1 << 20
	// overflowUser stands in a user namespace for all users that it has no number for.
	overflowUser = 65534
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
	case where(p, err) == "": // it is about something else
		return err
	case errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the state folder %s cannot be used: %w%s (choose another with --state)", p.Dir, err, owner(where(p, err)))
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the state folder %s cannot be made: %w: a file is where a folder should be (choose another with --state)", p.Dir, err)
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("the state folder %s cannot be made: %w: a link that leads nowhere is where a folder should be (remove it, or choose another with --state)", p.Dir, err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the file system of the state folder %s is full: %w", p.Dir, err)
	}
	return err
}

// where is the path of the state folder that an error is about: something in it, or a folder that it is in. Empty for what lies elsewhere.
func where(p *place.Place, err error) string {
	path := ""
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		path = one.Path
	case errors.As(err, &two):
		path = two.New
	}
	if strings.HasPrefix(path, p.Dir) || path != "" && strings.HasPrefix(p.Dir, path) {
		return path
	}
	return ""
}

// owner says whose a file is, or the folder that it could not be made in, when it is another user's: somebody once started this cluster
// as root.
func owner(path string) string {
	for {
		fi, err := os.Stat(path)
		if err == nil {
			st, ok := fi.Sys().(*syscall.Stat_t)
			if !ok || int(st.Uid) == os.Geteuid() {
				return ""
			}
			if st.Uid == overflowUser {
				return "; " + path + " belongs to another user"
			}
			return fmt.Sprintf("; %s belongs to user %d", path, st.Uid)
		}
		if path == filepath.Dir(path) {
			return ""
		}
		path = filepath.Dir(path)
	}
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
	f, err := place.OpenFile(crashLog(p), os.O_RDONLY, 0)
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
	f, err := place.OpenFile(crashLog(p), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open crash log: %w", err)
	}
	defer f.Close()
	if err := syscall.Dup3(int(f.Fd()), int(os.Stderr.Fd()), 0); err != nil {
		return fmt.Errorf("redirect standard error: %w", err)
	}
	return nil
}
