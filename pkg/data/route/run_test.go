// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
)

func TestTheRouterServesItsGraphUntilItIsStopped(t *testing.T) {
	base, _ := services(t)
	l, err := net.Listen("tcp", ":0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	o, fs := NewOptions(), pflag.NewFlagSet("router", pflag.ContinueOnError)
	o.BindFlags(fs)
	require.NoError(t, fs.Parse([]string{
		"--graph-json", `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"` + base + `/echo"}]}}}`,
		"--port", strconv.Itoa(port), "--drain-delay=0s",
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, o, zap.NewNop()) }()
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	require.Eventually(t, func() bool {
		res, err := http.Get(url + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		return err == nil && res.StatusCode == 200
	}, 5*time.Second, time.Millisecond)
	res, err := http.Post(url+"/v1/models/m:predict?x=1", "application/json", strings.NewReader(`{"instances":[1]}`))
	require.NoError(t, err)
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	require.JSONEq(t, `{"instances":[1]}`, string(body))
	cancel()
	require.NoError(t, <-done)
}

func TestAStepThatTakesTooLongIsAGatewayTimeout(t *testing.T) {
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer slow.Close()
	g := graph(t, slow.URL, `{"nodes":{"root":{"routerType":"Sequence","steps":[{"serviceUrl":"BASE"}]}}}`)
	for name, h := range map[string]http.Handler{
		"the step's own limit":    NewHandler(g, HandlerOptions{StepTimeout: time.Millisecond}),
		"the request's time left": deadline(time.Millisecond, NewHandler(g, HandlerOptions{})),
	} {
		t.Run(name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`)))
			require.Equal(t, http.StatusGatewayTimeout, rec.Code)
			require.Contains(t, rec.Body.String(), "deadline exceeded")
		})
	}
}

func deadline(limit time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func TestAWrongStartIsExplained(t *testing.T) {
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"no graph":         {Options{}, "--graph-json: unexpected end of JSON input"},
		"a graph at fault": {Options{GraphJSON: `{}`}, `there is no node "root"`},
		"a bad pattern": {Options{
			GraphJSON: `{"nodes":{"root":{"routerType":"Switch","steps":[{"serviceUrl":"http://x"}]}}}`, Propagate: "(",
			Server: httpserver.Options{},
		}, "PROPAGATE_HEADERS"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, Run(t.Context(), tt.options, zap.NewNop()), tt.want)
		})
	}
}
