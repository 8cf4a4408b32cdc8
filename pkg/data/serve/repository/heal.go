// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// attempt is a load, and what the files looked like when it began.
type attempt struct {
	src   Source
	files uint64
}

// maxLooked bounds the files of one model that are looked at.
const maxLooked = 1000

// fingerprint tells whether a model's files have changed: their names, sizes and times. It follows links, as volumes of Kubernetes are
// made of them. A model that exists already has none.
func (src *Source) fingerprint() uint64 {
	if src.Model != nil {
		return 0
	}
	h := fnv.New64a()
	looked := 0
	var look func(path string)
	look = func(path string) {
		info, err := os.Stat(path)
		if looked++; looked > maxLooked {
			return
		}
		if err != nil {
			fmt.Fprintln(h, path, "absent")
			return
		}
		target, _ := filepath.EvalSymlinks(path)
		fmt.Fprintln(h, path, target, info.Size(), info.Mode().Type(), info.ModTime().UnixNano())
		if !info.IsDir() {
			return
		}
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			// Names with a dot in front are what links lead to, or are not finished.
			if !strings.HasPrefix(e.Name(), ".") && e.Type() != fs.ModeNamedPipe {
				look(filepath.Join(path, e.Name()))
			}
		}
	}
	look(src.Path)
	return h.Sum64()
}

// failure is a load that failed.
type failure struct {
	attempt

	// passing says that the fault is one of the moment: then it is tried again after a while, without a change of the files.
	passing bool
	at      time.Time
	wait    time.Duration
	large   bool // it did not fit
}

const (
	firstWait = 5 * time.Second
	lastWait  = 5 * time.Minute
)

// isPassing tells faults of the moment from those of the files.
func isPassing(err error) bool {
	for _, passing := range []error{
		context.Canceled, context.DeadlineExceeded, fs.ErrPermission,
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EAGAIN, syscall.EINTR,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// failedAgain is the failure after another, of which before is the zero value if there was none. The wait grows while it is the same.
func failedAgain(before failure, a attempt, err error) failure {
	over := (*overLimit)(nil)
	f := failure{attempt: a, passing: isPassing(err), at: time.Now(), wait: firstWait, large: errors.As(err, &over)}
	if before.attempt == a && before.passing {
		f.wait = min(2*before.wait, lastWait)
	}
	return f
}

// Heal loads again, in the background, what could not be loaded and whose files have changed since, or whose fault may have passed.
func (r *Repository) Heal(ctx context.Context) {
	r.mu.Lock()
	failed := slices.Collect(maps.Values(r.failed))
	r.mu.Unlock()
	for _, f := range failed {
		if f.src.Model != nil || f.src.fingerprint() == f.files && (!f.passing || time.Since(f.at) < f.wait) {
			continue
		}
		r.inTurn(ctx, f.src.Name, func() {
			if err := r.heal(ctx, f.src); err != nil {
				r.opts.Log.Warn("model still cannot be loaded", zap.String("model", f.src.Name), zap.Error(err))
			}
		})
	}
}

func (r *Repository) heal(ctx context.Context, src Source) error {
	defer r.lock(src.Name)()
	r.mu.Lock()
	_, still := r.failed[slotKey{src.Name, src.Version}]
	r.mu.Unlock()
	if !still {
		return nil
	}
	// A model that has a directory of models, or a place, is read as it was: its versions may be others now.
	if place, ok := r.place(src.Name); ok && (src.Path == place.Path || filepath.Dir(src.Path) == place.Path) {
		return r.reload(ctx, src.Name)
	}
	return r.add(ctx, src)
}
