// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Keep keeps the server up to date until ctx ends: models with the list of Options.ModelConfig and the files that it names, with
// Options.FollowDir those of ModelDir; settings with Options.Settings; and it loads again what could not be loaded and may be now. It waits
// for no load. Run does it; a program that mounts a Server calls it after Start.
func (s *Server) Keep(ctx context.Context) {
	follower := s.models.Follow(s.opts.FollowDir && s.follows)
	changes := follow(s.watched, s.log)
	defer changes.close()
	poll := time.NewTicker(s.opts.Poll)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-changes.events():
			if !open {
				changes.close()
				continue
			}
			if !changes.concern(e) {
				continue
			}
			if !changes.settled(ctx) {
				return
			}
		case err := <-changes.lost():
			s.log.Warn("a change of a file that is followed may have been missed: it is read again", zap.Error(err))
		case <-poll.C:
			s.models.Heal(ctx)
			if err := follower.Sync(ctx); err != nil {
				s.log.Error("model directory cannot be read", zap.Error(err))
			}
			s.tellHealth()
		}
		for _, w := range s.watched {
			w.lookAgain(ctx, s.log)
		}
	}
}
