// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseStatWithBracketsInTheName(t *testing.T) {
	line := "42 (a) b (c) S 7 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 100 1000000 300 18446744073709551615"
	p, ok := parseStat([]byte(line))
	require.True(t, ok)
	require.Equal(t, process{parent: 7, cpu: 3, memory: 300 * int64(os.Getpagesize())}, p)
	_, ok = parseStat([]byte("42 (short) S 7"))
	require.False(t, ok)
}

func TestWatchKillsOnceAndCPUNeverFalls(t *testing.T) {
	killed := 0
	c := &Watch{limit: Limit{Bytes: 100}, kill: func() { killed++ }, alive: map[int]float64{}}
	now := time.Now()
	c.record(Sample{CPU: 5, Memory: 50, At: now}, map[int]float64{1: 2, 2: 3})
	require.Zero(t, killed)
	c.record(Sample{CPU: 2, Memory: 150, At: now}, map[int]float64{1: 2})
	c.record(Sample{CPU: 2, Memory: 150, At: now}, map[int]float64{1: 2})
	require.Equal(t, 1, killed)
	require.InDelta(t, 5, c.Last().CPU, 0, "what ended processes used still counts")
}

func TestSampleSeesThisProcess(t *testing.T) {
	w := NewWatcher()
	c := w.Add(os.Getpid(), Limit{}, nil)
	w.Sample()
	require.Positive(t, c.Last().Memory)
	w.Remove(c)
}
