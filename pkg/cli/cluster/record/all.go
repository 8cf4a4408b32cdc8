// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"strings"
)

// AllRunning are the names of the clusters that run beside this one, and its own if it does, sorted. What cannot be read is none.
func (p *Place) AllRunning() []string {
	entries, err := os.ReadDir(p.Root)
	if err != nil {
		return nil
	}
	var running []string
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), ".lock")
		if !isLock || !validName.MatchString(name) {
			continue
		}
		other := &Place{Name: name, Root: p.Root}
		if _, err := other.Running(); err == nil {
			running = append(running, name)
		}
	}
	return running
}

// Others says which other clusters run, and with which flag a command is sent to the first of them; empty where none does.
func (p *Place) Others(flag string) string {
	var others []string
	for _, name := range p.AllRunning() {
		if name != p.Name {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("; of local clusters there runs %s: %s %s", strings.Join(others, ", "), flag, others[0])
}
