// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// progress is one line that is written over, for a person who waits at a terminal; others see nothing of it.
type progress struct {
	w     io.Writer
	on    bool
	shown bool
}

func newProgress(w io.Writer) *progress { return &progress{w: w, on: output.IsTerminal(w)} }

func (p *progress) show(format string, args ...any) {
	if p.on {
		p.shown = true
		fmt.Fprintf(p.w, "\r"+format+"\x1b[K", args...)
	}
}

// clear makes room for what is printed next.
func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
