// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// front puts a proxy before target on a real listener that speaks HTTP/1.1 and cleartext HTTP/2.
func front(tb testing.TB, target string) string {
	tb.Helper()
	server := httptest.NewUnstartedServer(New(Options{Target: target}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestBytesHeadersAndStatusPass(t *testing.T) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen-Host", r.Host)
		w.Header().Set("X-Seen-For", r.Header.Get("X-Forwarded-For"))
		w.Header().Set("X-Seen-Query", r.URL.RawQuery)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write(body)
	}))
	defer back.Close()
	addr := front(t, back.Listener.Addr().String())
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/v1/models/m:predict?a=b;c", strings.NewReader("payload"))
	require.NoError(t, err)
	req.Host = "m.example.com"
	req.Header.Set("X-Forwarded-For", "192.0.2.7")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	require.Equal(t, http.StatusTeapot, res.StatusCode)
	require.Equal(t, "payload", string(body))
	require.Equal(t, "m.example.com", res.Header.Get("X-Seen-Host"))
	require.Equal(t, "192.0.2.7, 127.0.0.1", res.Header.Get("X-Seen-For"))
}

func TestAStreamReachesTheClientAsItComes(t *testing.T) {
	next := make(chan struct{})
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "data: token\n")
			w.(http.Flusher).Flush()
			<-next // the next one is sent only when the client has this one
		}
	}))
	defer back.Close()
	res, err := http.Get("http://" + front(t, back.Listener.Addr().String()))
	require.NoError(t, err)
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for range 3 {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "data: token\n", line)
		next <- struct{}{}
	}
}

func TestGRPCPassesWithItsTrailers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	conn, err := grpc.NewClient(front(t, listener.Addr().String()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	res, err := client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, res.GetStatus())
	_, err = client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "unknown"})
	require.ErrorContains(t, err, "unknown service") // the status travels in a trailer
}

func TestABackEndThatIsDownIsABadGateway(t *testing.T) {
	down := httptest.NewServer(http.NotFoundHandler())
	target := down.Listener.Addr().String()
	down.Close()
	res, err := http.Get("http://" + front(t, target))
	require.NoError(t, err)
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
	require.Contains(t, string(body), target)
	require.Contains(t, string(body), "connection refused")
}

func TestAnUpgradedConnectionPasses(t *testing.T) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.CopyN(conn, rw, 5)
	}))
	defer back.Close()
	conn, err := net.Dial("tcp", front(t, back.Listener.Addr().String()))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, res.StatusCode)
	_, err = io.WriteString(conn, "hello")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
}

func BenchmarkProxy(b *testing.B) {
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer back.Close()
	for name, addr := range map[string]string{"direct": back.Listener.Addr().String(), "proxied": front(b, back.Listener.Addr().String())} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := http.Post("http://"+addr, "application/json", strings.NewReader(`{"instances":[[1,2,3,4]]}`))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
}
