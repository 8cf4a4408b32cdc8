// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Phase is where a service or graph stands.
type Phase string

// The phases. A row ends in one of the last five.
const (
	Planned  Phase = "Planned"
	Fetching Phase = "Fetching"
	Loading  Phase = "Loading"
	Ready    Phase = "Ready"
	Stopped  Phase = "Stopped" // the service asks not to run
	Refused  Phase = "Refused" // only a cluster can run it
	Failed   Phase = "Failed"
	Invalid  Phase = "Invalid" // the files hold faults in it
)

// Row is one service or graph on the board.
type Row struct {
	Kind    string   `json:"kind"`
	Name    string   `json:"name"` // namespace/name
	Phase   Phase    `json:"phase"`
	Runtime string   `json:"runtime,omitempty"`
	Model   string   `json:"model,omitempty"`
	URL     string   `json:"url,omitempty"`
	Host    string   `json:"host,omitempty"`
	Detail  string   `json:"detail,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Before says that the last change went wrong and what was served before it goes on being served.
	Before bool `json:"before,omitempty"`
	// Done and Total are bytes while fetching; Total is -1 while unknown.
	Done  int64 `json:"done,omitempty"`
	Total int64 `json:"total,omitempty"`
}

// bad tells a row that makes the exit code say so.
func (r Row) bad() bool { return r.Phase == Failed || r.Phase == Refused || r.Phase == Invalid }

// board holds the rows and wakes whoever shows them.
type board struct {
	mu      sync.Mutex
	rows    map[string]Row
	changed chan struct{} // capacity 1: a missed wake-up is a wake-up still waiting
	says    []func()      // what is to be said after the rows are shown
	// disturbed says that somebody wrote to the terminal beside the table, so that its lines are not where they were.
	disturbed atomic.Bool
}

func newBoard() *board { return &board{rows: map[string]Row{}, changed: make(chan struct{}, 1)} }

func (b *board) set(id string, change func(*Row)) {
	b.mu.Lock()
	row := b.rows[id]
	change(&row)
	b.rows[id] = row
	b.mu.Unlock()
	b.wake()
}

func (b *board) remove(id string) {
	b.mu.Lock()
	delete(b.rows, id)
	b.mu.Unlock()
	b.wake()
}

func (b *board) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// say has something said by whoever shows the board, after the rows as they are now: two writers would mix their lines.
func (b *board) say(what func()) {
	b.mu.Lock()
	b.says = append(b.says, what)
	b.mu.Unlock()
	b.wake()
}

// said takes what is to be said.
func (b *board) said() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	says := b.says
	b.says = nil
	return says
}

// snapshot is the rows, services before graphs, by name.
func (b *board) snapshot() []Row {
	b.mu.Lock()
	rows := slices.Collect(maps.Values(b.rows))
	b.mu.Unlock()
	slices.SortFunc(rows, func(a, c Row) int {
		if a.Kind != c.Kind {
			return -strings.Compare(a.Kind, c.Kind)
		}
		return strings.Compare(a.Name, c.Name)
	})
	return rows
}

// tally counts rows: ready are served, among them before as they were before a change that went wrong; failed are not served and ought
// to be, among them invalid because of faults in the files.
type tally struct{ ready, before, failed, invalid int }

func count(rows []Row) tally {
	var t tally
	for _, r := range rows {
		switch {
		case r.Phase == Ready:
			t.ready++
		case r.bad() && r.Before:
			t.ready++
			t.before++
		case r.bad():
			t.failed++
		}
		if r.Phase == Invalid {
			t.invalid++
		}
	}
	return t
}

// sentence tells how many of all rows are served.
func (t tally) sentence(all int) string {
	text := fmt.Sprintf("serving %d of %d", t.ready, all)
	if t.before > 0 {
		text += fmt.Sprintf(", %d of them as before a change that went wrong", t.before)
	}
	if t.invalid > 0 {
		text += fmt.Sprintf("; %d with faults in the files", t.invalid)
	}
	return text + "; ctrl-c stops"
}
