// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

type running struct {
	*httpserver.Server
	stop context.CancelFunc
	done chan error
	url  string
}

func start(t *testing.T, opts httpserver.Options, handler http.Handler) *running {
	t.Helper()
	opts.HTTP.Addr = "127.0.0.1:0"
	s := httpserver.New(opts, handler, nil, zaptest.NewLogger(t))
	require.NoError(t, s.Listen(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	r := &running{Server: s, stop: stop, done: make(chan error, 1), url: "http://" + s.HTTPAddr().String()}
	go func() { r.done <- s.Run(ctx) }()
	t.Cleanup(stop)
	return r
}

func TestABusyPortIsNamedWithWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	addr := l.Addr().String()
	s := httpserver.New(httpserver.Options{HTTP: httpserver.Endpoint{Addr: addr, Flag: "--http_port"}}, http.NotFoundHandler(), nil, zaptest.NewLogger(t))
	require.EqualError(t, s.Run(t.Context()),
		"listen for HTTP on "+addr+": another process has this port: stop it or choose another with --http_port")
}

type deadGRPC struct{}

func (deadGRPC) Serve(l net.Listener) error { _, err := l.Accept(); return err }
func (deadGRPC) GracefulStop()              {}
func (deadGRPC) Stop()                      {}

func TestTheFirstPortIsGivenBackWhenTheSecondIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	s := httpserver.New(httpserver.Options{
		HTTP: httpserver.Endpoint{Addr: "127.0.0.1:0"},
		GRPC: httpserver.Endpoint{Addr: l.Addr().String()},
	}, http.NotFoundHandler(), deadGRPC{}, zaptest.NewLogger(t))
	require.ErrorContains(t, s.Listen(t.Context()), "listen for gRPC on")
	require.Nil(t, s.HTTPAddr())
}

func TestARunningRequestIsFinishedByADrain(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	drained := atomic.Bool{}
	s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-leave
		_, _ = io.WriteString(w, "whole")
	}))
	s.OnDrain(func() { drained.Store(true) })
	got := make(chan string, 1)
	go func() {
		resp, err := http.Get(s.url)
		if err != nil {
			got <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		got <- string(body)
	}()
	<-entered
	s.stop()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", s.HTTPAddr().String())
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, 5*time.Second, time.Millisecond)
	require.True(t, s.Draining())
	require.True(t, drained.Load())
	select {
	case err := <-s.done:
		t.Fatalf("Run returned %v with a request still running", err)
	default:
	}
	close(leave)
	require.Equal(t, "whole", <-got)
	require.NoError(t, <-s.done)
}

func TestADrainThatTakesTooLongSaysThatItCut(t *testing.T) {
	entered := make(chan struct{})
	s := start(t, httpserver.Options{DrainTimeout: 20 * time.Millisecond}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	go func() {
		if resp, err := http.Get(s.url); err == nil {
			resp.Body.Close()
		}
	}()
	<-entered
	s.stop()
	require.ErrorIs(t, <-s.done, httpserver.ErrCut)
}

func TestKeptAliveConnectionsAreGivenUpWhileDraining(t *testing.T) {
	s := start(t, httpserver.Options{DrainDelay: 300 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	get := func() *http.Response {
		resp, err := http.Get(s.url)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return resp
	}
	require.False(t, get().Close)
	s.stop()
	require.Eventually(t, s.Draining, 5*time.Second, time.Millisecond)
	require.True(t, get().Close, "an answer during the drain asks the client to close")
	require.NoError(t, <-s.done)
}

// Every client that got a connection gets its answer, whenever the drain begins.
func TestNoConnectedClientIsResetByADrain(t *testing.T) {
	for range 4 {
		s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
		var answered atomic.Int64
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for {
					conn, err := net.Dial("tcp", s.HTTPAddr().String())
					if err != nil {
						return
					}
					_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
					if err == nil {
						_, err = http.ReadResponse(bufio.NewReader(conn), nil)
					}
					conn.Close()
					if err != nil {
						t.Errorf("connected, then lost the request: %v", err)
						return
					}
					answered.Add(1)
				}
			})
		}
		for answered.Load() < 50 {
			time.Sleep(time.Millisecond)
		}
		s.stop()
		clients.Wait()
		require.NoError(t, <-s.done)
	}
}

func TestCleartextHTTP2IsServed(t *testing.T) {
	s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &p}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(s.url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", string(body))
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	s := start(t, httpserver.Options{ReadHeaderTimeout: 30 * time.Millisecond}, http.NotFoundHandler())
	conn, err := net.Dial("tcp", s.HTTPAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHos")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err = io.ReadAll(conn)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server did not close the connection")
}

func TestAClientThatTakesNothingIsGivenUp(t *testing.T) {
	ended := make(chan error, 1)
	s := start(t, httpserver.Options{WriteStall: 50 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20))
		ended <- err
	}))
	conn, err := net.Dial("tcp", s.HTTPAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	require.ErrorContains(t, <-ended, "timeout")
}

func TestASlowClientGetsItsWholeAnswer(t *testing.T) {
	const size = 4 << 20
	s := start(t, httpserver.Options{WriteStall: 200 * time.Millisecond}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	resp, err := http.Get(s.url)
	require.NoError(t, err)
	defer resp.Body.Close()
	got := 0
	for buffer := make([]byte, 256<<10); ; time.Sleep(20 * time.Millisecond) {
		n, err := io.ReadFull(resp.Body, buffer)
		got += n
		if err != nil {
			break
		}
	}
	require.Equal(t, size, got)
}

func TestHugeHeadersAreRefused(t *testing.T) {
	s := start(t, httpserver.Options{MaxHeaderBytes: 4096}, http.NotFoundHandler())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	require.NoError(t, err)
	req.Header.Set("X-Big", strings.Repeat("x", 20_000))
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode, fmt.Sprint(resp.Header))
}
