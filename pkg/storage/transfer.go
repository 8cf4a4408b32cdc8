// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

const (
	// bufferSize is what one worker holds: all the memory that bytes in flight take is Parallel times this.
	bufferSize = 256 << 10
	// checkpoint is how many bytes of a part may be lost when the process is killed.
	checkpoint = 4 << 20
	// syncEach is up to how many files are synced one by one; more are synced together with their file system.
	syncEach = 64
)

// file is one object on its way to disk.
type file struct {
	obj provider.Object
	// done are the staged spans of an earlier fetch; left is what is still to come.
	done []span
	left int64

	open sync.Once
	f    *os.File
	err  error
	// parts counts the tasks not yet finished.
	parts atomic.Int32
}

// task is a range of one file. n < 0 means to the end.
type task struct {
	*file
	off, n int64
}

// transfer brings objects into a directory.
type transfer struct {
	r       *run
	root    *os.Root
	files   []*file
	journal *journal
	sync    bool
	dirs    sync.Map
}

// newTransfer plans what is left to do below dir, given what the journal knows.
func (r *run) newTransfer(dir string, objects []provider.Object) (*transfer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	t := &transfer{r: r, root: root, sync: len(objects) <= syncEach || runtime.GOOS != "linux"}
	planned := make(map[string]bool, len(objects))
	staged, sure := readJournal(r.place.journal())
	var resumed, total int64
	filesDone := 0
	for _, o := range objects {
		f := &file{obj: o, left: o.Size}
		planned[o.Path] = true
		if spans := staged[fileVersion{o.Path, o.Version, o.Size}]; spans != nil {
			f.resume(root, spans, sure)
		}
		t.files = append(t.files, f)
		if o.Size < 0 {
			total = -1
			continue
		}
		resumed += o.Size - f.left
		if total >= 0 {
			total += o.Size
		}
		if o.Size > 0 && f.left == 0 {
			filesDone++
		}
	}
	err = removeStray(root, planned)
	if err == nil {
		err = r.room(dir, total-resumed)
	}
	if err == nil {
		t.journal, err = createJournal(r.place.journal(), t.files)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	r.stats.begin(total, resumed, len(objects), filesDone)
	return t, nil
}

// room refuses a fetch that the disk cannot hold.
func (r *run) room(dir string, need int64) error {
	if have, ok := free(dir); ok && need > have {
		return fmt.Errorf("the model needs %s more, but only %s are free at %s", size(need), size(have), dir)
	}
	return nil
}

func (t *transfer) close() {
	for _, f := range t.files {
		if f.f != nil {
			_ = f.f.Close()
		}
	}
	t.journal.close()
	_ = t.root.Close()
}

// run fetches all that is left. The first failure ends the others; what they had is journalled.
func (t *transfer) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	tasks := make(chan task)
	g.Go(func() error {
		defer close(tasks)
		return t.feed(ctx, tasks)
	})
	for range t.r.f.o.Parallel {
		g.Go(func() error {
			var buf []byte
			for tk := range tasks {
				if buf == nil {
					buf = make([]byte, bufferSize)
				}
				if err := t.do(ctx, tk, buf); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if t.sync {
		return nil
	}
	d, err := t.root.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return syncAll(d)
}

// feed hands out the gaps of every file, in parts.
func (t *transfer) feed(ctx context.Context, tasks chan<- task) error {
	for _, f := range t.files {
		parts := f.tasks(t.r.f.o.PartSize)
		f.parts.Store(int32(len(parts)))
		if len(parts) == 0 && f.obj.Size > 0 && t.sync {
			// Complete since an earlier fetch, which may have died before it synced.
			if err := t.syncStaged(f); err != nil {
				return err
			}
		}
		for _, p := range parts {
			select {
			case tasks <- p:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

func (t *transfer) syncStaged(f *file) error {
	h, err := t.root.Open(f.obj.Path)
	if err != nil {
		return err
	}
	defer h.Close()
	return h.Sync()
}

// tasks are the ranges that are missing. An empty file is one task that reads nothing.
func (f *file) tasks(part int64) []task {
	if f.obj.Size <= 0 || !f.obj.Ranges {
		if f.obj.Size > 0 && f.left == 0 {
			return nil
		}
		return []task{{f, 0, f.obj.Size}}
	}
	var out []task
	at := int64(0)
	gap := func(end int64) {
		for ; at < end; at += part {
			out = append(out, task{f, at, min(part, end-at)})
		}
	}
	for _, s := range f.done {
		gap(s.Off)
		at = s.Off + s.Len
	}
	gap(f.obj.Size)
	return out
}

// handle opens the staged file once, however many workers write to it.
func (t *transfer) handle(f *file) (*os.File, error) {
	f.open.Do(func() {
		if dir := path.Dir(f.obj.Path); dir != "." {
			if _, made := t.dirs.Load(dir); !made {
				if f.err = t.root.MkdirAll(dir, 0o755); f.err != nil {
					return
				}
				t.dirs.Store(dir, nil)
			}
		}
		flags := os.O_CREATE | os.O_WRONLY
		if len(f.done) == 0 {
			flags |= os.O_TRUNC
		}
		f.f, f.err = t.root.OpenFile(f.obj.Path, flags, 0o644)
	})
	return f.f, f.err
}

// do fetches one range, going on where each failed attempt stopped.
func (t *transfer) do(ctx context.Context, tk task, buf []byte) error {
	h, err := t.handle(tk.file)
	if err != nil {
		return fmt.Errorf("stage %s: %w", tk.obj.Path, err)
	}
	if tk.n != 0 {
		p := part{t: t, task: tk, h: h, at: tk.off, noted: tk.off}
		err = t.r.retry(ctx, tk.obj.Path, func(ctx context.Context) (bool, error) { return p.attempt(ctx, buf) })
		if err = errors.Join(err, p.note()); err != nil {
			return fmt.Errorf("%s: %w", tk.obj.Path, err)
		}
	}
	if tk.parts.Add(-1) > 0 {
		return nil
	}
	tk.f = nil
	if t.sync {
		err = h.Sync()
	}
	if err = errors.Join(err, h.Close()); err != nil {
		return fmt.Errorf("stage %s: %w", tk.obj.Path, err)
	}
	t.r.stats.filesDone.Add(1)
	return nil
}

// part is a range in work.
type part struct {
	t *transfer
	task
	h *os.File
	// at is the next byte to come; noted the first that the journal does not know; crc the checksum of what is between.
	at, noted int64
	crc       uint32
}

// attempt reads from where the last one stopped.
func (p *part) attempt(ctx context.Context, buf []byte) (progress bool, err error) {
	st := p.t.r.stats
	if !p.obj.Ranges && p.at > 0 {
		// No way to go on in the middle: start over.
		st.done.Add(-p.at)
		p.at, p.noted, p.crc = 0, 0, 0
		if err := p.h.Truncate(0); err != nil {
			return false, err
		}
	}
	n := p.n
	if n >= 0 {
		n -= p.at - p.off
	}
	body, err := p.t.r.p.Open(ctx, p.obj, p.at, n)
	if err != nil {
		return false, err
	}
	defer body.Close()
	began := p.at
	timer := watchdog(ctx)
	var src io.Reader = body
	if n >= 0 {
		src = io.LimitReader(body, n)
	}
	for {
		got, rerr := p.fill(src, buf, timer)
		if got > 0 {
			if _, err := p.h.WriteAt(buf[:got], p.at); err != nil {
				return false, fmt.Errorf("write: %w", err)
			}
			p.crc = crc32.Update(p.crc, castagnoli, buf[:got])
			p.at += int64(got)
			st.done.Add(int64(got))
			st.fetched.Add(int64(got))
			if p.at-p.noted >= checkpoint && p.obj.Ranges {
				if err := p.note(); err != nil {
					return false, err
				}
			}
		}
		progress = p.at > began && p.obj.Ranges
		switch {
		case rerr == nil:
			continue
		case !errors.Is(rerr, io.EOF):
			return progress, readError(rerr)
		case p.n >= 0 && p.at < p.off+p.n:
			return progress, fmt.Errorf("ended after %d of %d bytes: %w", p.at-p.off, p.n, io.ErrUnexpectedEOF)
		}
		return progress, nil
	}
}

// fill reads until the buffer is full or the source ends, so that small reads do not become small writes.
func (p *part) fill(src io.Reader, buf []byte, timer *time.Timer) (int, error) {
	got := 0
	for got < len(buf) {
		n, err := src.Read(buf[got:])
		if n > 0 {
			p.t.r.alive(timer)
		}
		got += n
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

// readError gives a broken stream the kind that is worth another attempt.
func readError(err error) error {
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return err
	}
	return provider.Errorf(provider.Unavailable, "read: %w", err)
}

// note journals what came since the last note.
func (p *part) note() error {
	if p.at == p.noted || !p.obj.Ranges && p.at < p.obj.Size {
		return nil
	}
	err := p.t.journal.add(p.line(span{p.noted, p.at - p.noted, p.crc}))
	p.noted, p.crc = p.at, 0
	return err
}

// size prints bytes for people.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
