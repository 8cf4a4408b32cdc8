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

// settle is how long files must be quiet before they are read again: an editor saves in several steps.
const settle = 150 * time.Millisecond

// watch calls changed after each change of the files or folders until ctx ends.
func watch(ctx context.Context, paths []string, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the files: %w", err)
	}
	defer func() { _ = watcher.Close() }()
	names := map[string]bool{}   // files to watch
	folders := map[string]bool{} // folders whose every file counts
	for _, path := range paths {
		if path == "-" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return fmt.Errorf("watch the files: %w", err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("watch the files: %w", err)
		}
		// A file is watched through its folder: editors replace it, and a watch on the file would go with the old one.
		folder := path
		if info.IsDir() {
			folders[path] = true
		} else {
			names[path] = true
			folder = filepath.Dir(path)
		}
		if err := watcher.Add(folder); err != nil {
			return fmt.Errorf("watch %s: %w", folder, err)
		}
	}
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-watcher.Events:
			if !ok {
				return nil
			}
			// A mounted ConfigMap changes through a link called ..data beside the files.
			if names[event.Name] || folders[filepath.Dir(event.Name)] || filepath.Base(event.Name) == "..data" {
				timer.Reset(settle)
			}
		case <-timer.C:
			changed()
		case _, ok := <-watcher.Errors:
			if !ok {
				return nil
			}
			timer.Reset(settle) // events may be lost: look
		}
	}
}
