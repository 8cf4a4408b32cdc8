// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// child runs one of the servers that this program is itself, on two ports: the bare one, or ours with a model that answers its input.
func child(ctx context.Context, first, second string) error {
	if port, ok := strings.CutPrefix(first, "identity:"); ok {
		o := serve.Options{Models: []serve.Model{{Name: "identity", Model: identity{}}}}
		o.Server.HTTP.Addr, o.Server.GRPC.Addr = "127.0.0.1:"+port, "127.0.0.1:"+second
		if err := serve.New(o).Run(ctx); err != nil {
			return fmt.Errorf("serve the identity: %w", err)
		}
		return nil
	}
	return echo(ctx, first, second)
}

// identity is a model that answers its input.
type identity struct{}

// Metadata implements engine.Model.
func (identity) Metadata() engine.Metadata { return engine.Metadata{Platform: "go"} }

// Predict implements engine.Model.
func (identity) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	for _, t := range in.Inputs {
		if err := out.Add(t.Name, t.Type, 0).SetRaw(t.Name, t.Type, t.Shape, t.Raw()); err != nil {
			return err
		}
	}
	return nil
}

// Close implements engine.Model.
func (identity) Close() error { return nil }

// echo is the bare server: it reads a request to its end and answers the same 100 bytes, or the same message; at /mirror
// it answers the request's body, from memory that it uses again.
func echo(ctx context.Context, httpPort, grpcPort string) error {
	answer := []byte(fmt.Sprintf(`{"answer":"%087d"}`, 0))
	bodies := sync.Pool{New: func() any { return new([]byte) }}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mirror" {
			body := bodies.Get().(*[]byte)
			defer bodies.Put(body)
			*body = slices.Grow((*body)[:0], int(r.ContentLength))[:r.ContentLength]
			if _, err := io.ReadFull(r.Body, *body); err == nil {
				_, _ = w.Write(*body)
			}
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+grpcPort)
	if err != nil {
		return fmt.Errorf("listen for gRPC: %w", err)
	}
	g := grpc.NewServer()
	inferencev2.RegisterGRPCInferenceServiceServer(g, &bare{})
	web := &http.Server{Addr: "127.0.0.1:" + httpPort, Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		g.Stop()
		_ = web.Close()
	}()
	go func() { _ = g.Serve(listener) }()
	if err := web.ListenAndServe(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

type bare struct {
	inferencev2.UnimplementedGRPCInferenceServiceServer
}

// ModelInfer answers one class, or raw tensors as they came.
func (*bare) ModelInfer(_ context.Context, in *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
	if len(in.GetRawInputContents()) > 0 {
		return &inferencev2.ModelInferResponse{
			ModelName: in.GetModelName(), RawOutputContents: in.GetRawInputContents(),
			Outputs: []*inferencev2.ModelInferResponse_InferOutputTensor{{
				Name: in.GetInputs()[0].GetName(), Datatype: in.GetInputs()[0].GetDatatype(), Shape: in.GetInputs()[0].GetShape(),
			}},
		}, nil
	}
	return &inferencev2.ModelInferResponse{
		ModelName: "iris", Id: "9e2c9b1e-8f0c-4c39-8b0a-0c6c4bb1b2a1",
		Outputs: []*inferencev2.ModelInferResponse_InferOutputTensor{{
			Name: "output-0", Datatype: "INT64", Shape: []int64{1}, Contents: &inferencev2.InferTensorContents{Int64Contents: []int64{0}},
		}},
	}, nil
}
