// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Branch is a process of a tree.
type Branch struct {
	PID int
	// Name is the file name of the program, as it was called.
	Name string
	// Born tells this process from a later one of the same number.
	Born string
}

// Tree are the process of that number and all below it, where /proc tells them.
func Tree(top int) ([]Branch, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	parents, all := map[int]int{}, map[int]Branch{}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			return nil, fmt.Errorf("read /proc: %w", err)
		}
		parent, born, alive := birth(pid)
		command, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !alive {
			continue // it has ended
		}
		first, _, _ := strings.Cut(string(command), "\x00")
		parents[pid], all[pid] = parent, Branch{pid, filepath.Base(first), born}
	}
	var found []Branch
	for pid, b := range all {
		for up := pid; up > 0; up = parents[up] {
			if up == top {
				found = append(found, b)
				break
			}
		}
	}
	return found, nil
}

// Lives says whether the process has not ended.
func (b Branch) Lives() bool {
	_, born, alive := birth(b.PID)
	return alive && born == b.Born
}

func birth(pid int) (parent int, born string, alive bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", false
	}
	// The second field is the program's name, in brackets, and may hold blanks.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, parentField, start = 0, 1, 19
	parent, err = strconv.Atoi(fields[parentField])
	return parent, fields[start], err == nil && fields[state] != "Z"
}

// Memory is what a process holds, in bytes: resident, and its share of what it shares with others.
func (b Branch) Memory() (rss, pss int64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", b.PID))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of process %d: %w", b.PID, err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		name, value, _ := strings.Cut(lines.Text(), ":")
		if _, err := fmt.Sscan(value, &kib); err != nil {
			continue
		}
		switch name {
		case "Rss":
			rss = kib << 10
		case "Pss":
			pss = kib << 10
		}
	}
	return rss, pss, nil
}
