// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
)

const (
	// pollModels is how often the files of models on this machine are looked at. They are not watched by events: those do not come from
	// network mounts, and a folder of many files would use up the watches that a user has.
	pollModels = 500 * time.Millisecond
	// maxStamped bounds the files of one model that are looked at.
	maxStamped = 10_000
)

// local is what a service is fetched from on this machine, and the stamp of its last fetch.
type local struct {
	paths []string
	stamp string
}

// look stamps the local sources of the candidates, before they are fetched: what changes while it is fetched is seen afterwards.
func (e *executor) look(candidates []candidate) {
	now := map[string]local{}
	for _, c := range candidates {
		if c.err != nil {
			continue
		}
		if paths := e.fetcher.local(c.work); len(paths) > 0 {
			c.work.stamp = stamp(paths)
			now[c.service.Object.ID()] = local{paths, c.work.stamp}
		}
	}
	e.mu.Lock()
	e.local = now
	e.mu.Unlock()
}

// local are the files and folders on this machine that w is fetched from, there or not.
func (f *fetcher) local(w *work) []string {
	var paths []string
	for _, s := range w.sources {
		ref, err := modelref.Parse(s.URI)
		if err != nil {
			continue
		}
		if rest, ok := strings.CutPrefix(s.URI, "pvc://"); ok {
			claim, below, _ := strings.Cut(rest, "/")
			if root := f.claims[claim]; root != "" {
				paths = append(paths, filepath.Join(root, filepath.FromSlash(below)))
			}
			continue
		}
		if ref.Store == modelref.File {
			paths = append(paths, filepath.FromSlash(ref.Path))
		}
	}
	return paths
}

// watchModels calls changed once for each change of the models on this machine, when it has settled, until ctx ends.
func (e *executor) watchModels(ctx context.Context, changed func()) {
	tick := time.NewTicker(pollModels)
	defer tick.Stop()
	last, told := map[string]string{}, map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		e.mu.Lock()
		watched := e.local
		e.mu.Unlock()
		news := false
		for id, l := range watched {
			now := stamp(l.paths)
			// Twice the same: whoever writes has finished, or rests.
			if now == last[id] && now != l.stamp && now != told[id] {
				told[id], news = now, true
			}
			last[id] = now
		}
		if news {
			changed()
		}
	}
}

// stamp is a text that changes with the names, sizes and times of the files at paths.
func stamp(paths []string) string {
	var text strings.Builder
	for _, path := range paths {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		n := 0
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if n++; n > maxStamped {
				return filepath.SkipAll
			}
			if entry.IsDir() {
				return nil
			}
			// Stat follows links: a mounted volume changes through them.
			info, err := os.Stat(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "%s\x00%d\x00%d\x00", name, info.Size(), info.ModTime().UnixNano())
			return nil
		})
		if err != nil {
			text.WriteString(err.Error()) // not there, or being replaced
		}
		text.WriteByte(0)
	}
	return digest(text.String())
}
