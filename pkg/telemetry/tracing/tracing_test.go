// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/telemetry/tracing"
)

// received takes what a collector is sent.
type received struct {
	collector.UnimplementedTraceServiceServer
	requests chan *collector.ExportTraceServiceRequest
}

func (r *received) Export(_ context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.requests <- in
	return &collector.ExportTraceServiceResponse{}, nil
}

// environment sets variables, which the SDK reads itself.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

func TestSpansReachACollector(t *testing.T) {
	got := &received{requests: make(chan *collector.ExportTraceServiceRequest, 8)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, got)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in := &collector.ExportTraceServiceRequest{}
		if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, in) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got.requests <- in
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(web.Close)
	cases := map[string]map[string]string{
		"gRPC by default":      {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String()},
		"an endpoint asks too": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://" + l.Addr().String()},
		"HTTP":                 {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": web.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
	}
	for name, env := range cases {
		t.Run(name, func(t *testing.T) {
			environment(t, env)
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "team=fast")
			tracer, stop, err := tracing.Open(t.Context(), "model-server", os.Getenv, zap.NewNop())
			require.NoError(t, err)
			_, span := tracer.Start(t.Context(), "a span")
			span.End()
			stop(t.Context())
			in := <-got.requests
			require.Len(t, in.GetResourceSpans(), 1)
			about := map[string]string{}
			for _, a := range in.GetResourceSpans()[0].GetResource().GetAttributes() {
				about[a.GetKey()] = a.GetValue().GetStringValue()
			}
			require.Equal(t, "model-server", about["service.name"])
			require.Equal(t, "fast", about["team"])
			require.Equal(t, "a span", in.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName())
		})
	}
}

func TestTracesAreOffUntilTheyAreAskedFor(t *testing.T) {
	cases := map[string]map[string]string{
		"nothing is said": {},
		"none":            {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"},
		"disabled":        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"},
	}
	for name, env := range cases {
		t.Run(name, func(t *testing.T) {
			tracer, stop, err := tracing.Open(t.Context(), "x", func(name string) string { return env[name] }, zap.NewNop())
			require.NoError(t, err)
			require.Nil(t, tracer)
			stop(t.Context())
		})
	}
}

func TestExportersThatAreNotKnown(t *testing.T) {
	for want, env := range map[string]map[string]string{
		`OTEL_TRACES_EXPORTER "zipkin": expected otlp, console or none`:           {"OTEL_TRACES_EXPORTER": "zipkin"},
		`OTEL_EXPORTER_OTLP_PROTOCOL "http/json": expected grpc or http/protobuf`: {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
	} {
		tracer, stop, err := tracing.Open(t.Context(), "x", func(name string) string { return env[name] }, zap.NewNop())
		require.ErrorContains(t, err, want)
		require.Nil(t, tracer)
		stop(t.Context())
	}
}

func TestTheConsoleExporterAndTheSampler(t *testing.T) {
	environment(t, map[string]string{"OTEL_TRACES_EXPORTER": "console"})
	core, logs := observer.New(zap.InfoLevel)
	tracer, stop, err := tracing.Open(t.Context(), "x", os.Getenv, zap.New(core))
	require.NoError(t, err)
	_, span := tracer.Start(t.Context(), "a span")
	span.End()
	stop(t.Context())
	require.Equal(t, 1, logs.FilterMessage("span").FilterField(zap.String("name", "a span")).Len())

	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tracer, stop, err = tracing.Open(t.Context(), "x", os.Getenv, zap.New(core))
	require.NoError(t, err)
	_, span = tracer.Start(t.Context(), "another")
	require.False(t, span.IsRecording())
	stop(t.Context())

	// The same fault again and again is told once.
	logs.TakeAll()
	for range 10 {
		otel.Handle(errors.New("no collector"))
	}
	otel.Handle(errors.New("another fault"))
	require.Equal(t, 2, logs.FilterMessage("traces are lost, or not as wished").Len())
}

// A collector that is not there holds nobody up.
func TestACollectorThatIsAwayHoldsNobodyUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	environment(t, map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + l.Addr().String(), "OTEL_BSP_MAX_QUEUE_SIZE": "10"})
	tracer, stop, err := tracing.Open(t.Context(), "x", os.Getenv, zap.NewNop())
	require.NoError(t, err)
	began := time.Now()
	for range 10_000 {
		_, span := tracer.Start(t.Context(), "a span")
		span.End()
	}
	require.Less(t, time.Since(began), 10*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	stop(ctx)
}
