// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// visit is one request over HTTP from its arrival to its answer, for all who count, trace or log requests.
type visit struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	began  time.Time
	target target
	status int
	span   trace.Span   // nil where nothing is traced
	sent   *sentCounter // nil without an access log
}

// watch is called when it is known what the request is for.
func (v *visit) watch() {
	if v.s.opts.Tracer != nil {
		v.r, v.span = v.s.traceHTTP(v.r, v.target, v.began)
	}
	if v.s.opts.Access != nil {
		v.sent = &sentCounter{ResponseWriter: v.w}
		v.w = v.sent
	}
}

// end is deferred: it answers for a handler that panicked, and tells how the visit went.
func (v *visit) end() {
	p := recover()
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		// The client was cut off on purpose; net/http ends the connection.
		v.told()
		panic(p)
	}
	if p != nil {
		v.s.panicked(p, v.r.URL.Path)
		v.status = writeJSON(v.w, http.StatusInternalServerError, []byte(`{"error":"internal error"}`))
	}
	v.s.metrics.answered(v.target.route.wire(), v.status)
	v.told()
}

func (v *visit) told() {
	took := time.Since(v.began)
	if v.target.route.predicts() && v.status != 0 {
		v.s.observe(v.target.route.wire(), v.target.name, v.target.version, v.status, took)
	}
	if v.span != nil {
		endHTTP(v.span, v.status)
	}
	if v.sent == nil {
		return
	}
	if e := v.s.opts.Access.Check(zap.InfoLevel, "request"); e != nil {
		fields := []zap.Field{
			zap.String("client", v.r.RemoteAddr), zap.String("protocol", v.r.Proto), zap.String("method", v.r.Method),
			zap.String("path", v.r.URL.Path), zap.Int("status", v.status), zap.Int64("received", v.r.ContentLength), zap.Int64("sent", v.sent.n),
			zap.Float64("ms", ms(took)), zap.String("userAgent", v.r.UserAgent()),
		}
		e.Write(appendIDs(fields, v.r.Header.Get("X-Request-Id"), v.span)...)
	}
}

// sentCounter counts the bytes of an answer.
type sentCounter struct {
	http.ResponseWriter
	n int64
}

// Write implements http.ResponseWriter.
func (w *sentCounter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *sentCounter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func appendIDs(fields []zap.Field, requestID string, span trace.Span) []zap.Field {
	if requestID != "" {
		fields = append(fields, zap.String("requestId", requestID))
	}
	if span != nil {
		fields = append(fields, zap.Stringer("traceId", span.SpanContext().TraceID()))
	}
	return fields
}

// call is one request over gRPC.
type call struct {
	method string
	began  time.Time
	span   trace.Span // nil where nothing is traced
}

// called tells how a call went.
func (s *Server) called(ctx context.Context, c call, req any, err error) {
	code, took := status.Code(err), time.Since(c.began)
	s.metrics.answered(wireGRPC, int(code))
	if in, ok := req.(*inferencev2.ModelInferRequest); ok {
		s.observe(wireGRPC, in.GetModelName(), in.GetModelVersion(), int(code), took)
	}
	if c.span != nil {
		endCall(c.span, int(code), err)
	}
	if s.opts.Access == nil {
		return
	}
	if e := s.opts.Access.Check(zap.InfoLevel, "request"); e != nil {
		client, id := "", ""
		if p, ok := peer.FromContext(ctx); ok {
			client = p.Addr.String()
		}
		if ids := metadata.ValueFromIncomingContext(ctx, "x-request-id"); len(ids) > 0 {
			id = ids[0]
		}
		fields := []zap.Field{
			zap.String("client", client), zap.String("protocol", "gRPC"), zap.String("method", c.method),
			zap.Stringer("status", code), zap.Float64("ms", ms(took)),
		}
		e.Write(appendIDs(fields, id, c.span)...)
	}
}
