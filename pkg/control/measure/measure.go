// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure asks the operator's Prometheus about canaries, beside the controller's own work: nobody waits for an answer.
//
// Called by: control/reconcile/inferenceservice; control/manager, which runs it.
// Next: control/rollout, which judges what was measured.
package measure

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kserve-go/kserve-go/pkg/control/rollout"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

const (
	// workers is the number of looks that are taken at the same time.
	workers = 4
	// waiting bounds the looks that wait for a worker; one that finds no place is asked for again.
	waiting = 1024
	// placeAgain is the pause before that.
	placeAgain = time.Second
)

// Canary is what a look is about.
type Canary struct {
	// Service is woken when the look is done.
	Service types.NamespacedName
	UID     types.UID
	Name    string
	// Spec tells the canary's entry from an earlier one of the name.
	Spec string
}

// Ask is a wish for looks.
type Ask struct {
	Canary

	Every    time.Duration
	Queries  []rollout.Query
	Settings settings.CanaryAnalysis
}

type key struct {
	uid  types.UID
	name string
}

// entry is what is known of one canary.
type entry struct {
	spec    string
	look    *rollout.Look
	started time.Time
	running bool
}

// Measurer takes looks. Use New, and Run it.
type Measurer struct {
	log  *zap.Logger
	wake func(context.Context, types.NamespacedName)
	now  func() time.Time
	jobs chan Ask

	mu      sync.Mutex
	entries map[key]*entry
	clients clients
}

// New makes a Measurer that tells wake of each service that has a new look.
func New(log *zap.Logger, wake func(context.Context, types.NamespacedName)) *Measurer {
	return &Measurer{log: log, wake: wake, now: time.Now, jobs: make(chan Ask, waiting), entries: map[key]*entry{}}
}

// Run takes looks until ctx ends.
func (m *Measurer) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case ask := <-m.jobs:
					m.take(ctx, ask)
				}
			}
		})
	}
	all.Wait()
	return nil
}

// Look returns the latest look at a canary, nil before the first, and when to ask again; it sees to it that there is a look in every interval.
// It never waits.
func (m *Measurer) Look(ask Ask) (*rollout.Look, time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key{ask.UID, ask.Name}
	e := m.entries[k]
	if e == nil || e.spec != ask.Spec {
		e = &entry{spec: ask.Spec}
		m.entries[k] = e
	}
	if e.running {
		return e.look, 0 // its end wakes the service
	}
	if left := e.started.Add(ask.Every).Sub(m.now()); left > 0 {
		return e.look, left
	}
	select {
	case m.jobs <- ask:
		e.started, e.running = m.now(), true
		return e.look, 0
	default:
		return e.look, placeAgain
	}
}

// Forget drops what is known of the canaries of a service but those that are named.
func (m *Measurer) Forget(uid types.UID, but ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
entries:
	for k := range m.entries {
		if k.uid != uid {
			continue
		}
		for _, name := range but {
			if k.name == name {
				continue entries
			}
		}
		delete(m.entries, k)
	}
}

// take measures once. What nobody wants to know any more is dropped.
func (m *Measurer) take(ctx context.Context, ask Ask) {
	readings := m.clients.ask(ctx, &ask)
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	e := m.entries[key{ask.UID, ask.Name}]
	wanted := e != nil && e.spec == ask.Spec
	if wanted {
		e.look, e.running = &rollout.Look{Taken: m.now(), Readings: readings}, false
	}
	m.mu.Unlock()
	for _, r := range readings {
		if r.Missing != "" {
			m.log.Debug("a canary could not be measured", zap.Stringer("service", ask.Service), zap.String("canary", ask.Name), zap.String("measurement", r.Name), zap.String("why", r.Detail))
		}
	}
	if wanted {
		m.wake(ctx, ask.Service)
	}
}
