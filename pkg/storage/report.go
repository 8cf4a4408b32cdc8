// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// Bar returns a Progress callback that redraws one line of a terminal. width is asked before each drawing.
func Bar(w io.Writer, width func() int) func(Progress) {
	drawn := 0
	return func(p Progress) {
		line := barLine(p, width())
		n := utf8.RuneCountInString(line)
		pad := strings.Repeat(" ", max(0, drawn-n))
		drawn = n
		end := ""
		if p.Phase == PhaseDone || p.Phase == PhaseFailed {
			end, drawn = "\n", 0
		}
		_, _ = fmt.Fprint(w, "\r", line, pad, end)
	}
}

func barLine(p Progress, width int) string {
	tail := size(p.BytesDone)
	if p.BytesTotal >= 0 {
		tail += " / " + size(p.BytesTotal)
	}
	if p.FilesTotal > 1 {
		tail += fmt.Sprintf(", %d / %d files", p.FilesDone, p.FilesTotal)
	}
	if p.Phase == PhaseFetching {
		tail += fmt.Sprintf(", %s/s", size(int64(p.Rate)))
		if left, ok := p.Remaining(); ok {
			tail += ", " + left.Round(time.Second).String() + " left"
		}
	}
	if p.Retries > 0 {
		tail += fmt.Sprintf(", %d retries", p.Retries)
	}
	head := fmt.Sprintf("%-10s ", p.Phase)
	room := min(width-len(head)-len(tail)-4, 40)
	if p.BytesTotal <= 0 || room < 5 {
		return head + tail
	}
	full := int(int64(room) * min(p.BytesDone, p.BytesTotal) / p.BytesTotal)
	return head + "[" + strings.Repeat("#", full) + strings.Repeat(".", room-full) + "] " + tail
}

// Lines returns a Progress callback for a log: a line when the phase changes, and one every so often while bytes move.
func Lines(log *zap.Logger, every time.Duration) func(Progress) {
	var phase Phase
	var next time.Duration
	return func(p Progress) {
		if p.Phase == PhaseDone || p.Phase == PhaseFailed {
			phase, next = "", 0 // ready for another fetch
			return
		}
		if p.Phase == phase && p.Elapsed < next {
			return
		}
		if p.Phase != phase && p.Phase != PhaseFetching && p.Elapsed < every {
			// Short fetches say nothing but their end.
			return
		}
		if p.Phase == PhaseFetching && p.Elapsed < every {
			return
		}
		phase, next = p.Phase, p.Elapsed+every
		fields := []zap.Field{
			zap.String("source", p.Source), zap.String("phase", string(p.Phase)), zap.String("done", size(p.BytesDone)),
			zap.Int64("filesDone", p.FilesDone), zap.Int64("files", p.FilesTotal), zap.String("rate", size(int64(p.Rate))+"/s"),
		}
		if p.BytesTotal > 0 {
			fields = append(fields, zap.String("total", size(p.BytesTotal)), zap.Int64("percent", 100*p.BytesDone/p.BytesTotal))
		}
		if left, ok := p.Remaining(); ok {
			fields = append(fields, zap.Duration("left", left.Round(time.Second)))
		}
		log.Info("progress", fields...)
	}
}

// Latest keeps the newest Progress for whoever asks: metrics, a status page. The zero value is ready; Set is a Progress callback.
type Latest struct{ p atomic.Pointer[Progress] }

// Set stores p.
func (l *Latest) Set(p Progress) { l.p.Store(&p) }

// Snapshot returns the newest Progress; false before the first.
func (l *Latest) Snapshot() (Progress, bool) {
	p := l.p.Load()
	if p == nil {
		return Progress{}, false
	}
	return *p, true
}

// Tee calls every callback; nil ones are left out.
func Tee(fns ...func(Progress)) func(Progress) {
	return func(p Progress) {
		for _, fn := range fns {
			if fn != nil {
				fn(p)
			}
		}
	}
}

// Report describes how one fetch ended, for the pod's status.
func Report(source, target string, res Result, err error) handoff.FetchReport {
	if err != nil {
		return handoff.FetchReport{
			Outcome: handoff.FetchFailed, Source: modelref.Redact(source), Target: target,
			Kind: provider.KindOf(err).String(), Message: err.Error(), Retryable: retriable(err),
		}
	}
	return handoff.FetchReport{
		Outcome: handoff.FetchDone, Source: res.Source, Target: res.Dir, Files: res.Files, Bytes: res.Bytes, Fetched: res.Fetched,
		Resumed: res.Resumed, Retries: res.Retries, UpToDate: res.UpToDate, Seconds: res.Elapsed.Seconds(),
	}
}

// maxTermination is what the kubelet keeps of a termination message.
const maxTermination = 4096

// WriteReport puts a report into the file that the kubelet reads, which must exist: elsewhere there is nobody to read it. The whole
// stays a valid JSON value of at most 4 KiB.
func WriteReport(name string, t handoff.FetchReport) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	for over := len(data) - maxTermination; over > 0; over = len(data) - maxTermination {
		keep := max(0, len(t.Message)-over-16)
		t.Message = strings.ToValidUTF8(t.Message[:keep], "") + "…"
		if keep == 0 {
			t.Source, t.Target = "", ""
		}
		if data, err = json.Marshal(t); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n')[:min(len(data)+1, maxTermination)])
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
