// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
)

// sink is a ResponseWriter that keeps its header map, as a connection does.
type sink struct {
	header http.Header
	status int
}

func (w *sink) Header() http.Header    { return w.header }
func (w *sink) WriteHeader(status int) { w.status = status }

// SetReadDeadline is there so that none is missed: net/http's error for it costs memory.
func (w *sink) SetReadDeadline(time.Time) error { return nil }

func (w *sink) Write(p []byte) (int, error) { return len(p), nil }

func benchmarkHandler(b *testing.B, path, body string, headers ...string) {
	b.Helper()
	s := serve.New(serve.Options{Engines: []engine.Engine{sklearn.New()}, ModelDir: "../../../test/data/protocol/models/iris-logreg", ModelName: "iris"})
	if err := s.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	h := s.Handler()
	text := strings.NewReader(body)
	r := httptest.NewRequest(http.MethodPost, path, text)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	closer := io.NopCloser(text)
	w := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		text.Reset(body)
		r.Body = closer
		h.ServeHTTP(w, r)
	}
	if w.status != 0 {
		b.Fatal(w.status)
	}
}

func BenchmarkV1IrisOneRow(b *testing.B) {
	benchmarkHandler(b, "/v1/models/iris:predict", `{"instances":[[5.1,3.5,1.4,0.2]]}`)
}

func BenchmarkV1Iris100Rows(b *testing.B) {
	benchmarkHandler(b, "/v1/models/iris:predict", `{"instances":[[5.1,3.5,1.4,0.2]`+strings.Repeat(`,[5.1,3.5,1.4,0.2]`, 99)+`]}`)
}

func BenchmarkV2IrisOneRow(b *testing.B) {
	benchmarkHandler(b, "/v2/models/iris/infer", `{"inputs":[{"name":"input-0","shape":[1,4],"datatype":"FP32","data":[5.1,3.5,1.4,0.2]}]}`)
}
