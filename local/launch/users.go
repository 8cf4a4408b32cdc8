// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/kserve-go/kserve-go/local/sandbox"
)

// idRange are ids of the machine that an ordinary user may use in a user namespace: inside they are 1 and up.
type idRange struct{ start, count int }

// users are the ranges of this user and the programs, installed for root, that put them to use.
type users struct {
	uids, gids             idRange
	uidProgram, gidProgram string
}

// findUsers returns nil where an ordinary user has itself only.
func findUsers() *users {
	u := &users{}
	var err error
	if u.uidProgram, err = exec.LookPath("newuidmap"); err != nil {
		return nil
	}
	if u.gidProgram, err = exec.LookPath("newgidmap"); err != nil {
		return nil
	}
	names := []string{strconv.Itoa(os.Geteuid())}
	if me, err := user.Current(); err == nil {
		names = append(names, me.Username)
	}
	u.uids, u.gids = readRange("/etc/subuid", names), readRange("/etc/subgid", names)
	if u.uids.count == 0 || u.gids.count == 0 {
		return nil
	}
	return u
}

// readRange is the longest range that the file of subuid(5) gives one of the names.
func readRange(file string, names []string) idRange {
	f, err := os.Open(file)
	if err != nil {
		return idRange{}
	}
	defer f.Close()
	var best idRange
	for lines := bufio.NewScanner(f); lines.Scan(); {
		for _, name := range names {
			rest, ok := strings.CutPrefix(lines.Text(), name+":")
			if !ok {
				continue
			}
			var r idRange
			if _, err := fmt.Sscanf(rest, "%d:%d", &r.start, &r.count); err == nil && r.count > best.count {
				best = r
			}
		}
	}
	return best
}

// apply gives the namespace of that process its users: this one is root inside.
func (u *users) apply(pid int) error {
	for _, m := range []struct {
		program string
		own     int
		ids     idRange
	}{{u.uidProgram, os.Geteuid(), u.uids}, {u.gidProgram, os.Getegid(), u.gids}} {
		args := []int{pid, 0, m.own, 1, 1, m.ids.start, m.ids.count}
		text := make([]string, 0, len(args))
		for _, a := range args {
			text = append(text, strconv.Itoa(a))
		}
		if out, err := exec.Command(m.program, text...).CombinedOutput(); err != nil { //nolint:noctx // it is done at once
			return fmt.Errorf("map users with %s: %w: %s", m.program, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// start starts cmd, which is this binary, as root of a user namespace with these users. The kernel gives a process its rights when it
// executes a program, and before the users are mapped it has none to give: cmd waits for that and executes itself again.
func (u *users) start(cmd *exec.Cmd) error {
	read, write, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer write.Close()
	fd := len(cmd.ExtraFiles) + 3
	cmd.ExtraFiles = append(cmd.ExtraFiles, read)
	cmd.Args = append([]string{sandbox.Mapped, strconv.Itoa(fd)}, cmd.Args...)
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	err = cmd.Start()
	read.Close()
	if err != nil {
		return err
	}
	if err = u.apply(cmd.Process.Pid); err == nil {
		_, err = write.WriteString("mapped")
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), ended(cmd.Wait()))
	}
	return nil
}

// ended drops the news that a killed process was killed.
func ended(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// RemoveAll is os.RemoveAll also for what other users of a cluster's namespace own.
func RemoveAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) || os.Geteuid() == 0 {
		return err
	}
	u := findUsers()
	if u == nil {
		return err
	}
	cmd := exec.Command(sandbox.Self) //nolint:noctx // it ends when all is removed
	cmd.Args = []string{sandbox.Remove, path}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if serr := u.start(cmd); serr != nil {
		return errors.Join(err, serr)
	}
	_ = cmd.Wait() // what it could not remove is reported by the second try
	return os.RemoveAll(path)
}
