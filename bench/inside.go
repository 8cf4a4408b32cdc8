// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// decoder is a body and what reads it.
type decoder struct {
	name   string
	body   []byte
	decode func() error
}

// decoders are of 100 rows of 4 numbers each.
func decoders() []decoder {
	rows := []byte(manyRows(100))
	flat := []byte(`{"inputs":[{"name":"input-0","shape":[100,4],"datatype":"FP32","data":[` + strings.NewReplacer("[", "", "]", "").Replace(rowList(100)) + `]}]}`)
	var one v1.Decoder
	var two v2.Decoder
	return []decoder{
		{"V1 JSON, 100 x 4", rows, func() error { _, err := one.Decode(rows); return err }},
		{"V2 JSON, 100 x 4", flat, func() error {
			_, err := two.Decode(flat, v2.Options{Model: "m", ContentType: "application/json"})
			return err
		}},
	}
}

// rate is in MB/s of processor time, the best of several: what others do meanwhile on a core that they share makes it only less.
func (d decoder) rate() float64 {
	best := 0.0
	for range 5 {
		best = max(best, d.once())
	}
	return best
}

func (d decoder) once() float64 {
	const enough = 200 * time.Millisecond
	for n := 1000; ; n *= 4 {
		began := spent()
		for range n {
			if err := d.decode(); err != nil {
				panic(fmt.Sprintf("a body of this program's own: %v", err))
			}
		}
		if took := spent() - began; took > enough {
			return float64(len(d.body)) * float64(n) / took.Seconds() / 1e6
		}
	}
}

// spent is the processor time of this program so far.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// sink takes an answer and keeps its header, as a connection does.
type sink struct {
	header http.Header
	status int
}

func (w *sink) Header() http.Header             { return w.header }
func (w *sink) WriteHeader(status int)          { w.status = status }
func (w *sink) SetReadDeadline(time.Time) error { return nil }
func (w *sink) Write(p []byte) (int, error)     { return len(p), nil }

func started(ctx context.Context) *serve.Server {
	s := serve.New(serve.Options{Models: []serve.Model{{Name: "identity", Model: identity{}}}})
	if err := s.Start(ctx); err != nil {
		panic(fmt.Sprintf("a model of this program's own: %v", err))
	}
	return s
}

// binaryAllocations is the memory that a request with a tensor of 1 MiB takes, in bytes.
func binaryAllocations(ctx context.Context) int64 {
	h := started(ctx).Handler()
	body, contentType, header := mebibyte()
	text := strings.NewReader(body)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/v2/models/identity/infer", text)
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set(v2.HeaderLength, header)
	w := &sink{header: http.Header{}}
	return testing.Benchmark(func(b *testing.B) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			text.Reset(body)
			r.Body = io.NopCloser(text)
			h.ServeHTTP(w, r)
		}
		if w.status != 0 {
			b.Fatal(w.status)
		}
	}).AllocedBytesPerOp()
}

// rawAllocations is the memory that a call with a tensor of 1 MiB takes in our server and not in a bare one, in bytes. Client and gRPC are
// in both.
func rawAllocations(ctx context.Context) int64 {
	s := started(ctx)
	ours := s.GRPC()
	mirror := grpc.NewServer()
	inferencev2.RegisterGRPCInferenceServiceServer(mirror, &bare{})
	return callBytes(ctx, ours) - callBytes(ctx, mirror)
}

func callBytes(ctx context.Context, server *grpc.Server) int64 {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		panic(err)
	}
	ask, closed, err := infer(port, rawMessage())(ctx)
	if err != nil {
		panic(err)
	}
	defer closed()
	return testing.Benchmark(func(b *testing.B) {
		b.Helper()
		b.ReportAllocs()
		for b.Loop() {
			if err := ask(); err != nil {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
}
