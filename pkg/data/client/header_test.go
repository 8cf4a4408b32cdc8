// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

func TestHeadersOfAConnectionOrABodyStay(t *testing.T) {
	h := http.Header{
		"Connection": {"close"}, "Transfer-Encoding": {"gzip"}, "Content-Encoding": {"gzip"}, "Content-Length": {"1"}, "Accept-Encoding": {"br"},
		"inference-header-content-length": {"7"}, "Te": {"trailers"}, "Upgrade": {"x"}, "Grpc-Timeout": {"1n"}, "X-Request-Timeout": {"0"}, "X-Kept": {"1"},
	}
	ctx := client.WithHeader(t.Context(), h)
	s := newWeb(t, 200, `{"predictions":[1]}`)
	require.NoError(t, newClient(t, client.Options{URL: s.URL}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, "1", s.asked.Get("X-Kept"))
	for name := range h {
		if name != "X-Kept" && name != "Content-Length" {
			require.Empty(t, s.asked.Values(name), name)
		}
	}
	fake := &service{}
	require.NoError(t, newClient(t, client.Options{URL: serveGRPC(t, fake), Protocol: client.GRPC}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, []string{"1"}, fake.metadata.Get("x-kept"))
	for _, name := range []string{"connection", "te", "x-request-timeout", "inference-header-content-length"} {
		require.Empty(t, fake.metadata.Get(name), name)
	}
}

func TestAHeaderThatTheProtocolCannotCarryIsTheCallersMistake(t *testing.T) {
	fake := &service{}
	s := newWeb(t, 200, `{"predictions":[1]}`)
	rest, calls := newClient(t, client.Options{URL: s.URL}), newClient(t, client.Options{URL: serveGRPC(t, fake), Protocol: client.GRPC})
	for _, c := range []struct {
		to          *client.Client
		name, value string
		ok          bool
	}{
		{rest, "X-Request-Id", "é", true},
		{rest, "X-Request-Id", "a\x00b", false},
		{rest, "X Request", "a", false},
		{calls, "X-Request-Id", "é", false},
		{calls, "X-Request-Id", "a\tb", false},
		{calls, "X!", "a", false},
		{calls, "X-Any-Bin", "\x00\xff", true},
	} {
		err := c.to.Predict(client.WithHeader(t.Context(), http.Header{c.name: {c.value}}), rows(), &tensor.Response{})
		if c.ok {
			require.NoError(t, err, "%s: %q", c.name, c.value)
			continue
		}
		require.ErrorContains(t, err, "cannot be sent on")
		require.Equal(t, protocol.Invalid, protocol.From(err).Code)
	}
	require.Equal(t, []string{"\x00\xff"}, fake.metadata.Get("x-any-bin"))
}

func TestTheHeaderOfTheAnswer(t *testing.T) {
	var got http.Header
	ctx := client.WithAnswerHeader(t.Context(), &got)
	s := newWeb(t, 404, `{"error":"no"}`)
	s.header.Set("X-Server", "a")
	require.Error(t, newClient(t, client.Options{URL: s.URL}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, "a", got.Get("X-Server"))
	host := serveGRPC(t, &service{}, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-server", "b"))
		return next(ctx, req)
	}))
	require.NoError(t, newClient(t, client.Options{URL: host, Protocol: client.GRPC}).Predict(ctx, rows(), &tensor.Response{}))
	require.Equal(t, "b", got.Get("X-Server"))
}

func TestTheServerIsToldWhatIsLeftOfTheDeadline(t *testing.T) {
	s := newWeb(t, 200, `{"predictions":[1]}`)
	c := newClient(t, client.Options{URL: s.URL})
	require.NoError(t, c.Predict(t.Context(), rows(), &tensor.Response{}))
	require.Empty(t, s.asked.Values("X-Request-Timeout"), "the client's own bound is no business of the server's")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, c.Predict(ctx, rows(), &tensor.Response{}))
	left, err := strconv.ParseFloat(s.asked.Get("X-Request-Timeout"), 64)
	require.NoError(t, err)
	require.Greater(t, left, 1.0)
	require.LessOrEqual(t, left, 20.0)
}

func TestWhenToComeAgain(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, "99999": time.Hour, "99999999999999999999": time.Hour, "-99999999999999999999": 0, "-1": 0, "soon": 0, "": 0,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		s := newWeb(t, 429, `{"error":"busy"}`)
		s.header.Set("Retry-After", text)
		err := newClient(t, client.Options{URL: s.URL}).Predict(t.Context(), rows(), &tensor.Response{})
		require.Equal(t, want, protocol.From(err).RetryAfter, text)
	}
	s := newWeb(t, 503, `{"error":"not ready"}`)
	s.header.Set("Retry-After", time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
	began := time.Now()
	err := newClient(t, client.Options{URL: s.URL, Retries: 5}).Predict(t.Context(), rows(), &tensor.Response{})
	require.InDelta(t, 30, protocol.From(err).RetryAfter.Seconds(), 10)
	require.EqualValues(t, 1, s.calls.Load(), "nobody is kept waiting for so long")
	require.Less(t, time.Since(began), 5*time.Second)

	busy, err := status.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1500 * time.Millisecond)})
	require.NoError(t, err)
	err = newClient(t, client.Options{URL: serveGRPC(t, &service{fail: busy.Err()}), Protocol: client.GRPC}).Predict(t.Context(), rows(), &tensor.Response{})
	require.Equal(t, 1500*time.Millisecond, protocol.From(err).RetryAfter)
	require.Equal(t, protocol.TooMany, protocol.From(err).Code)
}

// cutting is a service that takes a call and goes away.
type cutting struct {
	service

	stop func()
}

func (s *cutting) ModelInfer(ctx context.Context, _ *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
	s.calls.Add(1)
	go s.stop()
	<-ctx.Done()
	return nil, ctx.Err()
}

// What a server did of a call that was cut off nobody knows: it is not made again, over no protocol.
func TestACallThatWasCutOffIsNotMadeAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, fake := grpc.NewServer(), &cutting{}
	fake.stop = server.Stop
	inferencev2.RegisterGRPCInferenceServiceServer(server, fake)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	err = newClient(t, client.Options{URL: l.Addr().String(), Protocol: client.GRPC, Retries: 3}).Predict(t.Context(), rows(), &tensor.Response{})
	<-done
	require.ErrorContains(t, err, "gave no answer")
	require.Equal(t, protocol.Unavailable, protocol.From(err).Code)
	require.EqualValues(t, 1, fake.calls.Load())

	var calls atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler)
	}))
	defer web.Close()
	err = newClient(t, client.Options{URL: web.URL, Retries: 3}).Predict(t.Context(), rows(), &tensor.Response{})
	require.ErrorContains(t, err, "gave no answer")
	require.EqualValues(t, 1, calls.Load())
}

func TestAUnixSocket(t *testing.T) {
	listen := func() (net.Listener, string) {
		path := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", path)
		require.NoError(t, err)
		return l, "unix://" + path
	}
	l, url := listen()
	var host, path string
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, path = r.Host, r.URL.Path
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	})}
	defer web.Close()
	go func() { _ = web.Serve(l) }()
	require.NoError(t, newClient(t, client.Options{URL: url}).Predict(t.Context(), rows(), &tensor.Response{}))
	require.Equal(t, "localhost /v1/models/m:predict", host+" "+path)

	l, url = listen()
	server := grpc.NewServer()
	inferencev2.RegisterGRPCInferenceServiceServer(server, &service{})
	defer server.Stop()
	go func() { _ = server.Serve(l) }()
	c := newClient(t, client.Options{URL: url, Protocol: client.GRPC})
	require.NoError(t, c.Predict(t.Context(), rows(), &tensor.Response{}))
	require.True(t, c.ModelReady(t.Context(), "m"))

	err := newClient(t, client.Options{URL: "unix:///nowhere/s"}).Predict(t.Context(), rows(), &tensor.Response{})
	require.ErrorContains(t, err, "unix:///nowhere/s/v1/models/m:predict cannot be reached")
	for _, p := range []client.Protocol{client.V1, client.GRPC} {
		_, err = client.New(client.Options{URL: "unix://nowhere", Protocol: p})
		require.Error(t, err, p)
	}
}

// A bundle that the pod names is of no concern where nothing is encrypted.
func TestCAsAreReadForTLSAlone(t *testing.T) {
	s := newWeb(t, 200, `{"predictions":[1]}`)
	require.NoError(t, newClient(t, client.Options{URL: s.URL, CAFile: "/nowhere.pem"}).Predict(t.Context(), rows(), &tensor.Response{}))
}
