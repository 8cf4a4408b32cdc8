// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes a tracer of what the standard OTEL_* variables say, or none: traces are off until one of them asks for them.
//
// Called by: data/serve.
// Next: the OpenTelemetry SDK, which samples, gathers and sends.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/version"
)

// scope names the code that makes the spans.
const scope = "github.com/kserve-go/kserve-go"

// Open makes the tracer; it is nil where none is asked for. stop sends what is left and is never nil. Nothing is connected yet: a collector
// that is not there is a warning in the log, later.
//
// OTEL_TRACES_EXPORTER is otlp, console or none, or several with commas; without it traces are on when an OTLP endpoint is given.
// OTEL_EXPORTER_OTLP_PROTOCOL is grpc, the default, or http/protobuf. The SDK reads the other variables itself: endpoint, headers,
// certificates, sampler, resource, limits and batches.
func Open(ctx context.Context, service string, getenv func(string) string, log *zap.Logger) (tracer trace.Tracer, stop func(context.Context), err error) {
	none := func(context.Context) {}
	wanted := exporters(getenv)
	if len(wanted) == 0 {
		return nil, none, nil
	}
	log = log.Named("tracing")
	// The only way that the SDK has to tell of faults is for the whole process.
	otel.SetErrorHandler(&faults{log: log})
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version.Version)),
		resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil && about == nil {
		return nil, none, fmt.Errorf("describe this process for traces: %w", err)
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(about)}
	for _, name := range wanted {
		exporter, err := open(ctx, name, getenv, log)
		if err != nil {
			return nil, none, fmt.Errorf("make the exporter of traces: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(exporter))
	}
	provider := sdktrace.NewTracerProvider(options...)
	log.Info("traces are on", zap.Strings("exporters", wanted))
	return provider.Tracer(scope, trace.WithInstrumentationVersion(version.Version)), func(ctx context.Context) {
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn("the last spans could not be sent", zap.Error(err))
		}
	}, nil
}

// exporters are the exporters that are asked for.
func exporters(getenv func(string) string) []string {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	list := getenv("OTEL_TRACES_EXPORTER")
	if list == "" && getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
		list = "otlp"
	}
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" && name != "none" {
			names = append(names, name)
		}
	}
	return names
}

func open(ctx context.Context, name string, getenv func(string) string, log *zap.Logger) (sdktrace.SpanExporter, error) {
	switch name {
	case "otlp":
	case "console":
		return &console{log: log}, nil
	default:
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER %q: expected otlp, console or none", name)
	}
	protocol := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch protocol {
	case "", "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL %q: expected grpc or http/protobuf", protocol)
	}
}

// console writes each span as a line of the log.
type console struct{ log *zap.Logger }

// ExportSpans implements sdktrace.SpanExporter.
func (c *console) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		fields := []zap.Field{
			zap.String("name", s.Name()), zap.Stringer("traceId", s.SpanContext().TraceID()), zap.Stringer("spanId", s.SpanContext().SpanID()),
			zap.Duration("took", s.EndTime().Sub(s.StartTime())),
		}
		if s.Parent().IsValid() {
			fields = append(fields, zap.Stringer("parentId", s.Parent().SpanID()))
		}
		for _, a := range s.Attributes() {
			fields = append(fields, zap.Any(string(a.Key), a.Value.AsInterface()))
		}
		if text := s.Status().Description; text != "" {
			fields = append(fields, zap.String("error", text))
		}
		c.log.Info("span", fields...)
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (c *console) Shutdown(context.Context) error { return nil }

// faults logs what the SDK complains about: the same once a minute, for a collector that is away is complained about every five seconds.
type faults struct {
	log *zap.Logger

	mu   sync.Mutex
	last string
	at   time.Time
}

// Handle implements otel.ErrorHandler.
func (f *faults) Handle(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	f.mu.Lock()
	text := err.Error()
	again := text == f.last && time.Since(f.at) < time.Minute
	if !again {
		f.last, f.at = text, time.Now()
	}
	f.mu.Unlock()
	if !again {
		f.log.Warn("traces are lost, or not as wished", zap.Error(err))
	}
}
