// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage reads what the processes of containers use, from /proc, and ends containers that use more memory than they may.
//
// Called by: node, which registers containers; kubelet and metrics, which report.
// Next: nothing.
package usage

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	interval = 250 * time.Millisecond
	// ticksPerSecond is the unit of /proc's times; it is 100 on every Linux that Go runs on.
	ticksPerSecond = 100
)

// Sample is what a container used.
type Sample struct {
	CPU    float64 // seconds since it started
	Memory int64   // resident bytes now
	At     time.Time
}

// Limit is what a container may use. Exceeded, when set, is asked instead of comparing sizes with Bytes.
type Limit struct {
	Bytes    int64
	Exceeded func() bool
}

// Watch is one container.
type Watch struct {
	root  int
	limit Limit
	kill  func()

	mu   sync.Mutex
	last Sample
	// ended is what processes that are gone had used when they were last seen.
	ended float64
	alive map[int]float64
}

// Watcher looks at all containers a few times a second.
type Watcher struct {
	mu      sync.Mutex
	watched map[*Watch]struct{}
	node    Sample
}

// NewWatcher does no I/O.
func NewWatcher() *Watcher { return &Watcher{watched: map[*Watch]struct{}{}} }

// Add follows the process tree below root, a container's first process; kill is called once when it uses more than it may.
func (w *Watcher) Add(root int, limit Limit, kill func()) *Watch {
	c := &Watch{root: root, limit: limit, kill: kill, alive: map[int]float64{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched[c] = struct{}{}
	return c
}

// Remove ends following.
func (w *Watcher) Remove(c *Watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, c)
}

// Last is the newest sample.
func (c *Watch) Last() Sample {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Node is the newest sample of everything in the cluster.
func (w *Watcher) Node() Sample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.node
}

// Run samples until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		w.Sample()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

type process struct {
	parent int
	cpu    float64
	memory int64
}

// Sample reads /proc once and attributes each process to the container whose first process is its ancestor: orphans of a container
// become children of that process, so nothing escapes.
func (w *Watcher) Sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := processes()
	now := time.Now()
	roots := map[int]*Watch{}
	sums := map[*Watch]*Sample{}
	seen := map[*Watch]map[int]float64{}
	for c := range w.watched {
		roots[c.root], sums[c], seen[c] = c, &Sample{At: now}, map[int]float64{}
	}
	node := Sample{At: now}
	for pid, p := range all {
		node.CPU += p.cpu
		node.Memory += p.memory
		for at, depth := pid, 0; at > 1 && depth < 64; at, depth = all[at].parent, depth+1 {
			if c, ok := roots[at]; ok {
				sums[c].CPU += p.cpu
				sums[c].Memory += p.memory
				seen[c][pid] = p.cpu
				break
			}
		}
	}
	node.CPU = max(node.CPU, w.node.CPU)
	w.node = node
	for c, s := range sums {
		c.record(*s, seen[c])
	}
}

func (c *Watch) record(s Sample, alive map[int]float64) {
	c.mu.Lock()
	for pid, cpu := range c.alive {
		if _, ok := alive[pid]; !ok {
			c.ended += cpu
		}
	}
	c.alive = alive
	s.CPU += c.ended
	c.last = s
	over := c.kill != nil && c.limit.exceeded(s.Memory)
	kill := c.kill
	if over {
		c.kill = nil
	}
	c.mu.Unlock()
	if over {
		kill()
	}
}

func (l Limit) exceeded(used int64) bool {
	if l.Exceeded != nil {
		return l.Exceeded()
	}
	return l.Bytes > 0 && used > l.Bytes
}

func processes() map[int]process {
	out := map[int]process{}
	dir, err := os.Open("/proc")
	if err != nil {
		return out
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return out
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has just ended
		}
		if p, ok := parseStat(b); ok {
			out[pid] = p
		}
	}
	return out
}

// parseStat reads a line of proc(5); the program's name may hold anything, even a bracket.
func parseStat(b []byte) (process, bool) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return process{}, false
	}
	f := bytes.Fields(b[i+1:])
	const ppid, utime, stime, rss = 1, 11, 12, 21
	if len(f) <= rss {
		return process{}, false
	}
	n := func(i int) int64 {
		v, err := strconv.ParseInt(string(f[i]), 10, 64)
		if err != nil {
			return 0
		}
		return v
	}
	return process{
		parent: int(n(ppid)),
		cpu:    float64(n(utime)+n(stime)) / ticksPerSecond,
		memory: n(rss) * int64(os.Getpagesize()),
	}, true
}
