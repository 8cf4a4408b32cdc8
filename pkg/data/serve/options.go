// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// Model says what to serve under which name: a directory or a file, or a Go value.
type Model = repository.Source

// Options are what the owner of a Server sets. The zero value of a number means its default.
type Options struct {
	// Engines open model files.
	Engines []engine.Engine
	// Models are loaded at the start. The server is ready when they are.
	Models []Model
	// Load makes more of them at the start. May be nil.
	Load func(context.Context) ([]Model, error)
	// ModelDir is loaded at the start too: a directory with a model file, which is served as ModelName; or a directory of model
	// directories, each served under its own name, which the repository API can load again and add to.
	ModelDir string
	// ModelConfig is a file with the list of the models to serve, in the form of KServe's multi-model serving. Then ModelDir is not loaded as
	// a whole: it is where the models are whose storageUri is not local. Keep follows the file.
	ModelConfig string
	// FollowDir says that Keep loads directories below ModelDir that are new or have changed, and removes the models of those that are gone;
	// of one model, that it is loaded again when its files have changed.
	FollowDir bool
	// Settings is a file with Limits, MaxMemory and the log's level, in the place of those here. Keep follows it.
	Settings string
	// SetLogLevel changes the level of Log; empty is the first one. May be nil.
	SetLogLevel func(level string) error
	// Poll is how often Keep looks. Default 5 s.
	Poll time.Duration
	// MaxMemory bounds the memory of the models of engines: beyond it those used least recently are let go of, and loaded again when they are
	// asked for. 0 is no bound.
	MaxMemory int64
	// ModelName is the name of the model in ModelDir; default "model".
	ModelName string
	// ModelExpected says that a ModelDir without any model is a fault, and keeps the server not ready, and not the empty start of a server
	// that is given its models later.
	ModelExpected bool
	// ModelsLater says that the server is given its models while it runs: it is ready without any, and models in ModelDir that cannot be
	// loaded are no fault of the start. FollowDir says so, too.
	ModelsLater bool
	// Framework is the engine for ModelDir; empty means that each file decides.
	Framework string
	// Threads is the number of cores one prediction may use. Default 1.
	Threads int
	// Proba makes predictions class probabilities where a model has them.
	Proba bool

	// Server has the ports, for Run.
	Server httpserver.Options

	// MaxBody bounds a request body, after decompression. Default httpserver.DefaultMaxBody.
	MaxBody int64
	// MaxBodies bounds the memory of all request bodies at once: see httpserver.Bodies.MaxHeld, whose default is DefaultMaxHeld; and that of gRPC
	// messages.
	MaxBodies int64
	// BodyStall is how long a client may stop in the middle of a body, or before the message of a call. Default httpserver.DefaultStall.
	BodyStall time.Duration
	// Limits are those of each model that has none of its own.
	Limits
	// MaxGRPCReceive and MaxGRPCSend bound gRPC messages. Default 8 MiB.
	MaxGRPCReceive, MaxGRPCSend int

	// Events says how CloudEvents are answered.
	Events EventOptions
	// Dependency is a server without which this one is not ready; a transformer's predictor. May be nil.
	Dependency Dependency
	// PlainSchemaErrors answers V2 bodies of the wrong form with 400 and "error", as everything else, and not with 422 and "detail".
	PlainSchemaErrors bool
	// Docs serves a page about the API at /docs.
	Docs bool
	// Trace gets one line for each prediction with the time each step took. May be nil.
	Trace *zap.Logger

	// Access gets one line for each request. May be nil.
	Access *zap.Logger
	// Tracer makes spans of requests and their steps, below those that callers name by W3C trace context. Nil is no spans, and no cost.
	Tracer trace.Tracer

	// Log and Registry may be nil: then nothing is logged, and the metrics have a registry of their own.
	Log      *zap.Logger
	Registry *prometheus.Registry
}

func (o *Options) setDefaults() {
	o.ModelName = cmp.Or(o.ModelName, "model")
	o.Poll = cmp.Or(o.Poll, 5*time.Second)
	o.MaxBodies = cmp.Or(o.MaxBodies, httpserver.DefaultMaxHeld)
	o.BodyStall = cmp.Or(o.BodyStall, httpserver.DefaultStall)
	o.Server.WriteStall = cmp.Or(o.Server.WriteStall, httpserver.DefaultStall)
	o.Server.ReadHeaderTimeout = cmp.Or(o.Server.ReadHeaderTimeout, httpserver.DefaultReadHeader)
	o.Running = cmp.Or(o.Running, max(64, 8*runtime.GOMAXPROCS(0)))
	o.Queue = cmp.Or(o.Queue, 1024)
	o.QueueTimeout = cmp.Or(o.QueueTimeout, 30*time.Second)
	o.MaxGRPCReceive = cmp.Or(o.MaxGRPCReceive, 8<<20)
	o.MaxGRPCSend = cmp.Or(o.MaxGRPCSend, 8<<20)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
}
