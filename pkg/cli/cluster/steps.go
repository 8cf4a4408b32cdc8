// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// steps tells a person what happens, each line with the seconds since the command began.
type steps struct {
	mu      sync.Mutex
	w       io.Writer
	paint   output.Paint
	started time.Time
	last    string
}

func newSteps(w io.Writer) *steps {
	return &steps{w: w, paint: output.NewPaint(w), started: time.Now()}
}

// done tells of a step that is complete.
func (s *steps) done(format string, args ...any) { s.say(s.paint.Good, format, args...) }

// wait tells what is waited for, once as long as that is the same.
func (s *steps) wait(format string, args ...any) { s.say(s.paint.Busy, format, args...) }

func (s *steps) say(colour func(string) string, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == s.last {
		return
	}
	s.last = text
	fmt.Fprintf(s.w, "%s %s\n", colour(fmt.Sprintf("%6.1fs", time.Since(s.started).Seconds())), text)
}
