// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
)

// What watching costs a request, in time and allocations: nothing where it is off.
func BenchmarkWatched(b *testing.B) {
	sampled := func(s sdktrace.Sampler) serve.Options {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithBatcher(tracetest.NewNoopExporter()))
		return serve.Options{Tracer: provider.Tracer("bench")}
	}
	const flower = `{"instances":[[5.1,3.5,1.4,0.2]]}`
	for name, opts := range map[string]serve.Options{
		"off":               {},
		"traces, unsampled": sampled(sdktrace.NeverSample()),
		"traces, 1 in 100":  sampled(sdktrace.TraceIDRatioBased(0.01)),
		"traces, all":       sampled(sdktrace.AlwaysSample()),
		"access log":        {Access: zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))},
	} {
		b.Run(name, func(b *testing.B) {
			opts.Engines, opts.ModelDir, opts.ModelName = []engine.Engine{sklearn.New()}, "../../../test/data/protocol/models/iris-logreg", "iris"
			s := serve.New(opts)
			if err := s.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			h := s.Handler()
			text := strings.NewReader(flower)
			r := httptest.NewRequest(http.MethodPost, "/v1/models/iris:predict", text)
			r.Header.Set("Content-Type", "application/json")
			closer := io.NopCloser(text)
			w := &sink{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				text.Reset(flower)
				r.Body = closer
				h.ServeHTTP(w, r)
			}
			if w.status != 0 {
				b.Fatal(w.status)
			}
		})
	}
}
