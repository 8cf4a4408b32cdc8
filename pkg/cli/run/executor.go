// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/storage"
)

// atOnce is how many services are fetched and loaded side by side.
const atOnce = 4

// executor does in this process what a cluster would do with the plans.
type executor struct {
	models    *modelServers
	fetcher   *fetcher
	board     *board
	base      func() string // URL of the HTTP port
	transport http.RoundTripper
	log       *zap.Logger

	mu sync.Mutex
	// served are the services whose model is in the repository, by ID.
	served map[string]*work
	// reloaded are the services that were loaded anew, until that is told.
	reloaded []string
	// graphs are the ways to the graphs that are served, by ID. Only route uses it.
	graphs map[string]graphWays
	// local are the models on this machine that services were last fetched from, by ID.
	local  map[string]local
	routes atomic.Pointer[routes]
}

// apply makes the running services those of the world. Requests to services that stay are not disturbed.
func (e *executor) apply(ctx context.Context, world *offline.World) {
	wanted := map[string]bool{}
	var candidates []candidate
	for _, service := range world.Services {
		w, runtime, err := e.plan(world, service)
		candidates = append(candidates, candidate{service, w, runtime, err})
		wanted[service.Object.ID()] = true
	}
	for id := range world.Invalid {
		wanted[id] = true
	}
	e.assign(candidates)
	e.look(candidates)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, c := range candidates {
		id := c.service.Object.ID()
		e.board.set(id, func(r *Row) {
			r.Kind, r.Name, r.Runtime = "InferenceService", c.service.Object.Namespace+"/"+c.service.Object.Name, c.runtime
			if r.Phase == "" {
				r.Phase = Planned
			}
		})
		if c.err != nil {
			e.mu.Lock()
			old := e.served[id]
			e.mu.Unlock()
			if errors.Is(c.err, errStopped) {
				e.drop(id)
				old = nil
			}
			e.keepOr(id, old, c.err)
			continue
		}
		group.Go(func() error {
			e.deploy(ctx, id, c.work)
			return nil
		})
	}
	_ = group.Wait() // deploy tells its errors on the board
	for _, id := range e.stale(wanted) {
		e.drop(id)
		e.board.remove(id)
	}
	e.route(world)
	e.promote(ctx, world)
	e.invalid(world)
}

// invalid tells the faults of services and graphs on their rows.
func (e *executor) invalid(world *offline.World) {
	for id, fault := range world.Invalid {
		kind, namespace, name := offline.SplitID(id)
		e.board.set(id, func(r *Row) {
			before := r.Phase == Ready || r.Before
			*r = Row{Kind: kind, Name: namespace + "/" + name, Phase: Invalid, Detail: fault.String(), Runtime: r.Runtime, Before: before}
			if before {
				r.Detail += versionBefore
			}
		})
	}
}

const versionBefore = "; the version before goes on serving"

// plan turns a service into work with the controller's own code.
func (e *executor) plan(world *offline.World, service offline.Service) (w *work, runtime string, err error) {
	p, err := world.Plan(service)
	if err != nil {
		return nil, "", err
	}
	if w, err = understand(world, service, p); err != nil {
		return nil, "", err
	}
	for _, c := range p.Components {
		if c.Runtime != nil && c.Canary == nil {
			runtime = c.Runtime.Name
		}
	}
	if names := formatNames(); !slices.Contains(names, w.format) {
		return nil, runtime, refuse("the model format %s is not built into this program; built in are %s", w.format, strings.Join(names, ", "))
	}
	return w, runtime, nil
}

// fail tells why a service cannot be served as the files say; before says that what was served before the change still is.
func (e *executor) fail(id string, err error, before bool) {
	phase, detail := Failed, err.Error()
	var r *refusal
	var b *plan.Blocked
	var waiting *plan.Waiting
	switch {
	case errors.As(err, &r):
		phase = Refused
	case errors.Is(err, errStopped):
		phase = Stopped
	case errors.As(err, &b):
		detail = b.Message
	case errors.As(err, &waiting):
		detail = waiting.Message
	}
	if before {
		detail += versionBefore
	}
	e.board.set(id, func(row *Row) { row.Phase, row.Detail, row.URL, row.Model, row.Before = phase, detail, "", "", before })
}

// deploy fetches and loads one service, and puts it in the place of what it was before.
func (e *executor) deploy(ctx context.Context, id string, w *work) {
	e.mu.Lock()
	old := e.served[id]
	e.mu.Unlock()
	if old != nil && old.same(w) {
		e.ready(id, old) // a change that went wrong may have been taken back
		return
	}
	if err := e.fetcher.check(w); err != nil {
		e.keepOr(id, old, err)
		return
	}
	source := describe(w.sources, modelref.Redact)
	e.board.set(id, func(r *Row) { r.Phase, r.Detail, r.Done, r.Total = Fetching, source, 0, -1 })
	dir, err := e.fetcher.fetch(ctx, w, func(p storage.Progress) {
		e.board.set(id, func(r *Row) { r.Done, r.Total = p.BytesDone, p.BytesTotal })
	})
	if err != nil {
		e.keepOr(id, old, err)
		return
	}
	e.board.set(id, func(r *Row) { r.Phase, r.Detail = Loading, source })
	w.dir = dir
	if err := e.load(ctx, w); err != nil {
		e.keepOr(id, old, fmt.Errorf("load the model of %s: %w", source, w.withoutCache(err, e.fetcher.cache)))
		return
	}
	e.mu.Lock()
	e.served[id] = w
	e.reach(w)
	e.mu.Unlock()
	if old != nil {
		e.again(id)
		if old.place() != w.place() {
			_ = e.models.remove(old.place()) // it was there: the new one is beside it
		}
	}
	e.ready(id, w)
}

// again keeps that a service was loaded anew, for whoever tells how a change went.
func (e *executor) again(id string) {
	_, namespace, name := offline.SplitID(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reloaded = append(e.reloaded, namespace+"/"+name)
}

// loadedAgain are the services that were loaded anew since it was last asked, sorted.
func (e *executor) loadedAgain() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.reloaded
	e.reloaded = nil
	slices.Sort(all)
	return slices.Compact(all)
}

// renamed is an error in other words.
type renamed struct {
	error

	text string
}

func (r renamed) Error() string { return r.text }
func (r renamed) Unwrap() error { return r.error }

// withoutCache is an error whose text calls files as they are called at the source, where they lie in the cache now.
func (w *work) withoutCache(err error, cache string) error {
	if !strings.HasPrefix(w.dir, cache+string(filepath.Separator)) {
		return err
	}
	text := strings.ReplaceAll(err.Error(), w.dir+string(filepath.Separator), "")
	return renamed{err, strings.ReplaceAll(text, w.dir, describe(w.sources, modelref.Redact))}
}

func (e *executor) ready(id string, w *work) {
	e.board.set(id, func(r *Row) {
		r.Phase, r.Detail, r.Notes, r.Before = Ready, "", w.notes, false
		r.Model, r.URL, r.Host = w.format, e.base()+w.path(), w.host
	})
}

// load opens the fetched files of w at its place.
func (e *executor) load(ctx context.Context, w *work) error {
	format := w.format
	if w.proba {
		format += probaSuffix
	}
	return e.models.add(ctx, w.server, serve.Model{Name: w.model, Path: w.dir, Engine: format, Options: engine.Options{Threads: w.threads}})
}

// keepOr tells a failure; what was served before goes on being served. The end of the run is no failure of a service.
func (e *executor) keepOr(id string, old *work, err error) {
	if !errors.Is(err, context.Canceled) {
		e.fail(id, err, old != nil)
	}
}

// drop stops serving a service.
func (e *executor) drop(id string) {
	e.mu.Lock()
	w := e.served[id]
	delete(e.served, id)
	e.mu.Unlock()
	if w != nil {
		if err := e.models.remove(w.place()); err != nil {
			e.log.Warn("remove a model", zap.String("model", w.model), zap.Error(err))
		}
	}
}

// stale are the rows that no wanted object has.
func (e *executor) stale(wanted map[string]bool) []string {
	e.board.mu.Lock()
	defer e.board.mu.Unlock()
	var ids []string
	for id, row := range e.board.rows {
		if !wanted[id] && row.Kind == "InferenceService" {
			ids = append(ids, id)
		}
	}
	return ids
}

// same tells whether two versions of a service need the same model server.
func (w *work) same(o *work) bool {
	return w.model == o.model && w.format == o.format && w.threads == o.threads && w.proba == o.proba && w.protocol == o.protocol &&
		slices.Equal(w.sources, o.sources) && w.stamp == o.stamp && reflect.DeepEqual(w.env, o.env) && slices.Equal(w.hosts, o.hosts)
}

// place is where the model of w is loaded.
func (w *work) place() place { return place{w.server, w.model} }

// path is where a request goes: V1 unless the service is planned for V2 only.
func (w *work) path() string {
	prefix := ""
	if w.server > 0 {
		prefix = pathPrefix + w.service.Object.Namespace + "/" + w.service.Object.Name
	}
	if w.protocol == "v2" || w.protocol == "grpc-v2" {
		return prefix + "/v2/models/" + w.model + "/infer"
	}
	return prefix + "/v1/models/" + w.model + ":predict"
}
