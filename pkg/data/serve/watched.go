// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// maxWatched bounds a file that is followed: a ConfigMap has less.
const maxWatched = 16 << 20

// watched is a file that is followed.
type watched struct {
	what, file string
	apply      func(ctx context.Context, text []byte) error
	state      *atomic.Int32 // 1 when it could be applied the last time, -1 when not

	text []byte // as it was applied last
	told string // the fault that was told last
}

// look applies the file if it has changed since it was applied last. An error leaves everything as it was.
func (w *watched) look(ctx context.Context) error {
	text, err := readBounded(w.file)
	if err == nil && w.state.Load() > 0 && bytes.Equal(text, w.text) {
		return nil
	}
	if err == nil {
		err = w.apply(ctx, text)
	}
	if err != nil {
		w.state.Store(-1)
		return fmt.Errorf("%s %s: %w", w.what, w.file, err)
	}
	w.text = text
	w.state.Store(1)
	return nil
}

// lookAgain is look that tells a fault once.
func (w *watched) lookAgain(ctx context.Context, log *zap.Logger) {
	switch err := w.look(ctx); {
	case err == nil:
		w.told = ""
	case err.Error() != w.told:
		w.told = err.Error()
		log.Error("a file that is followed cannot be used: all stays as it is", zap.Error(err))
	}
}

func readBounded(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("expected a regular file, got %s", engine.KindOf(info.Mode()))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxWatched+1))
	if err == nil && len(text) > maxWatched {
		err = fmt.Errorf("it has more than %d bytes", maxWatched)
	}
	return text, err
}

// changes tells of what happens to files. It tells nothing where the system does not, as on network volumes, or has no room for one more
// watcher.
type changes struct {
	watcher *fsnotify.Watcher // nil where there is none
	names   map[string]bool
}

// follow begins to watch files. A ConfigMap changes by a link in its directory: the directory tells, not the file.
func follow(files []*watched, log *zap.Logger) *changes {
	c := &changes{names: map[string]bool{"..data": true}}
	if len(files) == 0 {
		return c
	}
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		c.watcher = watcher
		for _, w := range files {
			c.names[filepath.Base(w.file)] = true
			if err = watcher.Add(filepath.Dir(w.file)); err != nil {
				break
			}
		}
	}
	if err != nil {
		log.Warn("files that are followed are looked at now and then only", zap.Error(err))
	}
	return c
}

func (c *changes) close() {
	if c.watcher != nil {
		_ = c.watcher.Close()
		c.watcher = nil
	}
}

func (c *changes) events() <-chan fsnotify.Event {
	if c.watcher == nil {
		return nil
	}
	return c.watcher.Events
}

// lost tells that events may have been missed.
func (c *changes) lost() <-chan error {
	if c.watcher == nil {
		return nil
	}
	return c.watcher.Errors
}

// concern says whether an event is about a file that is followed: others may be busy beside it.
func (c *changes) concern(e fsnotify.Event) bool { return c.names[filepath.Base(e.Name)] }

const (
	// settle is how long a file must be left alone before it is read again; busy how long it may go on.
	settle = 20 * time.Millisecond
	busy   = time.Second
)

// settled waits until a file is left alone, but not for ever; false when ctx has ended.
func (c *changes) settled(ctx context.Context) bool {
	long := time.After(busy)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-c.events():
		case <-long:
			return true
		case <-time.After(settle):
			return true
		}
	}
}
