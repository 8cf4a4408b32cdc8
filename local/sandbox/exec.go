// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath is where programs are looked for when neither pod nor image says.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// exec becomes the program.
func exec(s *Spec) error {
	if len(s.Args) == 0 {
		return errors.New("no command: neither the image nor the container names one")
	}
	dir := s.Dir
	if dir == "" {
		dir = "/"
	}
	if s.Root != nil {
		// The working directory is made as container runtimes make it; a read-only root is allowed to refuse.
		_ = os.MkdirAll(dir, 0o755)
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("change to working directory %s: %w", dir, err)
	}
	if s.Capabilities != nil {
		if err := bound(*s.Capabilities); err != nil {
			return err
		}
	}
	if err := s.User.become(); err != nil {
		return err
	}
	if s.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("forbid new privileges: %w", err)
		}
	}
	path, err := find(s.Args[0], s.Env)
	if err != nil {
		return err
	}
	if err := syscall.Exec(path, s.Args, s.Env); err != nil {
		return fmt.Errorf("exec %s: %w", path, err)
	}
	return nil
}

func (u *User) become() error {
	if u == nil {
		return nil
	}
	if err := syscall.Setgroups(u.Groups); err != nil {
		return fmt.Errorf("set groups %v: %w", u.Groups, err)
	}
	if err := syscall.Setgid(u.GID); err != nil {
		return fmt.Errorf("become group %d: %w", u.GID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}

func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := defaultPath
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		fi, err := os.Stat(file)
		if err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH (%s): %w", name, path, fs.ErrNotExist)
}
