// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is how long files must be quiet before they are read again: an editor saves in several steps.
	settle = 150 * time.Millisecond
	// comeBack is how often a folder that is gone is looked for: a checkout or a sync replaces folders.
	comeBack = time.Second
)

// watch sees the changes of files and folders from the moment it is made, also those that come before it is run.
type watch struct {
	events  *fsnotify.Watcher
	names   map[string]bool // files to watch
	folders map[string]bool // folders whose every file counts
	watched map[string]bool // folders that are watched; false: they are gone
}

func newWatch(paths []string) (*watch, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch the files: %w", err)
	}
	w := &watch{events: events, names: map[string]bool{}, folders: map[string]bool{}, watched: map[string]bool{}}
	for _, path := range paths {
		if err := w.add(path); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

func (w *watch) close() { _ = w.events.Close() }

func (w *watch) add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("watch the files: %w", err)
	}
	// What is not there now is watched as a file: it may come.
	folder := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		w.folders[path] = true
		folder = path
	} else {
		// A file is watched through its folder: editors replace it, and a watch on the file would go with the old one.
		w.names[path] = true
	}
	if err := w.events.Add(folder); err != nil {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	w.watched[folder] = true
	return nil
}

// run calls changed after each change until ctx ends.
func (w *watch) run(ctx context.Context, changed func()) {
	quiet, look := stopped(), stopped()
	defer quiet.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-w.events.Events:
			switch {
			case !ok:
				return
			case w.watched[event.Name] && event.Has(fsnotify.Remove|fsnotify.Rename):
				_ = w.events.Remove(event.Name) // of a renamed folder the watch would go on under the old name
				w.watched[event.Name] = false
				quiet.Reset(settle)
				look.Reset(settle)
			// A mounted ConfigMap changes through a link called ..data beside the files.
			case w.names[event.Name], w.folders[filepath.Dir(event.Name)], filepath.Base(event.Name) == "..data":
				quiet.Reset(settle)
			}
		case <-quiet.C:
			changed()
		case <-look.C:
			back, gone := w.again()
			if back {
				quiet.Reset(settle)
			}
			if gone {
				look.Reset(comeBack)
			}
		case _, ok := <-w.events.Errors:
			if !ok {
				return
			}
			quiet.Reset(settle) // events may be lost: look
		}
	}
}

// again watches the folders that came back.
func (w *watch) again() (back, gone bool) {
	for folder, there := range w.watched {
		switch {
		case there:
		case w.events.Add(folder) == nil:
			w.watched[folder], back = true, true
		default:
			gone = true
		}
	}
	return back, gone
}

func stopped() *time.Timer {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}
