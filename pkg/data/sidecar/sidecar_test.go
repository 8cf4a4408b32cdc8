// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

func portOf(s *httptest.Server) int { return s.Listener.Addr().(*net.TCPAddr).Port }

// agent starts a real agent; stop ends it and returns what Run returned.
func agent(t *testing.T, o Options) (base string, stop func() error) {
	t.Helper()
	o.Port = freeport.Number(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, o, zap.NewNop()) }()
	t.Cleanup(cancel)
	base = "http://127.0.0.1:" + strconv.Itoa(o.Port)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, 5*time.Second, time.Millisecond)
	return base, func() error { cancel(); return <-done }
}

func request(t *testing.T, url string, header map[string]string) (status int, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b), res.Header
}

func TestProbesAreAnsweredAndRequestsForwarded(t *testing.T) {
	var healthy atomic.Bool
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" && !healthy.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "model "+r.URL.Path+" "+r.Header.Get("Forwarded"))
	}))
	defer back.Close()
	base, stop := agent(t, Options{
		ComponentPort:  portOf(back),
		ReadinessProbe: `{"httpGet":{"path":"/ready","port":"` + strconv.Itoa(portOf(back)) + `"},"timeoutSeconds":1}`,
	})

	kubelet := map[string]string{"User-Agent": "kube-probe/1.37", "K-Network-Probe": "queue"}
	status, _, _ := request(t, base+"/any", kubelet)
	require.Equal(t, 503, status)
	healthy.Store(true)
	status, body, _ := request(t, base+"/any", kubelet)
	require.Equal(t, 200, status)
	require.Equal(t, "queue", body)

	status, body, _ = request(t, base+"/", map[string]string{"User-Agent": "kube-probe/1.37"})
	require.Equal(t, 400, status)
	require.Equal(t, "unexpected probe header value: \n", body)

	status, _, h := request(t, base+"/", map[string]string{"K-Network-Probe": "probe", "K-Network-Hash": "abc"})
	require.Equal(t, 200, status)
	require.Equal(t, "abc", h.Get("K-Network-Hash"))
	status, _, _ = request(t, base+"/", map[string]string{"K-Network-Probe": "probe"})
	require.Equal(t, 400, status)

	_, body, _ = request(t, base+"/v1/models", map[string]string{"K-Network-Probe": "queue"})
	require.Equal(t, "model /v1/models ", body)
	_, body, _ = request(t, base+"/x", map[string]string{"X-Forwarded-For": "1.2.3.4, 2001:db8::1", "X-Forwarded-Proto": "https"})
	require.Equal(t, `model /x for=1.2.3.4;proto=https, for="[2001:db8::1]"`, body)
	require.NoError(t, stop())
}

func TestADrainFinishesWhatRunsAndTellsTheProbes(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(w, "late answer")
	}))
	defer back.Close()
	base, stop := agent(t, Options{ComponentPort: portOf(back), Server: httpserver.Options{DrainDelay: 300 * time.Millisecond}})
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get(base + "/slow")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		answer <- string(b)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	require.Eventually(t, func() bool {
		req, _ := http.NewRequest(http.MethodGet, base, nil)
		req.Header.Set("User-Agent", "kube-probe/1.37")
		req.Header.Set("K-Network-Probe", "queue")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return res.StatusCode == 503 && string(b) == "shutting down\n"
	}, 5*time.Second, time.Millisecond)
	close(release)
	require.Equal(t, "late answer", <-answer)
	require.NoError(t, <-stopped)
}

func TestProbeKinds(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	tcpPort := strconv.Itoa(tcp.Addr().(*net.TCPAddr).Port)

	g, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, service := grpc.NewServer(), health.NewServer()
	service.SetServingStatus("down", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	grpc_health_v1.RegisterHealthServer(server, service)
	go func() { _ = server.Serve(g) }()
	defer server.Stop()
	grpcPort := strconv.Itoa(g.Addr().(*net.TCPAddr).Port)

	var calls atomic.Int32
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) < 3 {
			w.WriteHeader(500)
		}
	}))
	defer flaky.Close()
	flakyPort := strconv.Itoa(portOf(flaky))
	closed := freeport.Text(t)

	tests := map[string]struct {
		probe string
		many  bool
		fails string
	}{
		"nothing to ask":                 {probe: ""},
		"an open port":                   {probe: `{"tcpSocket":{"port":` + tcpPort + `}}`},
		"a closed port":                  {probe: `{"tcpSocket":{"port":` + closed + `}}`, fails: "connection refused"},
		"a serving gRPC server":          {probe: `{"grpc":{"port":` + grpcPort + `}}`},
		"a gRPC service that is not":     {probe: `{"grpc":{"port":` + grpcPort + `,"service":"down"}}`, fails: "NOT_SERVING"},
		"asked until it answers":         {probe: `{"httpGet":{"port":` + flakyPort + `},"periodSeconds":0,"successThreshold":2}`},
		"several, all open":              {probe: `[{"tcpSocket":{"port":` + tcpPort + `}},{"grpc":{"port":` + grpcPort + `}}]`, many: true},
		"several, one of which is wrong": {probe: `[{"tcpSocket":{"port":` + tcpPort + `}},{"tcpSocket":{"port":` + closed + `}}]`, many: true, fails: "connection refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := newProber(tt.probe, tt.many, 8080)
			require.NoError(t, err)
			err = p.Ready(t.Context())
			if tt.fails == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.fails)
			}
		})
	}
}

func TestOptionsThatCannotBeMetAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"the batcher": {[]string{"--enable-batcher"}, "--enable-batcher: not built into this version"},
		"the puller":  {[]string{"--enable-puller"}, "--enable-puller: not built"},
		"the logger":  {[]string{"--log-url", "http://x"}, "--log-url: not built"},
		"a logger as pods have it": {
			[]string{
				"--log-url", "http://x", "--source-uri", "pod", "--log-mode", "all", "--inference-service", "m", "--namespace", "ns",
				"--endpoint", "", "--component", "predictor", "--logger-tls-skip-verify", "false", "--component-port", "8080",
			},
			"--log-url: not built",
		},
		"a batcher as pods have it": {[]string{"--enable-batcher", "--max-batchsize", "16", "--max-latency", "200"}, "--enable-batcher: not built"},
		"a puller as pods have it":  {[]string{"--enable-puller", "--config-dir", "/mnt/configs", "--model-dir", "/mnt/models"}, "--enable-puller: not built"},
		"an impossible port":        {[]string{"--component-port=0"}, "--component-port 0: expected a port"},
		"all at once, in one order": {
			[]string{"--log-url=x", "--enable-batcher", "--component-port=0", "--port=0"},
			"--port 0: expected a port of 1 to 65535\n--component-port 0: expected a port of 1 to 65535\n--enable-batcher: ",
		},
		"underscores as well": {[]string{"--component_port=70000"}, "--component-port 70000"},
	} {
		t.Run(name, func(t *testing.T) {
			o, fs := NewOptions(), pflag.NewFlagSet("agent", pflag.ContinueOnError)
			o.BindFlags(fs)
			require.NoError(t, fs.Parse(tt.args))
			require.ErrorContains(t, Run(t.Context(), o, zap.NewNop()), tt.want)
		})
	}
	for probe, want := range map[string]string{
		`{`:                             "readiness probe: ",
		`{}`:                            "expected one of httpGet, tcpSocket, grpc",
		`{"tcpSocket":{"port":"http"}}`: `a named port cannot be resolved`,
	} {
		o := NewOptions()
		o.ReadinessProbe = probe
		require.ErrorContains(t, Run(t.Context(), o, zap.NewNop()), want)
	}
}
