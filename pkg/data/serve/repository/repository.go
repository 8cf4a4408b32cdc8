// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repository knows which models are loaded and ready: it finds model files, opens them with the engine they belong to, lends
// them to requests, and swaps a model for a newer one without losing a request.
//
// Called by: data/serve.
// Next: data/serve/engine.
package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// Options are what the owner of a repository sets.
type Options struct {
	// Engines open model files. Their order decides nothing.
	Engines []engine.Engine
	// Root is a directory of model directories, from which Reload takes models by name. Empty means that only models given to Add exist.
	Root string
	// Engine and EngineOptions apply to the models under Root; an empty Engine means that the file decides.
	Engine        string
	EngineOptions engine.Options
	// Loads is how many models are opened at once. Default 2.
	Loads int
	// MaxMemory bounds the memory of all models of engines together: beyond it those used least recently are let go of, and read again when
	// they are asked for. 0 is no bound.
	MaxMemory int64
	// Attach makes what requests of one name share, in the owner's view: it becomes Loaded.Attached. It is called for every model
	// that is loaded, Removed when a name is gone. Both may be nil.
	Attach  func(name string) any
	Removed func(name string)
	Log     *zap.Logger
}

// Source says where a model comes from.
type Source struct {
	Name string
	// Version is one of several versions that are served side by side; empty for a model without versions.
	Version string
	// Path is a model directory, or the model file itself.
	Path string
	// Engine is the name of the engine to open it with; empty means that the file decides.
	Engine  string
	Options engine.Options
	// Memory is what the model is expected to take, in bytes, before it has been loaded once. 0 is not known.
	Memory int64
	// Model is a model that exists already, written in Go: then nothing is read and Path is not used.
	Model engine.Model
}

// State is what the repository index says of a model.
type State string

// The states, as the protocol spells them.
const (
	Ready       State = "READY"
	Loading     State = "LOADING"
	Unloading   State = "UNLOADING"
	Unavailable State = "UNAVAILABLE"
)

// Entry is one line of the index.
type Entry struct {
	Name, Version string
	State         State
	// Reason says why the model is not available, why the last attempt to replace it was given up, or that it is not in memory for now.
	Reason string
	// Bytes is the memory that it takes now.
	Bytes int64
}

// Repository holds models by name and version. It is safe for concurrent use.
type Repository struct {
	opts    Options
	loads   chan struct{}
	current atomic.Pointer[view]

	root atomic.Pointer[string]

	mu      sync.Mutex // guards the making of a new view, and what is below
	waking  map[slotKey]*waking
	places  map[string]Source   // names that have a directory of their own
	looked  map[string]attempt  // what a name was last read from
	refused map[string]bool     // names that Refuse was told of, and that have not been settled since
	failed  map[slotKey]failure // what could not be loaded
	tallies map[string]*Tally
	loading map[string]*nameLock
	turns   map[string]func() // names for which something is done in the background, and what is next
	closed  bool              // what is loaded from now on is closed at once

	background sync.WaitGroup
	ticks      atomic.Int64 // grows with every use, where memory is bounded
	memory     atomic.Int64 // Options.MaxMemory as it is now
}

// nameLock lets one load or unload of a name happen at a time.
type nameLock struct {
	sync.Mutex
	users int
}

// view is what the repository holds at one moment. It never changes: a change makes a new one.
type view struct {
	names  []string // in order of loading
	models map[string]*named
}

// named is a name with its versions.
type named struct {
	versions []slot // ordered: the last is the default
}

type slot struct {
	version string
	state   State
	reason  string
	loaded  *Loaded // nil when there is nothing to serve
	source  Source
	bytes   int64            // what it takes in memory, or took when it was there
	resting bool             // it is not in memory, and is loaded when it is asked for
	meta    *engine.Metadata // of the model that was loaded last
}

func (s *slot) entry(name string) Entry {
	e := Entry{Name: name, Version: s.version, State: s.state, Reason: s.reason}
	if s.loaded != nil {
		e.Bytes = s.bytes
	}
	return e
}

// serves reports whether a request would be answered.
func (s *slot) serves() bool { return s.loaded != nil || s.resting }

// New makes an empty repository.
func New(opts Options) *Repository {
	if opts.Loads <= 0 {
		opts.Loads = 2
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	r := &Repository{
		opts: opts, loads: make(chan struct{}, opts.Loads),
		waking: map[slotKey]*waking{}, places: map[string]Source{}, looked: map[string]attempt{}, refused: map[string]bool{},
		failed: map[slotKey]failure{}, tallies: map[string]*Tally{}, loading: map[string]*nameLock{}, turns: map[string]func(){},
	}
	r.memory.Store(opts.MaxMemory)
	r.UseRoot(opts.Root)
	r.current.Store(&view{models: map[string]*named{}})
	return r
}

// Names are the names of all models, ready or not, in order of loading.
func (r *Repository) Names() []string { return slices.Clone(r.current.Load().names) }

// Versions are the versions of a model, oldest first; nil for a model without versions.
func (r *Repository) Versions(name string) []string {
	n := r.current.Load().models[name]
	if n == nil {
		return nil
	}
	var versions []string
	for _, s := range n.versions {
		if s.version != "" {
			versions = append(versions, s.version)
		}
	}
	return versions
}

// Index lists every model and version.
func (r *Repository) Index() []Entry {
	v := r.current.Load()
	var out []Entry
	for _, name := range v.names {
		for _, s := range v.models[name].versions {
			out = append(out, s.entry(name))
		}
	}
	return out
}

// Status is a model's state. The error is NotFound for an unknown name or version.
func (r *Repository) Status(name, version string) (Entry, error) {
	s, err := r.current.Load().find(name, version)
	if err != nil {
		return Entry{}, err
	}
	return s.entry(name), nil
}

// Metadata is what is known of a model that is ready, in memory or not. The error is NotFound, or Unavailable.
func (r *Repository) Metadata(name, version string) (engine.Metadata, error) {
	s, err := r.current.Load().find(name, version)
	switch {
	case err != nil:
		return engine.Metadata{}, err
	case !s.serves():
		return engine.Metadata{}, notReady(name)
	}
	return *s.meta, nil
}

// Resident lends a model that is in memory to whoever only asks about it; the caller releases it. It is nil where there is none.
func (r *Repository) Resident(name, version string) *Loaded {
	s, err := r.current.Load().find(name, version)
	if err != nil || s.loaded == nil || !s.loaded.acquire() {
		return nil
	}
	return s.loaded
}

// Acquire lends a model to a request; the caller releases it. One that is not in memory is loaded, and waited for until ctx ends.
// The error is NotFound, or Unavailable for a model that is not ready.
func (r *Repository) Acquire(ctx context.Context, name, version string) (*Loaded, error) {
	for {
		s, err := r.current.Load().find(name, version)
		if err != nil {
			return nil, err
		}
		if s.loaded == nil {
			if !s.resting {
				return nil, notReady(name)
			}
			if err := r.wake(ctx, slotKey{name, s.version}); err != nil {
				return nil, err
			}
			continue
		}
		if s.loaded.acquire() {
			if r.memory.Load() > 0 {
				s.loaded.used.Store(r.ticks.Add(1))
			}
			return s.loaded, nil
		}
		// The last view's model was closed between the look and the grip: the next view has another or none.
	}
}

func (v *view) find(name, version string) (*slot, error) {
	n := v.models[name]
	if n == nil {
		return nil, notFound(name)
	}
	if version == "" {
		return n.best(), nil
	}
	for i := range n.versions {
		if n.versions[i].version == version {
			return &n.versions[i], nil
		}
	}
	return nil, protocol.Errorf(protocol.NotFound, "Model with name %s has no version %s: %s", name, version, n.list())
}

// best is the newest version that can serve, or else the newest.
func (n *named) best() *slot {
	for i := len(n.versions) - 1; i >= 0; i-- {
		if n.versions[i].serves() {
			return &n.versions[i]
		}
	}
	return &n.versions[len(n.versions)-1]
}

func (n *named) list() string {
	var names []string
	for _, s := range n.versions {
		if s.version != "" {
			names = append(names, s.version)
		}
	}
	if len(names) == 0 {
		return "it is served without versions"
	}
	return "there are " + strings.Join(names, ", ")
}

func notFound(name string) *protocol.Error {
	return protocol.Errorf(protocol.NotFound, "Model with name %s does not exist.", name)
}

func notReady(name string) *protocol.Error {
	return protocol.Errorf(protocol.Unavailable, "Model with name %s is not ready.", name)
}

// Add opens a model and serves it: beside its other versions, in the place of one of the same version. Requests go on
// with the old one until the new one is ready; when it cannot be opened the old one stays. The name is known while it loads.
//
// The error is for the operator and says what is wrong with which file.
func (r *Repository) Add(ctx context.Context, src Source) error {
	defer r.lock(src.Name)()
	return r.add(ctx, src)
}

// lock waits until nobody else loads or unloads a name.
func (r *Repository) lock(name string) (unlock func()) {
	r.mu.Lock()
	l := r.loading[name]
	if l == nil {
		l = &nameLock{}
		r.loading[name] = l
	}
	l.users++
	r.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(r.loading, name)
		}
	}
}

// UseRoot sets Options.Root, where it is only known later.
func (r *Repository) UseRoot(dir string) { r.root.Store(&dir) }

func (r *Repository) add(ctx context.Context, src Source) error {
	if src.Name == "" || strings.ContainsAny(src.Name, "/\x00") || !utf8.ValidString(src.Name) {
		return fmt.Errorf("model name %q: expected text without slashes", src.Name)
	}
	if strings.ContainsAny(src.Version, "/\x00") || !utf8.ValidString(src.Version) {
		return fmt.Errorf("version %q of model %s: expected text without slashes", src.Version, src.Name)
	}
	known := src.Memory
	r.change(src.Name, src.Version, func(s *slot) {
		if !s.serves() {
			s.state, s.reason = Loading, ""
		}
		known = cmp.Or(s.bytes, known)
	})
	before := attempt{src, src.fingerprint()}
	select {
	case r.loads <- struct{}{}:
		defer func() { <-r.loads }()
	case <-ctx.Done():
		r.fail(before, ctx.Err())
		return fmt.Errorf("load model %s: %w", src.Name, ctx.Err())
	}
	began := time.Now()
	r.makeRoom(min(known, r.memory.Load()), slotKey{src.Name, src.Version})
	model, engineName, err := r.open(ctx, src)
	if err != nil {
		r.fail(before, err)
		return fmt.Errorf("load model %s: %w", src.Name, err)
	}
	bytes := memoryOf(model, src.Model != nil)
	if err := r.tooLarge(bytes); err != nil {
		_ = model.Close()
		r.fail(before, err)
		return fmt.Errorf("load model %s: %w", src.Name, err)
	}
	loaded := newLoaded(src, model, r.opts.Log)
	if r.opts.Attach != nil {
		loaded.Attached = r.opts.Attach(src.Name)
	}
	meta := model.Metadata()
	if !r.publish(src, loaded, bytes, &meta) {
		loaded.Release()
		return fmt.Errorf("load model %s: %w", src.Name, errClosed)
	}
	r.opts.Log.Info("model is ready", zap.String("model", src.Name), zap.String("version", src.Version),
		zap.String("engine", engineName), zap.String("class", meta.Class), zap.Int64("bytes", bytes), zap.Duration("took", time.Since(began)))
	return nil
}

var errClosed = errors.New("the server has ended meanwhile")

// publish serves a model that was opened, and lets go of the one in its place and of those that there is no room for any more. It is false
// when nothing is served any more.
func (r *Repository) publish(src Source, loaded *Loaded, bytes int64, meta *engine.Metadata) (open bool) {
	loaded.used.Store(r.ticks.Add(1))
	var old *Loaded
	r.change(src.Name, src.Version, func(s *slot) {
		if open = !r.closed; !open {
			return
		}
		old = s.loaded
		s.state, s.reason, s.loaded, s.resting = Ready, "", loaded, false
		s.source, s.bytes, s.meta = src, bytes, meta
		delete(r.failed, slotKey{src.Name, src.Version})
		r.tally(src.Name).Loads++
	})
	if old != nil {
		old.Release()
	}
	if open {
		r.makeRoom(0, slotKey{src.Name, src.Version})
	}
	return open
}

// fail notes why a model was not loaded. One that serves goes on with what it has.
func (r *Repository) fail(a attempt, err error) {
	r.change(a.src.Name, a.src.Version, func(s *slot) {
		if s.loaded == nil {
			s.state, s.resting = Unavailable, false
		}
		s.reason = r.relative(err.Error())
		key := slotKey{a.src.Name, a.src.Version}
		r.failed[key] = failedAgain(r.failed[key], a, err)
		r.tally(a.src.Name).Failures++
	})
}

// change makes a new view in which f has changed one slot, which it creates when there is none.
func (r *Repository) change(name, version string, f func(*slot)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.current.Load().clone()
	n := next.models[name]
	if n == nil {
		n = &named{}
		next.names = append(next.names, name)
	} else {
		n = &named{versions: slices.Clone(n.versions)}
	}
	next.models[name] = n
	i := slices.IndexFunc(n.versions, func(s slot) bool { return s.version == version })
	if i < 0 {
		n.versions = append(n.versions, slot{version: version})
		slices.SortStableFunc(n.versions, func(a, b slot) int { return compareVersions(a.version, b.version) })
		i = slices.IndexFunc(n.versions, func(s slot) bool { return s.version == version })
	}
	f(&n.versions[i])
	r.current.Store(next)
}

func (v *view) clone() *view {
	return &view{names: slices.Clone(v.names), models: maps.Clone(v.models)}
}

// compareVersions orders numbers by value, before all other versions, which are ordered as text.
func compareVersions(a, b string) int {
	if isNumber(a) && isNumber(b) {
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if len(a) != len(b) {
			return len(a) - len(b)
		}
	} else if isNumber(a) != isNumber(b) {
		if isNumber(a) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// Remove stops serving a model in all its versions. Requests that have it finish; the memory is given back after the last.
// The error is NotFound for an unknown name.
func (r *Repository) Remove(name string) error {
	defer r.lock(name)()
	if !r.remove(name) {
		return notFound(name)
	}
	return nil
}

func (r *Repository) remove(name string) (known bool) {
	known, served := r.drop(name)
	if served { // of one that never came up there is nothing to unload
		r.opts.Log.Info("model is unloaded", zap.String("model", name))
	}
	return known
}

func (r *Repository) drop(name string) (known, served bool) {
	r.mu.Lock()
	next := r.current.Load().clone()
	n := next.models[name]
	if n != nil {
		delete(next.models, name)
		delete(r.tallies, name)
		maps.DeleteFunc(r.failed, func(k slotKey, _ failure) bool { return k.name == name })
		if _, placed := r.places[name]; !placed { // one in its place stays unloaded until its files change
			delete(r.looked, name)
		}
		next.names = slices.DeleteFunc(next.names, func(other string) bool { return other == name })
		r.current.Store(next)
	}
	r.mu.Unlock()
	if n == nil {
		return false, false
	}
	for _, s := range n.versions {
		if s.loaded != nil {
			served = true
			s.loaded.Release()
		}
	}
	if r.opts.Removed != nil {
		r.opts.Removed(name)
	}
	return true, served
}

// Close removes every model. It waits for no load: what is loaded still is closed when it has been.
func (r *Repository) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	for _, name := range r.Names() {
		r.remove(name)
	}
}

// Arrange puts names in front of all others, in the given order: models that were loaded side by side end in any.
func (r *Repository) Arrange(names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.current.Load().clone()
	place := map[string]int{}
	for i, name := range names {
		place[name] = i - len(names)
	}
	slices.SortStableFunc(next.names, func(a, b string) int { return place[a] - place[b] })
	r.current.Store(next)
}

// relative takes the root's path out of a text that clients see.
func (r *Repository) relative(text string) string {
	if *r.root.Load() == "" {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(*r.root.Load(), "/")+"/", "")
}
