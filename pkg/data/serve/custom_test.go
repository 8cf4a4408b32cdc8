// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// echoes answers its inputs, and every header that it was asked with.
type echoes struct{}

func (echoes) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	out.Outputs = append(out.Outputs, in.Inputs...)
	serve.SetResponseHeader(ctx, "X-Seen", serve.RequestHeader(ctx).Get("X-Request-Id"))
	serve.SetResponseHeader(ctx, "Content-Length", "1")
	return nil
}

// doubler doubles what comes and adds one to what goes.
type doubler struct{ before, after time.Duration }

func (d doubler) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	time.Sleep(d.before)
	values, _ := in.Inputs[0].AppendFloat64s(nil)
	for i := range values {
		values[i] *= 2
	}
	return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, values, in.Inputs[0].Shape...)}}, nil
}

func (d doubler) Postprocess(_ context.Context, answer *tensor.Response) (*tensor.Response, error) {
	time.Sleep(d.after)
	for _, t := range answer.Outputs {
		values, _ := t.AppendFloat64s(nil)
		for i := range values {
			values[i]++
		}
		*t = *tensor.From(t.Name, tensor.FP64, values, t.Shape...)
	}
	return answer, nil
}

// onPorts serves a model as m over REST and gRPC.
func onPorts(t *testing.T, m engine.Model, o serve.Options) (url string, conn *grpc.ClientConn) {
	t.Helper()
	s := serve.New(o)
	require.NoError(t, s.Add(t.Context(), serve.Model{Name: "m", Model: m}))
	web := httptest.NewServer(s.Handler())
	calls := s.GRPC()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); _ = calls.Serve(port) }()
	conn, err = grpc.NewClient(port.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		calls.Stop()
		<-done
		web.Close()
		s.Close()
	})
	return web.URL, conn
}

func newModel(t *testing.T, p serve.Predictor) engine.Model {
	t.Helper()
	m, err := serve.NewModel(p)
	require.NoError(t, err)
	return m
}

func newPredictor(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func newTransformer(t *testing.T, p serve.Preprocessor, to *client.Client, forward ...string) engine.Model {
	t.Helper()
	m, err := serve.NewTransformer(p, to, forward...)
	require.NoError(t, err)
	return m
}

func TestATypeWithOneMethodIsAModel(t *testing.T) {
	url, conn := onPorts(t, newModel(t, echoes{}), serve.Options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/models/m:predict", strings.NewReader(`{"instances":[[1,2],[3,4]]}`))
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "7")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, `{"predictions":[[1,2],[3,4]]}`, string(body))
	require.Equal(t, "7", resp.Header.Get("X-Seen"))
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))

	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "8")
	got, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &inferencev2.ModelInferRequest{
		ModelName: "m", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "x", Datatype: "INT64", Shape: []int64{2}, Contents: &inferencev2.InferTensorContents{Int64Contents: []int64{5, 6}},
		}},
	}, grpc.Header(&header))
	require.NoError(t, err)
	require.Equal(t, []int64{5, 6}, got.GetOutputs()[0].GetContents().GetInt64Contents())
	require.Equal(t, []string{"8"}, header.Get("x-seen"))

	require.Empty(t, serve.RequestHeader(t.Context()), "outside of a request")
	serve.SetResponseHeader(t.Context(), "x", "y")
}

// An answer that is made of the request stays whole while others are answered.
func TestAnAnswerMayBeMadeOfTheRequest(t *testing.T) {
	url, _ := onPorts(t, newModel(t, echoes{}), serve.Options{})
	for _, text := range []string{"[[1.5,2.5],[3.5,4.5]]", `["a","b"]`, "[[7]]", `["longer than before","c"]`} {
		for range 3 {
			_, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":`+text+`}`)
			require.Equal(t, `{"predictions":`+text+`}`, body)
		}
	}
}

// V1 in front, each protocol behind, with the steps of the transformer around it.
func TestATransformerCallsItsPredictor(t *testing.T) {
	predictorURL, conn := onPorts(t, newModel(t, echoes{}), serve.Options{})
	for _, o := range []client.Options{
		{URL: predictorURL, Protocol: client.V1},
		{URL: predictorURL, Protocol: client.V2},
		{URL: predictorURL, Protocol: client.V2, Binary: true},
		{URL: conn.Target(), Protocol: client.GRPC},
	} {
		url, _ := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, o)), serve.Options{})
		resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[[1,2],[3,4]]}`)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
		require.Equal(t, `{"predictions":[[3.0,5.0],[7.0,9.0]]}`, body)
	}
}

// X-01, and the headers of traces.
func TestOnlyHeadersOfTheRulesReachThePredictor(t *testing.T) {
	var asked http.Header
	var host string
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, host = r.Header, r.Host
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer predictor.Close()
	url, conn := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, client.Options{URL: predictor.URL}), "x-tenant"), serve.Options{})
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	sent := map[string]string{
		"Authorization": "Bearer x", "X-Request-Id": "7", "X-B3-Traceid": "b3", "Traceparent": trace, "X-Tenant": "t", "X-Custom": "no", "Cookie": "no=1",
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/models/m:predict", strings.NewReader(`{"instances":[1]}`))
	require.NoError(t, err)
	for name, value := range sent {
		req.Header.Set(name, value)
	}
	req.Host = "model.example"
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, strings.TrimPrefix(predictor.URL, "http://"), host)
	require.Equal(t, "application/json", asked.Get("Content-Type"))
	for name, value := range sent {
		if value == "no" || value == "no=1" {
			require.Empty(t, asked.Get(name), name)
		} else {
			require.Equal(t, value, asked.Get(name), name)
		}
	}

	// The metadata of a call are headers too.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer y", "x-custom", "no")
	_, err = inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &inferencev2.ModelInferRequest{
		ModelName: "m", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "x", Datatype: "FP64", Shape: []int64{1}, Contents: &inferencev2.InferTensorContents{Fp64Contents: []float64{5}},
		}},
	})
	require.NoError(t, err)
	require.Equal(t, "Bearer y", asked.Get("Authorization"))
	require.Empty(t, asked.Get("X-Custom"))
}

func TestThePredictorsStatusIsTheTransformers(t *testing.T) {
	status, body := 0, ""
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	url, _ := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, client.Options{URL: predictor.URL})), serve.Options{})
	for _, c := range []struct {
		status     int
		body, want string
		answer     int
	}{
		{400, `{"error":"expected 4 columns"}`, `{"error":"expected 4 columns"}`, 400},
		{404, `{"error":"Model with name m does not exist."}`, `{"error":"Model with name m does not exist."}`, 404},
		{503, `{"error":"Model with name m is not ready."}`, `{"error":"Model with name m is not ready."}`, 503},
		{403, "RBAC: access denied", `{"error":"RBAC: access denied"}`, 403},
		{500, `{"error":"boom"}`, `{"error":"boom"}`, 500},
		{200, `nonsense`, `cannot be used`, 502},
	} {
		status, body = c.status, c.body
		resp, got := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
		require.Equal(t, c.answer, resp.StatusCode)
		require.Contains(t, got, c.want)
	}
	predictor.Close()
	resp, got := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Contains(t, got, "cannot be reached")
}

func TestATransformerWithoutPredictor(t *testing.T) {
	url, _ := onPorts(t, newTransformer(t, doubler{}, nil), serve.Options{})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
	require.Equal(t, `{"error":"Could not find predictor_host."}`, body)
}

// seen from outside.
func TestReadyOnlyWithThePredictor(t *testing.T) {
	server, model := http.StatusOK, http.StatusOK
	serverBody := `{"ready":true}`
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v2/models/") {
			w.WriteHeader(model)
			return
		}
		w.WriteHeader(server)
		_, _ = io.WriteString(w, serverBody)
	}))
	to := newPredictor(t, client.Options{URL: predictor.URL, Protocol: client.V2})
	url, conn := onPorts(t, newTransformer(t, doubler{}, to), serve.Options{Dependency: to})
	calls := inferencev2.NewGRPCInferenceServiceClient(conn)
	check := func(wantServer, wantModel int) {
		t.Helper()
		resp, _ := do(t, http.MethodGet, url+"/v2/health/ready", "")
		require.Equal(t, wantServer, resp.StatusCode)
		ready, err := calls.ServerReady(t.Context(), &inferencev2.ServerReadyRequest{})
		require.NoError(t, err)
		require.Equal(t, wantServer == http.StatusOK, ready.GetReady())
		for _, path := range []string{"/v1/models/m", "/v2/models/m/ready"} {
			resp, _ = do(t, http.MethodGet, url+path, "")
			require.Equal(t, wantModel, resp.StatusCode, path)
		}
		one, err := calls.ModelReady(t.Context(), &inferencev2.ModelReadyRequest{Name: "m"})
		require.NoError(t, err)
		require.Equal(t, wantModel == http.StatusOK, one.GetReady())
		resp, _ = do(t, http.MethodGet, url+"/v2/health/live", "")
		require.Equal(t, http.StatusOK, resp.StatusCode, "a server lives without its predictor")
	}
	check(200, 200)
	serverBody = `{"ready":false}`
	check(503, 200)
	server, model = 500, 400
	check(503, 503)
	server, model, serverBody = 503, 503, `{"error":"Server is not ready."}`
	check(503, 503)
	predictor.Close()
	check(503, 503)
}

func TestTheStepsOfATransformerAreTimed(t *testing.T) {
	registry := prometheus.NewRegistry()
	predictorURL, _ := onPorts(t, newModel(t, echoes{}), serve.Options{})
	slow := doubler{before: 20 * time.Millisecond, after: 30 * time.Millisecond}
	url, _ := onPorts(t, newTransformer(t, slow, newPredictor(t, client.Options{URL: predictorURL})), serve.Options{Registry: registry})
	do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	families, err := registry.Gather()
	require.NoError(t, err)
	seconds := map[string]float64{}
	for _, f := range families {
		if h := f.GetMetric()[0].GetHistogram(); h != nil {
			seconds[f.GetName()] = h.GetSampleSum()
		}
	}
	require.GreaterOrEqual(t, seconds["request_preprocess_seconds"], slow.before.Seconds())
	require.GreaterOrEqual(t, seconds["request_postprocess_seconds"], slow.after.Seconds())
	require.Positive(t, seconds["request_predict_seconds"])
}

type wrongExplain struct{ echoes }

func (wrongExplain) Explain(context.Context, *tensor.Request) error { return nil }

type wrongPostprocess struct{ doubler }

func (wrongPostprocess) Postprocess(context.Context, *tensor.Response) error { return nil }

func TestAMethodThatWouldBePassedOverIsAnError(t *testing.T) {
	_, err := serve.NewModel(wrongExplain{})
	require.EqualError(t, err, "serve_test.wrongExplain has a method Explain that is func(context.Context, *tensor.Request) error; "+
		"expected func(context.Context, *tensor.Request, *tensor.Response) error")
	_, err = serve.NewTransformer(wrongPostprocess{}, nil)
	require.ErrorContains(t, err, "a method Postprocess that is")
	_, err = serve.NewModel(nil)
	require.ErrorContains(t, err, "there is no model")
}

// whole has every method that is called where it is there.
type whole struct {
	dir    string
	closed bool
}

func (w *whole) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

func (w *whole) Load(_ context.Context, dir string) error {
	w.dir = dir
	_, err := os.Stat(dir)
	return err
}

func (w *whole) Metadata() engine.Metadata { return engine.Metadata{Platform: "mine"} }

func (w *whole) Explain(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

func (w *whole) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	return in, nil
}

func (w *whole) Close() error {
	w.closed = true
	return nil
}

func TestMoreMethodsAreCalledWhereTheyAreThere(t *testing.T) {
	w := &whole{}
	m := newModel(t, w)
	require.Equal(t, "mine", m.Metadata().Platform)
	require.NoError(t, m.Close())
	require.True(t, w.closed)
	require.Equal(t, "go", newModel(t, echoes{}).Metadata().Platform)
}

func logFile(t *testing.T) *os.File {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	return log
}

func logged(t *testing.T, log *os.File) string {
	t.Helper()
	text, err := os.ReadFile(log.Name())
	require.NoError(t, err)
	return string(text)
}

// A program of one's own has the flags of a model server.
func TestACommandServesModelsOfItsOwn(t *testing.T) {
	predictorURL, _ := onPorts(t, newModel(t, echoes{}), serve.Options{})
	var start serve.Start
	c := serve.Command{Name: "mine", Models: func(_ context.Context, s serve.Start) ([]serve.Model, error) {
		start = s
		m, err := serve.NewTransformer(doubler{}, s.Predictor, s.Forward...)
		return []serve.Model{{Name: s.ModelName, Model: m}}, err
	}}
	c.Stderr = logFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	port, code := freeport.Text(t), make(chan int, 1)
	go func() {
		code <- c.Run(ctx, []string{
			"--model_name=mine", "--http_port=" + port, "--enable_grpc=false", "--drain_delay=0s", "--model_dir=/somewhere",
			"--predictor_host=" + strings.TrimPrefix(predictorURL, "http://"), "--predictor_protocol=v2", "--predictor_request_timeout_seconds=5",
			"--predictor_request_retries=2", "--enable_predictor_health_check", "--predictor_forward_headers=x-a,x-b", "--predictor_use_ssl=no",
		})
	}()
	url := "http://127.0.0.1:" + port
	require.Eventually(t, func() bool {
		resp, err := http.Get(url + "/v2/health/ready")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}, 10*time.Second, 5*time.Millisecond)
	// The predictor has no model of this name: its words come back.
	resp, body := do(t, http.MethodPost, url+"/v1/models/mine:predict", `{"instances":[1]}`)
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
	require.Equal(t, `{"error":"Model with name mine does not exist."}`, body)
	require.Equal(t, "/somewhere", start.ModelDir)
	require.Equal(t, []string{"x-a", "x-b"}, start.Forward)
	cancel()
	require.Zero(t, <-code)
}

func TestACommandEndsWhenItsModelsCannotBeMade(t *testing.T) {
	log := logFile(t)
	c := serve.Command{Name: "mine", Stderr: log, Models: func(context.Context, serve.Start) ([]serve.Model, error) {
		return nil, errors.New("there is no such table")
	}}
	require.Equal(t, 1, c.Run(t.Context(), []string{"--http_port=" + freeport.Text(t), "--enable_grpc=false", "--drain_delay=0s"}))
	require.Contains(t, logged(t, log), "there is no such table")

	for args, want := range map[string]string{
		"--predictor_protocol=v9":              "argument --predictor_protocol: invalid choice",
		"--predictor_request_retries=-1":       "argument --predictor_request_retries: -1",
		"--predictor_request_timeout_seconds=": "predictor_request_timeout_seconds",
		"--enable_predictor_health_check":      "--enable_predictor_health_check needs --predictor_host",
		"--predictor_forward_headers=a,host":   "argument --predictor_forward_headers: Host is never forwarded",

		"--predictor_use_ssl=true --predictor_host=unix:///s": "argument --predictor_host: unix:// is not encrypted",
	} {
		require.NoError(t, log.Truncate(0))
		require.Equal(t, 2, c.Run(t.Context(), strings.Fields(args)), args)
		require.Contains(t, logged(t, log), want)
	}
}

//
func TestThePredictorIsCalledOverTLS(t *testing.T) {
	predictor := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer predictor.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: predictor.Certificate().Raw}), 0o600))
	for variable, value := range map[string]string{"REQUESTS_CA_BUNDLE": file, "CURL_CA_BUNDLE": file, "": ""} {
		c := serve.Command{Name: "mine", Stderr: logFile(t), Getenv: func(name string) string {
			if name == variable {
				return value
			}
			return ""
		}, Models: func(ctx context.Context, s serve.Start) ([]serve.Model, error) {
			err := s.Predictor.Predict(ctx, &tensor.Request{Model: "m"}, &tensor.Response{})
			require.Equal(t, variable == "", err != nil, "%s: %v", variable, err)
			return nil, errors.New("seen")
		}}
		code := c.Run(t.Context(), []string{
			"--http_port=" + freeport.Text(t), "--enable_grpc=false", "--drain_delay=0s", "--predictor_use_ssl=true",
			"--predictor_host=" + strings.TrimPrefix(predictor.URL, "https://"),
		})
		require.Equal(t, 1, code)
	}
}
