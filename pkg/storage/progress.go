// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"sync"
	"sync/atomic"
	"time"
)

// Phase is where a fetch stands.
type Phase string

// The phases, in order; a fetch ends in PhaseDone or PhaseFailed.
const (
	PhaseWaiting    Phase = "waiting"
	PhaseListing    Phase = "listing"
	PhaseFetching   Phase = "fetching"
	PhaseUnpacking  Phase = "unpacking"
	PhasePublishing Phase = "publishing"
	PhaseDone       Phase = "done"
	PhaseFailed     Phase = "failed"
)

// Progress is a snapshot of a fetch.
type Progress struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Phase  Phase  `json:"phase"`
	// BytesDone includes BytesResumed. BytesTotal is -1 while unknown.
	BytesDone    int64 `json:"bytesDone"`
	BytesTotal   int64 `json:"bytesTotal"`
	BytesResumed int64 `json:"bytesResumed,omitempty"`
	FilesDone    int64 `json:"filesDone"`
	FilesTotal   int64 `json:"filesTotal"`
	// Rate is in bytes per second, smoothed over a few seconds.
	Rate    float64       `json:"rate"`
	Retries int64         `json:"retries,omitempty"`
	Elapsed time.Duration `json:"elapsed"`
	// Err is why the fetch failed; only in PhaseFailed.
	Err error `json:"-"`
}

// Remaining estimates the time left; false when it cannot be told.
func (p Progress) Remaining() (time.Duration, bool) {
	if p.BytesTotal < 0 || p.Rate < 1 || p.BytesDone >= p.BytesTotal {
		return 0, false
	}
	return time.Duration(float64(p.BytesTotal-p.BytesDone) / p.Rate * float64(time.Second)), true
}

// stats are the counters behind Progress; workers only add.
type stats struct {
	source, target                 string
	started                        time.Time
	done, total, resumed           atomic.Int64
	filesDone, filesTotal, retries atomic.Int64
	fetched                        atomic.Int64

	mu   sync.Mutex
	now  Phase
	rate float64
	// last is the previous sample of done.
	last   int64
	lastAt time.Time
}

func newStats(source, target string) *stats {
	s := &stats{source: source, target: target, started: time.Now()}
	s.total.Store(-1)
	return s
}

func (s *stats) phase(p Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = p
}

// begin sets the totals of a round and what it starts from.
func (s *stats) begin(total, resumed int64, files, filesDone int) {
	s.total.Store(total)
	s.done.Store(resumed)
	s.resumed.Store(resumed)
	s.filesTotal.Store(int64(files))
	s.filesDone.Store(int64(filesDone))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.last, s.lastAt = PhaseFetching, resumed, time.Now()
}

// rateWindow is the time constant of the smoothed rate.
const rateWindow = 3 * time.Second

func (s *stats) snapshot() Progress {
	done := s.done.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.now == PhaseFetching || s.now == PhaseUnpacking {
		if dt := now.Sub(s.lastAt); dt >= 50*time.Millisecond {
			inst := max(0, float64(done-s.last)/dt.Seconds())
			w := min(1, dt.Seconds()/rateWindow.Seconds())
			if s.rate == 0 {
				w = 1
			}
			s.rate += (inst - s.rate) * w
			s.last, s.lastAt = done, now
		}
	}
	return Progress{
		Source: s.source, Target: s.target, Phase: s.now,
		BytesDone: done, BytesTotal: s.total.Load(), BytesResumed: s.resumed.Load(),
		FilesDone: s.filesDone.Load(), FilesTotal: s.filesTotal.Load(),
		Rate: s.rate, Retries: s.retries.Load(), Elapsed: now.Sub(s.started),
	}
}

// report calls fn every so often until the returned function is called with the outcome.
func (s *stats) report(fn func(Progress), every time.Duration) func(error) {
	if fn == nil {
		return func(error) {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-quit:
				return
			case <-t.C:
				fn(s.snapshot())
			}
		}
	}()
	return func(err error) {
		close(quit)
		<-gone
		p := s.snapshot()
		p.Phase, p.Err = PhaseDone, err
		if err != nil {
			p.Phase = PhaseFailed
		}
		fn(p)
	}
}
