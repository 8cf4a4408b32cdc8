// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the router's flags and environment.
type Options struct {
	// GraphJSON is a handoff.Graph.
	GraphJSON string
	// Propagate is the list that ParsePropagate reads.
	Propagate string
	Port      int
	MaxBody   int64
	Server    httpserver.Options
	Log       telemetry.LogOptions
}

// NewOptions returns the defaults.
func NewOptions() Options {
	return Options{
		Port: handoff.RouterPort, MaxBody: DefaultMaxBody,
		// Endpoints forget a terminating pod within seconds; until then it goes on answering.
		Server: httpserver.Options{DrainDelay: 5 * time.Second, IdleTimeout: 180 * time.Second},
	}
}

// BindFlags adds every flag. Dashes and underscores in flag names are the same.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
	})
	fs.StringVar(&o.GraphJSON, handoff.FlagGraphJSON, "", "the graph to execute: the spec of an InferenceGraph as JSON, with serviceUrl resolved (required)")
	fs.IntVar(&o.Port, "port", o.Port, "port to listen on")
	fs.Int64Var(&o.MaxBody, "max-body", o.MaxBody, "largest request and step answer, in bytes")
	o.Server.BindFlags(fs)
	o.Log.BindFlags(fs)
}

// Run compiles the graph, then serves it until ctx ends and drains.
func Run(ctx context.Context, o Options, log *zap.Logger) error {
	var spec handoff.Graph
	if err := json.Unmarshal([]byte(o.GraphJSON), &spec); err != nil {
		return fmt.Errorf("--%s: %w", handoff.FlagGraphJSON, err)
	}
	graph, err := Compile(spec)
	if err != nil {
		return fmt.Errorf("--%s: %w", handoff.FlagGraphJSON, err)
	}
	patterns, err := ParsePropagate(o.Propagate)
	if err != nil {
		return fmt.Errorf("%s: %w", handoff.EnvPropagateHeaders, err)
	}
	if t := spec.Timeouts; t != nil {
		o.Server.IdleTimeout = seconds(t.ServerIdle, o.Server.IdleTimeout)
	}
	registry := telemetry.NewRegistry()
	mux := http.NewServeMux()
	o.Server.HTTP = httpserver.Endpoint{Addr: ":" + strconv.Itoa(o.Port), Flag: "--port"}
	var draining func() bool
	mux.HandleFunc(handoff.RouterReadinessPath, func(w http.ResponseWriter, _ *http.Request) {
		if draining() {
			http.Error(w, "shutting down", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("GET /metrics", telemetry.Handler(registry))
	mux.Handle("/", NewHandler(graph, HandlerOptions{
		Propagate: patterns, MaxBody: o.MaxBody, ReadStall: readStall(spec.Timeouts), StepTimeout: stepTimeout(spec.Timeouts), Log: log,
	}))
	server := httpserver.New(o.Server, withDeadline(mux, spec.Timeouts), nil, log)
	draining = server.Draining
	log.Info("router started", zap.Int("port", o.Port), zap.Int("nodes", len(spec.Nodes)))
	return server.Run(ctx)
}

// withDeadline bounds a whole request by serverWrite: the client gets a 504 instead of a closed connection.
func withDeadline(next http.Handler, t *handoff.GraphTimeouts) http.Handler {
	limit := 60 * time.Second
	if t != nil {
		limit = seconds(t.ServerWrite, limit)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// readStall is serverRead: a client that sends for longer than it goes on as long as it sends.
func readStall(t *handoff.GraphTimeouts) time.Duration {
	if t == nil {
		return 0
	}
	return seconds(t.ServerRead, 0)
}

func stepTimeout(t *handoff.GraphTimeouts) time.Duration {
	if t == nil {
		return 0
	}
	return seconds(t.ServiceClient, 0)
}

// maxSeconds keeps a timeout from a graph within a Duration.
const maxSeconds = int64(math.MaxInt64 / time.Second)

func seconds(n *int64, otherwise time.Duration) time.Duration {
	if n == nil || *n <= 0 {
		return otherwise
	}
	return time.Duration(min(*n, maxSeconds)) * time.Second
}
