// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exampletest runs the servers of the examples for their tests.
//
// Called by: the tests of examples/….
// Next: pkg/data/serve, which the examples are made with.
package exampletest

import (
	"net"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// Server is a running server.
type Server struct {
	URL      string // of REST
	GRPCHost string // host:port
}

// Start serves for the time of a test.
func Start(t *testing.T, o serve.Options) Server {
	t.Helper()
	s := serve.New(o)
	require.NoError(t, s.Start(t.Context()))
	web := httptest.NewServer(s.Handler())
	calls := s.GRPC()
	var listen net.ListenConfig
	port, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = calls.Serve(port)
	}()
	t.Cleanup(func() {
		s.Drain()
		web.Close()
		calls.Stop()
		<-done
		s.Close()
	})
	return Server{URL: web.URL, GRPCHost: port.Addr().String()}
}

// Client calls s over a protocol.
func (s Server) Client(t *testing.T, p client.Protocol) *client.Client {
	t.Helper()
	o := client.Options{URL: s.URL, Protocol: p}
	if p == client.GRPC {
		o.URL = s.GRPCHost
	}
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// Transformer serves own as model m before a predictor, which it calls over p. dir is its model directory.
func Transformer(t *testing.T, own serve.Preprocessor, dir string, predictor Server, p client.Protocol) Server {
	t.Helper()
	if l, ok := own.(serve.Loader); ok {
		require.NoError(t, l.Load(t.Context(), dir))
	}
	to := predictor.Client(t, p)
	m, err := serve.NewTransformer(own, to)
	require.NoError(t, err)
	return Start(t, serve.Options{Dependency: to, Models: []serve.Model{{Name: "m", Model: m}}})
}

// Explainer serves own as model m before a predictor, which it calls over p.
func Explainer(t *testing.T, own engine.Explainer, predictor Server, p client.Protocol) Server {
	t.Helper()
	to := predictor.Client(t, p)
	m, err := serve.NewExplainer(own, to)
	require.NoError(t, err)
	return Start(t, serve.Options{Dependency: to, Models: []serve.Model{{Name: "m", Model: m}}})
}

// Protocols are all that a client speaks.
func Protocols() []client.Protocol { return []client.Protocol{client.V1, client.V2, client.GRPC} }
