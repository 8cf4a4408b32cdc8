// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serve is the model server: it mounts V1, V2 and gRPC on one predict path, with limits, metrics and a clean end. It is the Go SDK
// too: Run, RunTransformer and RunExplainer make a whole server of one type.
//
// A process of its own calls one of these, or Command; a program that has servers of its own mounts Handler and serves GRPC of a Server.
// Models come from directories, or are Go values: NewModel, NewTransformer and NewExplainer make what Server.Add takes of them, and anything
// that satisfies engine.Model is taken as it is.
//
// Called by: cmd/model-server, cli/run, examples/….
// Next: data/protocol, which reads requests; data/serve/repository, which has the models.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/health"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Server serves models. Its methods are safe for concurrent use.
type Server struct {
	opts     Options
	log      *zap.Logger
	models   *repository.Repository
	bodies   httpserver.Bodies
	messages *messages
	scopes   sync.Pool
	metrics  *metrics
	scrape   http.Handler
	health   *health.Server
	server   *httpserver.Server

	lasting context.Context //nolint:containedctx // it ends when draining begins
	drained context.CancelFunc

	config  *modelConfig // of Options.ModelConfig
	watched []*watched   // files that Keep follows
	follows bool         // there is a directory of model directories, for Keep

	started, draining atomic.Bool
	expected          atomic.Bool // a model must be loaded before the server is ready
}

// New makes a server. It opens no port and reads no file; Start, or Run, loads the models.
func New(opts Options) *Server {
	opts.setDefaults()
	s := &Server{
		opts:    opts,
		log:     opts.Log,
		metrics: newMetrics(opts),
		scrape:  telemetry.Handler(opts.Registry),
		health:  health.NewServer(),
	}
	s.lasting, s.drained = context.WithCancel(context.Background())
	s.messages = newMessages(opts.MaxBodies, opts.MaxGRPCReceive)
	s.bodies.MaxBytes, s.bodies.MaxHeld, s.bodies.Stall = opts.MaxBody, opts.MaxBodies, opts.BodyStall
	s.scopes.New = func() any { return &scope{} }
	s.models = repository.New(repository.Options{
		Engines:       opts.Engines,
		Engine:        opts.Framework,
		EngineOptions: engine.Options{Threads: opts.Threads},
		MaxMemory:     opts.MaxMemory,
		Attach:        func(name string) any { return s.metrics.lane(name) },
		Removed:       s.metrics.forget,
		Log:           opts.Log,
	})
	s.metrics.index, s.metrics.models = s.models.Index, s.models
	s.started.Store(len(opts.Models) == 0 && opts.ModelDir == "" && opts.Load == nil && opts.ModelConfig == "" && opts.Settings == "")
	s.tellHealth()
	return s
}

// Add loads a model beside the others, or in the place of one of the same name and version, which serves until the new one is ready.
func (s *Server) Add(ctx context.Context, m Model) error {
	if m.Options == (engine.Options{}) {
		m.Options.Threads = s.opts.Threads
	}
	defer s.tellHealth()
	return s.models.Add(ctx, m)
}

// Remove stops serving a model; requests that use it finish.
func (s *Server) Remove(name string) error {
	defer s.tellHealth()
	return s.models.Remove(name)
}

// Models lists the models with their states.
func (s *Server) Models() []repository.Entry { return s.models.Index() }

// Ready reports whether the server wants requests: the models given at the start have been loaded and it is not draining.
func (s *Server) Ready() bool {
	if s.draining.Load() || !s.started.Load() {
		return false
	}
	if !s.expected.Load() {
		return true
	}
	if !slices.ContainsFunc(s.models.Index(), func(e repository.Entry) bool { return e.State == repository.Ready }) {
		return false
	}
	// Once there was one, unloading it is somebody's wish.
	s.expected.Store(false)
	return true
}

// Drain makes the server not ready; it still answers. An owner that stops a server which it mounted itself calls it first.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.tellHealth()
	s.drained()
}

// Close unloads every model. Call it when no request runs.
func (s *Server) Close() { s.models.Close() }

// Start loads the models of Options and makes the server ready. With one model its fault is the error; among several, those that can be
// loaded are served, the others are logged and listed, and the error is that none could.
func (s *Server) Start(ctx context.Context) error {
	if s.opts.Settings != "" {
		if err := s.startSettings(ctx); err != nil {
			return err
		}
	}
	if err := s.loadModels(ctx); err != nil {
		return err
	}
	switch {
	case s.opts.ModelConfig != "":
		if err := s.startConfig(ctx); err != nil {
			return err
		}
	case s.opts.ModelDir != "":
		if err := s.loadDir(ctx); err != nil {
			return err
		}
	}
	s.started.Store(true)
	s.tellHealth()
	return nil
}

func (s *Server) loadModels(ctx context.Context) error {
	models := s.opts.Models
	if s.opts.Load != nil {
		more, err := s.opts.Load(ctx)
		if err != nil {
			return err
		}
		models = slices.Concat(models, more)
	}
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Name)
	}
	return s.loadAll(names, func(i int) error { return s.Add(ctx, models[i]) })
}

// loadAll calls load for each of names, a few at a time.
func (s *Server) loadAll(names []string, load func(i int) error) error {
	errs := make([]error, len(names))
	var all sync.WaitGroup
	next := atomic.Int64{}
	for range min(2, len(names)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				errs[i] = load(i)
			}
		})
	}
	all.Wait()
	s.models.Arrange(names)
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			if len(names) > 1 {
				s.log.Error("model is not served", zap.String("model", names[i]), zap.Error(err))
			}
		}
	}
	switch {
	case failed == 0 || failed < len(names):
		return nil
	case failed == 1:
		return errs[0]
	default:
		// The capital letter is on purpose: operators look for this text.
		return fmt.Errorf("Models with names %s are not ready: %w", strings.Join(names, ","), errs[0])
	}
}

func (s *Server) loadDir(ctx context.Context) error {
	dir := s.opts.ModelDir
	if scheme, path, ok := strings.Cut(dir, "://"); ok {
		if scheme != "file" {
			return fmt.Errorf("model_dir %s: this server reads local directories: let the storage initializer fetch the model first", dir)
		}
		dir = path
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("model_dir %s: no such directory", dir)
	case err != nil:
		return fmt.Errorf("look at model_dir: %w", err)
	}
	single := !info.IsDir()
	if !single {
		if single, err = s.models.HasModelFile(dir, s.opts.Framework); err != nil {
			return err
		}
	}
	if single {
		if s.opts.FollowDir {
			return s.followModel(ctx, dir)
		}
		err := s.Add(ctx, Model{Name: s.opts.ModelName, Path: dir, Engine: s.opts.Framework})
		return s.models.Stray(err, dir)
	}
	s.models.UseRoot(dir)
	s.follows = true
	names, err := s.models.RootNames()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		switch missing := s.models.NoFileIn(dir); {
		case s.opts.ModelsLater:
		case s.opts.ModelExpected:
			s.expected.Store(true)
			s.log.Error("the model directory is empty: not ready until a model is loaded",
				zap.String("model", s.opts.ModelName), zap.Error(missing))
			return nil
		case len(missing.Others) > 0:
			return missing
		}
	}
	s.log.Info("serving every model directory below", zap.String("dir", dir), zap.Int("models", len(names)))
	err = s.loadAll(names, func(i int) error {
		if s.opts.FollowDir {
			s.models.Place(Model{Name: names[i], Path: filepath.Join(dir, names[i])})
		}
		return s.models.AddFromRoot(ctx, names[i])
	})
	if err != nil && (s.opts.FollowDir || s.opts.ModelsLater) {
		s.log.Error("no model could be loaded", zap.Error(err))
		return nil
	}
	return err
}

// followModel loads the one model in dir, and again whenever its files have changed. The server is not ready before it could be.
func (s *Server) followModel(ctx context.Context, dir string) error {
	s.models.Place(Model{Name: s.opts.ModelName, Path: dir, Engine: s.opts.Framework})
	if err := s.models.Stray(s.models.AddFromRoot(ctx, s.opts.ModelName), dir); err != nil {
		s.expected.Store(true)
		s.log.Error("model is not served", zap.String("model", s.opts.ModelName), zap.Error(err))
	}
	return nil
}

// Listen opens the ports, for a caller that wants to know the addresses before Run.
func (s *Server) Listen(ctx context.Context) error {
	if s.server == nil {
		s.server = httpserver.New(s.opts.Server, s.Handler(), s.GRPC(), s.log)
		s.server.OnDrain(s.Drain)
	}
	return s.server.Listen(ctx)
}

// HTTPAddr is the address of the HTTP port after Listen; nil where it is not served.
func (s *Server) HTTPAddr() net.Addr { return s.server.HTTPAddr() }

// GRPCAddr is the address of the gRPC port after Listen; nil where it is not served.
func (s *Server) GRPCAddr() net.Addr { return s.server.GRPCAddr() }

// Run opens the ports, loads the models, serves until ctx ends and drains. The ports answer while models load, not ready. A start that
// Start calls failed is Run's error.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	loaded := make(chan struct{})
	go func() {
		defer close(loaded)
		if err := s.Start(ctx); err != nil {
			cancel(&httpserver.Fatal{Err: err})
			return
		}
		s.log.Info("serving", zap.Any("http", s.HTTPAddr()), zap.Any("grpc", s.GRPCAddr()), zap.Bool("ready", s.Ready()))
		s.Keep(ctx)
	}()
	err := s.server.Run(ctx)
	cancel(nil)
	select {
	case <-loaded:
	case <-time.After(lastLoad):
	}
	s.Close()
	return err
}

// lastLoad is how long the end waits for a model that is being loaded. One that takes longer is for nobody.
const lastLoad = time.Second
