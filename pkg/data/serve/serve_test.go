// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// sums is an engine whose files say, in a word, how the model behaves: sum, panic, fail, corrupt. It adds up each row.
type sums struct{ opened, closed atomic.Int64 }

func (*sums) Name() string         { return "sums" }
func (*sums) Extensions() []string { return []string{".sum"} }

func (e *sums) Open(_ context.Context, file string, _ engine.Options) (engine.Model, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	word := strings.TrimSpace(string(text))
	switch word {
	case "corrupt":
		return nil, &engine.BadModel{Where: "byte 0", Reason: "expected a word that is known"}
	case "explode":
		panic("the reader has a fault")
	}
	e.opened.Add(1)
	return &sum{engine: e, word: word}, nil
}

type sum struct {
	engine *sums
	word   string
	closed atomic.Bool
	// entered and leave hold a prediction, for tests of what happens meanwhile.
	entered chan struct{}
	leave   chan struct{}
}

func (m *sum) Metadata() engine.Metadata {
	return engine.Metadata{
		Platform: "sums", Class: m.word, Methods: []string{"predict", "predict_proba"},
		Inputs:  []engine.TensorMetadata{{Name: "input-0", Type: tensor.FP64, Shape: []int64{-1, 2}}},
		Outputs: []engine.TensorMetadata{{Name: "output-0", Type: tensor.FP64, Shape: []int64{-1}}},
	}
}

func (m *sum) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if m.closed.Load() {
		return errors.New("predicted with a closed model")
	}
	if m.entered != nil {
		m.entered <- struct{}{}
		select {
		case <-m.leave:
		case <-ctx.Done():
			return protocol.Wrap(ctx.Err(), protocol.Deadline, "stopped")
		}
	}
	switch m.word {
	case "panic":
		panic("the model has a fault")
	case "fail":
		return errors.New("a secret path")
	}
	if len(in.Inputs) == 0 || len(in.Inputs[0].Shape) != 2 {
		return protocol.Errorf(protocol.Invalid, "expected rows")
	}
	values, _ := in.Inputs[0].AppendFloat64s(nil)
	rows := in.Inputs[0].Rows()
	out.Absent = max(2-int(in.Inputs[0].Shape[1]), 0)
	result := tensor.View[float64](out.Add("output-0", tensor.FP64, int64(rows)))
	for i := range rows {
		result[i] = 0
		for _, v := range values[i*len(values)/rows : (i+1)*len(values)/rows] {
			result[i] += v
		}
		if in.Method == "predict_proba" {
			result[i] = -result[i]
		}
	}
	return nil
}

func (m *sum) Close() error {
	if m.closed.Swap(true) {
		panic("closed twice")
	}
	if m.engine != nil {
		m.engine.closed.Add(1)
	}
	return nil
}

// tree writes files, by path below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			require.NoError(t, os.MkdirAll(path, 0o750))
		} else {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	return dir
}

// started is a server with one model m of the given word, and its HTTP side.
func started(t *testing.T, word string, opts serve.Options) (*serve.Server, string) {
	t.Helper()
	opts.Engines = []engine.Engine{&sums{}}
	opts.ModelDir, opts.ModelName = tree(t, map[string]string{"model.sum": word}), "m"
	return mounted(t, opts)
}

func mounted(t *testing.T, opts serve.Options) (*serve.Server, string) {
	t.Helper()
	s := serve.New(opts)
	require.NoError(t, s.Start(t.Context()))
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { web.Close(); s.Close() })
	return s, web.URL
}

func do(t *testing.T, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

const (
	v1Body = `{"instances":[[1,2],[3,4]]}`
	v2Body = `{"id":"x","inputs":[{"name":"input-0","shape":[2,2],"datatype":"FP64","data":[1,2,3,4]}]}`
	v2Want = `{"model_name":"m","model_version":null,"id":"x","parameters":null,"outputs":[{"name":"output-0","shape":[2],"datatype":"FP64","parameters":null,"data":[3.0,7.0]}]}`
)

func grpcClient(t *testing.T, addr string) inferencev2.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return inferencev2.NewGRPCInferenceServiceClient(conn)
}

func inferRequest(model string) *inferencev2.ModelInferRequest {
	return &inferencev2.ModelInferRequest{
		ModelName: model, Id: "x",
		Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "input-0", Datatype: "FP64", Shape: []int64{2, 2},
			Contents: &inferencev2.InferTensorContents{Fp64Contents: []float64{1, 2, 3, 4}},
		}},
	}
}

// process is a server with ports of its own, as a binary runs it.
type process struct {
	*serve.Server
	stop context.CancelFunc
	done chan error
	url  string
}

func run(t *testing.T, opts serve.Options) *process {
	t.Helper()
	opts.Server.HTTP, opts.Server.GRPC = httpserver.Endpoint{Addr: "127.0.0.1:0"}, httpserver.Endpoint{Addr: "127.0.0.1:0"}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	s := serve.New(opts)
	require.NoError(t, s.Listen(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	p := &process{Server: s, stop: stop, done: make(chan error, 1), url: "http://" + s.HTTPAddr().String()}
	go func() { p.done <- s.Run(ctx) }()
	t.Cleanup(stop)
	return p
}

func TestRoutes(t *testing.T) {
	_, url := started(t, "sum", serve.Options{})
	ready := `{"name":"m","ready":true}`
	cases := map[string]struct {
		method, path, body string
		status             int
		want, allow        string
	}{
		"alive":                            {"GET", "/", "", 200, `{"status":"alive"}`, ""},
		"HEAD is GET without a body":       {"HEAD", "/", "", 200, "", ""},
		"another method":                   {"POST", "/", "", 405, `{"detail":"Method Not Allowed"}`, "GET"},
		"lives":                            {"GET", "/livez", "", 200, `{"status":"alive"}`, ""},
		"is ready":                         {"GET", "/readyz", "", 200, `{"ready":true}`, ""},
		"what KServe's servers have not":   {"GET", "/healthz", "", 404, `{"detail":"Not Found"}`, ""},
		"V1 list":                          {"GET", "/v1/models", "", 200, `{"models":["m"]}`, ""},
		"V1 ready":                         {"GET", "/v1/models/m", "", 200, ready, ""},
		"V1 unknown":                       {"GET", "/v1/models/n", "", 404, `{"error":"Model with name n does not exist."}`, ""},
		"V1 predict":                       {"POST", "/v1/models/m:predict", v1Body, 200, `{"predictions":[3.0,7.0]}`, ""},
		"V1 predict with a coded colon":    {"POST", "/v1/models/m%3Apredict", v1Body, 200, `{"predictions":[3.0,7.0]}`, ""},
		"V1 predict with a coded slash":    {"POST", "/v1/models/a%2Fm:predict", v1Body, 404, `{"detail":"Not Found"}`, ""},
		"V1 predict, unknown before bad":   {"POST", "/v1/models/n:predict", "{", 404, `{"error":"Model with name n does not exist."}`, ""},
		"V1 predict, malformed":            {"POST", "/v1/models/m:predict", "{", 400, `{"error":"Unrecognized request format: unexpected end of data: line 1 column 2 (char 1)"}`, ""},
		"V1 predict by GET":                {"GET", "/v1/models/m:predict", "", 405, `{"detail":"Method Not Allowed"}`, "POST"},
		"V1 explain":                       {"POST", "/v1/models/m:explain", v1Body, 501, `{"error":"Could not find explainer_host."}`, ""},
		"V1 unknown verb":                  {"POST", "/v1/models/m:classify", v1Body, 404, `{"detail":"Not Found"}`, ""},
		"V1 no name":                       {"POST", "/v1/models/:predict", v1Body, 405, `{"detail":"Method Not Allowed"}`, "GET"},
		"V2 server":                        {"GET", "/v2", "", 200, `{"name":"kserve","version":"0.20.0","extensions":["model_repository_extension"]}`, ""},
		"V2 live":                          {"GET", "/v2/health/live", "", 200, `{"live":true}`, ""},
		"V2 ready":                         {"GET", "/v2/health/ready", "", 200, `{"ready":true}`, ""},
		"V2 list":                          {"GET", "/v2/models", "", 200, `{"models":["m"]}`, ""},
		"V2 model":                         {"GET", "/v2/models/m", "", 200, `{"name":"m","versions":null,"platform":"sums","inputs":[{"name":"input-0","datatype":"FP64","shape":[-1,2]}],"outputs":[{"name":"output-0","datatype":"FP64","shape":[-1]}]}`, ""},
		"V2 model's version":               {"GET", "/v2/models/m/versions/1", "", 404, `{"error":"Model with name m has no version 1: it is served without versions"}`, ""},
		"V2 model ready":                   {"GET", "/v2/models/m/ready", "", 200, ready, ""},
		"V2 infer":                         {"POST", "/v2/models/m/infer", v2Body, 200, v2Want, ""},
		"V2 infer by GET":                  {"GET", "/v2/models/m/infer", "", 405, `{"detail":"Method Not Allowed"}`, "POST"},
		"V2 infer, unknown":                {"POST", "/v2/models/n/infer", v2Body, 404, `{"error":"Model with name n does not exist."}`, ""},
		"V2 infer, no protocol":            {"POST", "/v2/models/n/infer", `{}`, 422, `{"detail":[{"type":"missing","loc":["body","InferenceRequest","inputs"],"msg":"Field required","input":{}},{"type":"bytes_type","loc":["body","bytes"],"msg":"Input should be a valid bytes","input":{}}]}`, ""},
		"V2 index":                         {"POST", "/v2/repository/index", `{}`, 200, `[{"name":"m","version":"","state":"READY","reason":""}]`, ""},
		"no such path":                     {"GET", "/nope", "", 404, `{"detail":"Not Found"}`, ""},
		"nothing is cleaned: two slashes":  {"GET", "//v1/models", "", 404, `{"detail":"Not Found"}`, ""},
		"nothing is cleaned: dots":         {"GET", "/v1/./models", "", 404, `{"detail":"Not Found"}`, ""},
		"docs are off":                     {"GET", "/docs", "", 404, `{"detail":"Not Found"}`, ""},
		"a word that is no method":         {"BREW", "/", "", 400, `Invalid HTTP request received.`, ""},
		"a mistake of the caller is 400":   {"POST", "/v1/models/m:predict", `{"instances":[1,2]}`, 400, `{"error":"expected rows"}`, ""},
		"load without a root tells":        {"POST", "/v2/repository/models/m/load", "", 200, `{"name":"m","load":true}`, ""},
		"load of an unknown is not ready":  {"POST", "/v2/repository/models/n/load", "", 503, `{"error":"Model with name n is not ready."}`, ""},
		"unload of an unknown is not here": {"POST", "/v2/repository/models/n/unload", "", 404, `{"error":"Model with name n does not exist."}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			resp, body := do(t, c.method, url+c.path, c.body, "Content-Type", "application/json")
			require.Equal(t, c.status, resp.StatusCode, body)
			require.Equal(t, c.want, body)
			require.Equal(t, c.allow, resp.Header.Get("Allow"))
			if c.status != 400 || c.method != "BREW" {
				require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			}
		})
	}
}

func TestASlashAtTheEndIsRedirected(t *testing.T) {
	_, url := started(t, "sum", serve.Options{Docs: true})
	for path, want := range map[string]string{
		"/v1/models/": "/v1/models", "/v2/models/m/infer/?a=b": "/v2/models/m/infer?a=b", "/docs/": "/docs", "/metrics/": "/metrics",
	} {
		resp, body := do(t, http.MethodPost, url+path, "")
		require.Equal(t, http.StatusTemporaryRedirect, resp.StatusCode, path)
		require.Equal(t, url+want, resp.Header.Get("Location"))
		require.Empty(t, body)
	}
	resp, _ := do(t, http.MethodGet, url+"/v2/health/", "")
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestThePagesAboutTheAPI(t *testing.T) {
	_, url := started(t, "sum", serve.Options{Docs: true})
	_, page := do(t, http.MethodGet, url+"/docs", "")
	require.Contains(t, page, "<title>KServe ModelServer - Swagger UI</title>")
	_, text := do(t, http.MethodGet, url+"/openapi.json", "")
	for _, want := range []string{`"openapi":"3.1.0"`, `"/v2/models/{model_name}/infer":{"post":`, `"/v1/models/{model_name}:predict":{"post":`} {
		require.Contains(t, text, want)
	}
}

func TestMetricsNameTheModelFromTheStart(t *testing.T) {
	_, url := started(t, "sum", serve.Options{})
	do(t, http.MethodPost, url+"/v1/models/m:predict", v1Body)
	do(t, http.MethodPost, url+"/v1/models/m:predict", "{")
	resp, text := do(t, http.MethodGet, url+"/metrics", "")
	require.Equal(t, "text/plain; version=0.0.4; charset=utf-8", resp.Header.Get("Content-Type"))
	for _, want := range []string{
		"# HELP request_preprocess_seconds pre-process request latency", "# TYPE request_explain_seconds histogram",
		`request_predict_seconds_bucket{model_name="m",le="0.075"} 1`, `request_predict_seconds_count{model_name="m"} 1`,
		`request_postprocess_seconds_count{model_name="m"} 1`, `kserve_requests_total{code="200",protocol="v1"} 1`,
		`kserve_requests_total{code="400",protocol="v1"} 1`, `kserve_model_ready{model_name="m",version=""} 1`,
	} {
		require.Contains(t, text, want)
	}
}

func TestRowsWithTooFewColumnsAreCountedAndToldOnce(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	_, url := started(t, "sum", serve.Options{Log: zap.New(core)})
	for _, body := range []string{`{"instances":[[1],[2]]}`, `{"instances":[[1]]}`, v1Body} {
		resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", body)
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	_, text := do(t, http.MethodGet, url+"/metrics", "")
	require.Contains(t, text, `kserve_predictions_incomplete_total{model_name="m"} 2`)
	require.Len(t, logged.All(), 1)
	require.Equal(t, map[string]any{"model": "m", "missing": int64(1)}, logged.All()[0].ContextMap())
}

func TestAFaultOfTheServerIs500WithoutItsText(t *testing.T) {
	for _, word := range []string{"panic", "fail"} {
		t.Run(word, func(t *testing.T) {
			p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: tree(t, map[string]string{"a.sum": word}), ModelName: "m"})
			require.Eventually(t, p.Ready, waitFor, tick)
			client := grpcClient(t, p.GRPCAddr().String())
			for range 3 {
				resp, body := do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
				require.Equal(t, 500, resp.StatusCode)
				require.Equal(t, `{"error":"internal error"}`, body)
				_, err := client.ModelInfer(t.Context(), inferRequest("m"))
				require.ErrorContains(t, err, "Internal")
				require.NotContains(t, err.Error(), "secret")
				require.NotContains(t, err.Error(), "fault")
			}
			resp, _ := do(t, http.MethodGet, p.url+"/v1/models/m", "")
			require.Equal(t, 200, resp.StatusCode, "the process lives, with the model")
			_, text := do(t, http.MethodGet, p.url+"/metrics", "")
			require.Contains(t, text, `kserve_requests_total{code="500",protocol="v1"} 3`)
			require.Contains(t, text, `kserve_requests_total{code="13",protocol="grpc"} 3`)
			require.Contains(t, text, `kserve_predictions_running{model_name="m"} 0`, "a fault gives its place back")
		})
	}
}

func TestBodiesHaveALimit(t *testing.T) {
	_, url := started(t, "sum", serve.Options{MaxBody: 1000})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[[`+strings.Repeat("1,", 1000)+`1]]}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
	require.Equal(t, `{"error":"the body has 2019 bytes: this server accepts 1000"}`, body)
	resp, body = do(t, http.MethodPost, url+"/v2/models/m/infer", v2Body, "Content-Encoding", "br", "Content-Type", "application/json")
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode, body)
	require.Equal(t, "gzip", resp.Header.Get("Accept-Encoding"))
}

func TestRoomForBodiesIsGivenBack(t *testing.T) {
	_, url := started(t, "sum", serve.Options{MaxBody: 5 << 18, MaxBodies: 1})
	blanks := strings.Repeat(" ", 9<<17)
	for path, body := range map[string]string{"/v1/models/m:predict": v1Body, "/v1/models/m:explain": v1Body, "/v2/models/m/infer": v2Body} {
		for range 2 {
			resp, text := do(t, http.MethodPost, url+path, body+blanks, "Content-Type", "application/json")
			require.NotEqual(t, http.StatusTooManyRequests, resp.StatusCode, text)
			resp, text = do(t, http.MethodPost, url+path, body+blanks+"x", "Content-Type", "application/json")
			require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, resp.StatusCode, text)
		}
	}
}

func TestProbabilitiesAreAnswered(t *testing.T) {
	_, url := started(t, "sum", serve.Options{Proba: true})
	_, body := do(t, http.MethodPost, url+"/v1/models/m:predict", v1Body)
	require.Equal(t, `{"predictions":[-3.0,-7.0]}`, body)
}

func TestAGoValueIsAModel(t *testing.T) {
	s, url := mounted(t, serve.Options{})
	require.NoError(t, s.Add(t.Context(), serve.Model{Name: "mine", Model: &sum{word: "sum"}}))
	require.True(t, s.Ready())
	_, body := do(t, http.MethodPost, url+"/v1/models/mine:predict", v1Body)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, body)
	require.NoError(t, s.Remove("mine"))
	resp, _ := do(t, http.MethodPost, url+"/v1/models/mine:predict", v1Body)
	require.Equal(t, 404, resp.StatusCode)
}
