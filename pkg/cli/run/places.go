// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
)

// place is where a model is loaded: in one of the model servers of this process, under a name that this server has once.
//
// In a cluster each service has a model server to itself, so two namespaces may both have an iris. Here all services share server 0,
// which answers paths without a host name and gRPC; a name that is taken there goes to the next server, which only the service's host
// name and path prefix lead to.
type place struct {
	server int
	model  string
}

// modelServers are: the first is there from the start, the others when they are needed.
type modelServers struct {
	fresh func() *serve.Server

	mu       sync.Mutex
	all      []*serve.Server
	handlers []http.Handler
	drained  bool
}

func newModelServers(fresh func() *serve.Server) *modelServers {
	s := &modelServers{fresh: fresh}
	s.at(0)
	return s
}

func (s *modelServers) at(i int) (*serve.Server, http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.all) <= i {
		one := s.fresh()
		if s.drained {
			one.Drain()
		}
		s.all, s.handlers = append(s.all, one), append(s.handlers, one.Handler())
	}
	return s.all[i], s.handlers[i]
}

func (s *modelServers) main() *serve.Server { one, _ := s.at(0); return one }

func (s *modelServers) handler(i int) http.Handler { _, h := s.at(i); return h }

func (s *modelServers) add(ctx context.Context, server int, m serve.Model) error {
	one, _ := s.at(server)
	return one.Add(ctx, m)
}

func (s *modelServers) remove(p place) error {
	one, _ := s.at(p.server)
	return one.Remove(p.model)
}

// drain makes every server not ready.
func (s *modelServers) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drained = true
	for _, one := range s.all {
		one.Drain()
	}
}

func (s *modelServers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		one.Close()
	}
}

// candidate is a service that can be served, or the error why not.
type candidate struct {
	service offline.Service
	work    *work
	runtime string
	err     error
}

// assign gives each candidate its place. What is served stays where it is, also while it is about to go, so that nobody's requests
// reach another's model at any time; a new one takes the first server where its name is free.
func (e *executor) assign(candidates []candidate) {
	e.mu.Lock()
	served := maps.Clone(e.served)
	e.mu.Unlock()
	taken := map[place]string{}
	for id, w := range served {
		taken[w.place()] = id
	}
	for _, c := range candidates {
		if c.err != nil {
			continue
		}
		id := c.service.Object.ID()
		for {
			owner, ok := taken[c.work.place()]
			if !ok || owner == id {
				break
			}
			if c.work.server == 0 {
				c.work.notes = append(c.work.notes, fmt.Sprintf("its model is called %s like that of %s: its URL and its host name reach this one, "+
					"paths without them and gRPC the other", c.work.model, owner))
			}
			c.work.server++
		}
		taken[c.work.place()] = id
	}
}

// promote moves services to server 0 when whoever had their name there is gone.
func (e *executor) promote(ctx context.Context, world *offline.World) {
	e.mu.Lock()
	served := maps.Clone(e.served)
	e.mu.Unlock()
	taken := map[place]bool{}
	for _, w := range served {
		taken[w.place()] = true
	}
	var left []place
	for _, id := range slices.Sorted(maps.Keys(served)) {
		moved := *served[id]
		moved.server, moved.notes = 0, nil
		if taken[moved.place()] || e.load(ctx, &moved) != nil {
			continue // it is well where it is
		}
		taken[moved.place()] = true
		left = append(left, served[id].place())
		e.mu.Lock()
		e.served[id] = &moved
		e.mu.Unlock()
		e.board.set(id, func(r *Row) { r.URL, r.Notes = e.base()+moved.path(), nil })
	}
	if len(left) == 0 {
		return
	}
	e.route(world)
	for _, p := range left {
		_ = e.models.remove(p) // it was there
	}
}
