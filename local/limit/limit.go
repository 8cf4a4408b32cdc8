// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit holds containers to their memory limits by control groups of the kernel, where this machine and this user may make any.
//
// A cluster has one group, below the one its first process is in, and each limited container has one in it. Nothing here moves or
// changes a process that the cluster did not start.
//
// Called by: launch (Open, Remove), node (Container), sandbox (Remove, when the first process was killed).
// Next: the kernel.
package limit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode says what holds the limits.
type Mode string

// The modes.
const (
	CGroup2 Mode = "cgroup2"
	CGroup1 Mode = "cgroup1"
	// Watcher is no group at all: package usage looks at resident sizes and kills.
	Watcher Mode = "watcher"
)

const (
	memory = "memory"
	procs  = "cgroup.procs"
	// removeWait is how long the kernel may take to notice that a group is empty.
	removeWait = 3 * time.Second
	removePoll = 20 * time.Millisecond
)

// Group is a cluster's group; it travels as JSON to the process inside the namespaces.
type Group struct {
	Mode Mode   `json:"mode"`
	Dir  string `json:"dir,omitempty"`
}

// Probe starts a process that waits; stop ends it.
type Probe func() (pid int, stop func(), err error)

// Open makes the group, or answers Watcher where none can be made. What a predecessor of that name left is removed.
func Open(name string, probe Probe) Group {
	for _, h := range hierarchies() {
		for _, parent := range h.parents() {
			g := Group{Mode: h.mode, Dir: filepath.Join(parent, name)}
			if g.make(parent) == nil && g.works(probe) == nil {
				return g
			}
			_ = Remove(g.Dir) // the next folder, or the next way, is tried
		}
	}
	return Group{Mode: Watcher}
}

// make makes the folder, and for version 2 hands the memory controller down to it.
func (g Group) make(parent string) error {
	if g.Mode == CGroup2 {
		if err := handDown(parent); err != nil {
			return err
		}
	}
	if err := Remove(g.Dir); err != nil {
		return err
	}
	if err := os.Mkdir(g.Dir, 0o755); err != nil {
		return fmt.Errorf("make control group: %w", err)
	}
	if g.Mode == CGroup2 {
		return handDown(g.Dir)
	}
	return nil
}

// handDown lets children of dir have memory limits. The kernel refuses where dir has processes itself.
func handDown(dir string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read controllers: %w", err)
	}
	if slices.Contains(strings.Fields(string(b)), memory) {
		return nil
	}
	return write(file, "+"+memory)
}

// works tries what will be done for each container: only the kernel knows whether this user may.
func (g Group) works(probe Probe) error {
	const enough = 64 << 20
	c, err := g.Container("probe", enough)
	if err != nil {
		return err
	}
	pid, stop, err := probe()
	if err != nil {
		return errors.Join(err, c.Close())
	}
	err = c.Admit(pid)
	stop()
	return errors.Join(err, c.Close())
}

// Container is the group of one run of a container.
type Container struct {
	mode Mode
	dir  string
}

// Container makes a group that may hold so many bytes.
func (g Group) Container(id string, limit int64) (*Container, error) {
	c := &Container{mode: g.Mode, dir: filepath.Join(g.Dir, id)}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make control group: %w", err)
	}
	text := strconv.FormatInt(limit, 10)
	var err error
	if g.Mode == CGroup2 {
		err = errors.Join(c.set("memory.max", text), c.setIfKnown("memory.swap.max", "0"), c.setIfKnown("memory.oom.group", "1"))
	} else {
		err = errors.Join(c.set("memory.limit_in_bytes", text), c.setIfKnown("memory.memsw.limit_in_bytes", text))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Container) set(file, text string) error { return write(filepath.Join(c.dir, file), text) }

// setIfKnown is for what not every kernel has.
func (c *Container) setIfKnown(file, text string) error {
	if err := c.set(file, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Admit moves a process into the group; what it starts is in it too.
func (c *Container) Admit(pid int) error { return c.set(procs, strconv.Itoa(pid)) }

// Exceeded says whether the kernel killed a process of the group for its use of memory.
func (c *Container) Exceeded() bool {
	file := "memory.events"
	if c.mode == CGroup1 {
		file = "memory.oom_control"
	}
	b, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		return false
	}
	for line := range bytes.Lines(b) {
		if n, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			return !bytes.Equal(bytes.TrimSpace(n), []byte("0"))
		}
	}
	return false
}

// Close removes the group, whose processes have ended.
func (c *Container) Close() error { return Remove(c.dir) }

// Remove removes a group and those in it, once their processes have ended. One that is not there is removed.
func Remove(dir string) error {
	if dir == "" {
		return nil
	}
	deadline := time.Now().Add(removeWait)
	for {
		err := removeTree(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) || errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("remove control group: %w", err)
		}
		time.Sleep(removePoll) // the kernel tells nobody when a group becomes free
	}
}

func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.Remove(dir) // the files in it are no files
}

func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open control file: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(file), err), f.Close())
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return nil
}
