// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// settle is how long files must be left alone before they are read again.
const settle = 20 * time.Millisecond

// Keep keeps the models up to date until ctx ends: those of Options.ModelConfig and, with Options.FollowDir, of ModelDir; and it loads
// again what could not be loaded and has changed. Run does it; a program that mounts a Server calls it after Start.
func (s *Server) Keep(ctx context.Context) {
	var follower *repository.Follower
	if s.opts.FollowDir && s.follows.Load() {
		var err error
		if follower, err = s.models.Follow(); err != nil {
			s.log.Error("model directory is not followed", zap.Error(err))
		}
	}
	var changes <-chan fsnotify.Event
	var lost <-chan error // events that the watcher could not keep
	if s.config != nil {
		// A ConfigMap changes by a link in its directory: the directory tells, not the file. The poll finds what a network volume does not tell.
		if watcher, err := fsnotify.NewWatcher(); err == nil {
			defer watcher.Close()
			if err = watcher.Add(filepath.Dir(s.config.file)); err == nil {
				changes, lost = watcher.Events, watcher.Errors
			} else {
				s.log.Warn("the list of models is looked at now and then only", zap.Error(err))
			}
		}
	}
	poll := time.NewTicker(s.opts.Poll)
	defer poll.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-changes:
			if !open {
				changes = nil
				continue
			}
			if !quiet(ctx, changes) {
				return
			}
		case err := <-lost:
			s.log.Warn("a change of the list of models may have been missed: it is read again", zap.Error(err))
		case <-poll.C:
			s.models.Heal(ctx)
			if follower != nil {
				if err := follower.Sync(ctx); err != nil {
					s.log.Error("model directory cannot be read", zap.Error(err))
				}
			}
			s.tellHealth()
		}
		if s.config == nil {
			continue
		}
		err := s.applyConfig(ctx, s.config)
		switch {
		case err == nil:
			told = ""
		case err.Error() != told: // once
			told = err.Error()
			s.log.Error("the models stay as they are", zap.Error(err))
		}
	}
}

// quiet waits until no event came for a moment; false when ctx has ended.
func quiet(ctx context.Context, events <-chan fsnotify.Event) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-events:
		case <-time.After(settle):
			return true
		}
	}
}

// startConfig loads the models of the list for the first time. A list that cannot be read is the error; models that cannot be loaded are not.
func (s *Server) startConfig(ctx context.Context) error {
	s.config = &modelConfig{file: s.opts.ModelConfig}
	if s.opts.ModelDir != "" {
		s.models.UseRoot(s.opts.ModelDir)
	}
	if err := s.applyConfig(ctx, s.config); err != nil {
		return err
	}
	s.log.Info("serving the models of a list", zap.String("file", s.opts.ModelConfig), zap.Int("models", len(s.config.applied)))
	return nil
}
