// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// Ten thousand clients wait for one model. One more is refused; half of them go away; the others are answered, and nothing is computed for
// those that left.
func TestTenThousandClientsWait(t *testing.T) {
	const clients = 10_000
	for name, limits := range map[string]serve.Limits{
		"one by one": {Running: 1, Queue: clients - 1}, "joined": {Running: 1, Queue: clients - 32, MaxBatchSize: 16},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sum{word: "sum", entered: make(chan struct{}, clients), leave: make(chan struct{})}
			m := &counted{sum: s}
			server := serve.New(serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, Limits: limits})
			require.NoError(t, server.Start(t.Context()))
			defer server.Close()
			h := server.Handler()
			ask := func(ctx context.Context) *httptest.ResponseRecorder {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/models/m:predict", strings.NewReader(`{"inputs":[[1.5,2]]}`)))
				return w
			}
			queued := func(n int) func() bool {
				return func() bool {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
					return strings.Contains(w.Body.String(), fmt.Sprintf("kserve_predictions_queued{model_name=\"m\"} %d\n", n))
				}
			}
			gone, leave := context.WithCancel(t.Context())
			codes := make([]int, clients)
			var all sync.WaitGroup
			begin := func(i int) {
				all.Go(func() {
					ctx := t.Context()
					if i%2 == 1 {
						ctx = gone
					}
					codes[i] = ask(ctx).Code
				})
			}
			begin(0)
			<-s.entered
			for i := 1; i < clients; i++ {
				begin(i)
			}
			require.Eventually(t, queued(clients-1), waitFor, tick)
			refused := ask(t.Context())
			require.Equal(t, http.StatusTooManyRequests, refused.Code)
			require.NotEmpty(t, refused.Header().Get("Retry-After"))
			leave()
			require.Eventually(t, queued(clients/2-1), waitFor, tick)
			close(s.leave)
			all.Wait()
			for i, code := range codes {
				require.Equal(t, code == http.StatusOK, i%2 == 0, "client %d: %d", i, code)
			}
			require.Equal(t, int64(clients/2), m.rows.Load())
			require.True(t, queued(0)())
		})
	}
}

// Names are any text without slashes, on every wire, in the index and in the metrics.
func TestModelsHaveOddNames(t *testing.T) {
	names := []string{
		"a b", " ", "ü", "日本", "😀", "a:b", "a:predict", "100%", "%2e", "a?b", "a#b", `a"b`, "a\nb", `{a="b"}`, `a\b`, "..a", ".", "versions", "ready", "a&b=c;d",
		"\u202e", strings.Repeat("n", 2000),
	}
	e := &sums{}
	var models []serve.Model
	dir := tree(t, map[string]string{"m.sum": "sum"})
	for _, name := range names {
		models = append(models, serve.Model{Name: name, Path: dir})
	}
	p := run(t, serve.Options{Engines: []engine.Engine{e}, Models: models})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	for _, name := range names {
		path := url.PathEscape(name)
		if text := asked(p.url+"/v1/models/"+path+":predict", v1Body); text != `{"predictions":[3.0,7.0]}` {
			t.Errorf("V1 %.20q: %s", name, text)
		}
		if text := asked(p.url+"/v2/models/"+path+"/infer", v2Body); !strings.Contains(text, `"data":[3.0,7.0]`) {
			t.Errorf("V2 %.20q: %s", name, text)
		}
		out, err := client.ModelInfer(t.Context(), inferRequest(name))
		require.NoError(t, err, name)
		require.Equal(t, name, out.GetModelName())
		resp, text := do(t, http.MethodGet, p.url+"/v2/models/"+path+"/ready", "")
		require.Equal(t, 200, resp.StatusCode, text)
	}
	require.Len(t, p.Models(), len(names))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(metrics(t, p)))
	require.NoError(t, err)
	var told []string
	for _, m := range families["kserve_model_ready"].GetMetric() {
		told = append(told, m.GetLabel()[0].GetValue())
	}
	require.ElementsMatch(t, names, told)
	for _, name := range names {
		resp, text := do(t, http.MethodPost, p.url+"/v2/repository/models/"+url.PathEscape(name)+"/unload", "")
		require.Equal(t, 200, resp.StatusCode, text)
	}
	require.Equal(t, e.opened.Load(), e.closed.Load())
}
