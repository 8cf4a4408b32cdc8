// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Attributes of spans that are this server's own.
const (
	attrModel    = "kserve.model.name"
	attrVersion  = "kserve.model.version"
	attrProtocol = "kserve.protocol"
	attrRows     = "kserve.rows"
)

// told is an attribute of a span. A client's text may be any bytes; one that is not UTF-8 would cost a collector all spans that are sent with it.
func told(key, value string) attribute.KeyValue { return attribute.String(key, valid(value)) }

func valid(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// pattern is the path of a route that has spans, without the names in it; empty for the routes that only report.
func (r route) pattern() string {
	switch r {
	case routeV1Predict:
		return "/v1/models/{model}:predict"
	case routeV1Explain:
		return "/v1/models/{model}:explain"
	case routeV2Infer:
		return "/v2/models/{model}/infer"
	case routeLoad:
		return "/v2/repository/models/{model}/load"
	case routeUnload:
		return "/v2/repository/models/{model}/unload"
	default:
		return ""
	}
}

// traceHTTP begins the span of a request, below the caller's when it names one. The span is nil where nothing is traced.
func (s *Server) traceHTTP(r *http.Request, t target, began time.Time) (*http.Request, trace.Span) {
	pattern := t.route.pattern()
	if pattern == "" {
		return r, nil
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.opts.Tracer.Start(ctx, r.Method+" "+pattern, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	if span.IsRecording() {
		span.SetAttributes(
			told("http.request.method", r.Method), told("http.route", pattern), told("url.path", r.URL.Path),
			told("client.address", r.RemoteAddr), told(attrProtocol, t.route.wire().String()),
		)
		if r.ContentLength > 0 {
			span.SetAttributes(attribute.Int64("http.request.body.size", r.ContentLength))
		}
	}
	return r.WithContext(ctx), span
}

func endHTTP(span trace.Span, status int) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
	}
	span.End()
}

// calls carries a trace in the metadata of a call.
type calls metadata.MD

// Get implements propagation.TextMapCarrier.
func (c calls) Get(key string) string {
	if values := metadata.MD(c).Get(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c calls) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c calls) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}

// traceCall begins the span of a call.
func (s *Server) traceCall(ctx context.Context, method string, began time.Time) (context.Context, trace.Span) {
	md, _ := metadata.FromIncomingContext(ctx)
	ctx = propagation.TraceContext{}.Extract(ctx, calls(md))
	ctx, span := s.opts.Tracer.Start(ctx, valid(method), trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(began))
	if span.IsRecording() {
		span.SetAttributes(told("rpc.system", "grpc"), told("rpc.method", method),
			told(attrProtocol, wireGRPC.String()))
	}
	return ctx, span
}

func endCall(span trace.Span, code int, err error) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("rpc.grpc.status_code", code))
		if err != nil {
			span.SetStatus(codes.Error, valid(err.Error()))
		}
	}
	span.End()
}

// follow remembers the request's span, when it has one that is kept, for the steps.
func (t *timing) follow(ctx context.Context, req *tensor.Request) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		t.span = span
		if len(req.Inputs) > 0 {
			t.rows = req.Inputs[0].Rows()
		}
	}
}

// traceSteps tells the steps of a prediction as spans below the request's, after the fact: they cost nothing while the prediction runs.
func (s *Server) traceSteps(ctx context.Context, m *repository.Loaded, t *timing, err error) {
	if t.span == nil {
		return
	}
	t.span.SetAttributes(told(attrModel, m.Name), told(attrVersion, m.Version))
	ctx = trace.ContextWithSpan(ctx, t.span)
	step := func(name string, from, to time.Time, attrs ...attribute.KeyValue) trace.Span {
		_, span := s.opts.Tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attrs...))
		return ended{span, to}
	}
	step("decode", t.began, t.decoded).End()
	if t.entered.IsZero() {
		// It never came to the prediction.
		queue := step("queue", t.decoded, time.Now())
		queue.SetStatus(codes.Error, valid(err.Error()))
		queue.End()
		return
	}
	if t.entered.After(t.decoded) {
		step("queue", t.decoded, t.entered).End()
	}
	predict := step("predict", t.entered, t.predicted, told(attrModel, m.Name), attribute.Int(attrRows, t.rows))
	if err != nil {
		predict.SetStatus(codes.Error, valid(err.Error()))
	}
	predict.End()
	if err == nil {
		step("encode", t.predicted, t.encoded).End()
	}
}

// ended is a span with an end that has passed.
type ended struct {
	trace.Span

	at time.Time
}

// End implements trace.Span.
func (e ended) End(options ...trace.SpanEndOption) {
	e.Span.End(append(options, trace.WithTimestamp(e.at))...)
}
