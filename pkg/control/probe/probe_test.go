// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
)

// free returns an address that nothing listens on.
func start(t *testing.T, o Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(o, zap.NewNop()).Run(ctx) }()
	t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	require.Eventually(t, func() bool { status, _ := get(o.HealthAddr, "/healthz"); return status == http.StatusOK }, 5*time.Second, time.Millisecond)
}

func get(addr, path string) (status int, body string) {
	res, err := http.Get("http://" + addr + path)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, server), 0o600))
	return path
}

func TestWithoutAnAPIServerTheProcessIsHealthyButNotReadyAndSaysWhy(t *testing.T) {
	o := Options{Kubeconfig: kubeconfig(t, "http://"+freeport.Address(t)), HealthAddr: freeport.Address(t), MetricsAddr: freeport.Address(t), Retry: time.Millisecond}
	start(t, o)
	require.Eventually(t, func() bool {
		status, body := get(o.HealthAddr, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "needs a Kubernetes API server") && strings.Contains(body, "connection refused")
	}, 5*time.Second, time.Millisecond)
	_, metrics := get(o.MetricsAddr, "/metrics")
	require.Contains(t, metrics, "kserve_api_server_reachable 0")
}

func TestWithAnAPIServerTheProcessBecomesReadyAndStaysSo(t *testing.T) {
	// Only the version endpoint is asked; a server of our own stands in for it.
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"major":"1","minor":"37","gitVersion":"v1.37.2"}`)
	}))
	defer api.Close()
	o := Options{Kubeconfig: kubeconfig(t, api.URL), HealthAddr: freeport.Address(t), MetricsAddr: freeport.Address(t), Retry: time.Millisecond}
	start(t, o)
	require.Eventually(t, func() bool { status, _ := get(o.HealthAddr, "/readyz"); return status == http.StatusOK }, 5*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		_, metrics := get(o.MetricsAddr, "/metrics")
		return strings.Contains(metrics, "kserve_api_server_reachable 1")
	}, 5*time.Second, time.Millisecond)

	api.Close()
	require.Eventually(t, func() bool {
		_, metrics := get(o.MetricsAddr, "/metrics")
		return strings.Contains(metrics, "kserve_api_server_reachable 0")
	}, 5*time.Second, time.Millisecond)
	status, body := get(o.HealthAddr, "/readyz")
	require.Equal(t, http.StatusOK, status, "an API server that goes away later takes nobody's readiness: %s", body)
}

func TestABusyAddressIsAnErrorThatNamesItAndTheFlag(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	err = New(Options{Kubeconfig: kubeconfig(t, "http://"+freeport.Address(t)), HealthAddr: l.Addr().String(), MetricsAddr: freeport.Address(t)}, zap.NewNop()).Run(t.Context())
	require.ErrorContains(t, err, l.Addr().String())
	require.ErrorContains(t, err, "--health-probe-addr")
}

func TestOneAddressForBothPortsIsAnErrorAndLeavesNothingOpen(t *testing.T) {
	addr := freeport.Address(t)
	err := New(Options{Kubeconfig: kubeconfig(t, "http://"+freeport.Address(t)), HealthAddr: addr, MetricsAddr: addr}, zap.NewNop()).Run(t.Context())
	require.ErrorContains(t, err, "--metrics-addr")
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestAnAPIServerThatDoesNotAnswerDoesNotHoldUpTheEnd(t *testing.T) {
	asked := make(chan struct{}, 10)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer api.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	o := Options{Kubeconfig: kubeconfig(t, api.URL), HealthAddr: freeport.Address(t), MetricsAddr: freeport.Address(t), Retry: time.Hour}
	go func() { done <- New(o, zap.NewNop()).Run(ctx) }()
	<-asked
	cancel()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(4 * time.Second): // before the request's own timeout, 5 s
		t.Fatal("the process waits for the answer")
	}
}
