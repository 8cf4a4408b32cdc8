// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podlog

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const followPoll = 100 * time.Millisecond

// Copy writes the lines that o asks for. With Follow it goes on until ended says that nothing more comes, or ctx ends.
func Copy(ctx context.Context, path string, o *corev1.PodLogOptions, ended func() bool, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	p := &printer{out: out, timestamps: o.Timestamps, left: -1}
	if o.LimitBytes != nil {
		p.left = *o.LimitBytes
	}
	switch {
	case o.SinceSeconds != nil:
		p.since = time.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	case o.SinceTime != nil:
		p.since = o.SinceTime.Time
	}
	if o.Stream != nil && *o.Stream != corev1.LogStreamAll {
		p.stream = map[string]string{corev1.LogStreamStdout: "stdout", corev1.LogStreamStderr: "stderr"}[*o.Stream]
	}
	if o.TailLines != nil {
		if err := seekTail(f, *o.TailLines); err != nil {
			return err
		}
	}
	return follow(ctx, f, p, func() bool { return !o.Follow || ended() })
}

func follow(ctx context.Context, f io.Reader, p *printer, ended func() bool) error {
	r := bufio.NewReaderSize(f, maxLine+128)
	var part []byte
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for last := false; ; {
		line, err := r.ReadBytes('\n')
		part = append(part, line...)
		switch {
		case err == nil:
			if done, err := p.print(part); done || err != nil {
				return err
			}
			part = part[:0]
			continue
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("read log: %w", err)
		case last:
			return nil
		}
		// What was written before the end is still read: one more pass after it.
		if last = ended(); last {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

type printer struct {
	out        io.Writer
	timestamps bool
	since      time.Time
	stream     string
	left       int64
}

// print writes one stored line as the client wants it; done says that the client wants no more.
func (p *printer) print(line []byte) (done bool, err error) {
	stamp, rest, ok := bytes.Cut(line, []byte{' '})
	stream, rest, ok2 := bytes.Cut(rest, []byte{' '})
	tag, text, ok3 := bytes.Cut(rest, []byte{' '})
	if !ok || !ok2 || !ok3 {
		return false, nil
	}
	if p.stream != "" && string(stream) != p.stream {
		return false, nil
	}
	if !p.since.IsZero() {
		t, err := time.Parse(time.RFC3339Nano, string(stamp))
		if err == nil && t.Before(p.since) {
			return false, nil
		}
	}
	if string(tag) == "P" {
		text = bytes.TrimSuffix(text, []byte{'\n'})
	}
	if p.timestamps {
		text = append(append(append([]byte{}, stamp...), ' '), text...)
	}
	if p.left >= 0 && int64(len(text)) > p.left {
		text, done = text[:p.left], true
	}
	p.left -= min(int64(len(text)), max(p.left, 0))
	if _, err := p.out.Write(text); err != nil {
		return true, fmt.Errorf("send log: %w", err)
	}
	if fl, ok := p.out.(interface{ Flush() }); ok {
		fl.Flush()
	}
	return done, nil
}

// seekTail moves to the start of the n-th line from the end.
func seekTail(f *os.File, n int64) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("seek log: %w", err)
	}
	const block = 8 << 10
	buf := make([]byte, block)
	seen, at := int64(0), end
	for at > 0 {
		size := min(block, at)
		at -= size
		if _, err := f.ReadAt(buf[:size], at); err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		for i := size - 1; i >= 0; i-- {
			if buf[i] != '\n' {
				continue
			}
			if at+i == end-1 && n > 0 {
				continue // the end of the last line
			}
			if seen++; seen >= n {
				return seek(f, at+i+1)
			}
		}
	}
	return seek(f, 0)
}

func seek(f *os.File, at int64) error {
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return fmt.Errorf("seek log: %w", err)
	}
	return nil
}

// Tail is the last text of a run, without times: what becomes the message of a failed container.
func Tail(path string, lines int64, limit int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if err := seekTail(f, lines); err != nil {
		return ""
	}
	var b bytes.Buffer
	if err := follow(context.Background(), f, &printer{out: &b, left: -1}, func() bool { return true }); err != nil {
		return ""
	}
	text := b.Bytes()
	return string(text[max(0, len(text)-limit):])
}

// Reader is a log from a place on.
type Reader struct{ file *os.File }

// End opens a log at its end.
func End(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if _, err := f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("seek log: %w", err), f.Close())
	}
	return &Reader{f}, nil
}

// Follow copies until the container has ended or ctx does.
func (r *Reader) Follow(ctx context.Context, ended func() bool, out io.Writer) error {
	return follow(ctx, r.file, &printer{out: out, left: -1}, ended)
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
