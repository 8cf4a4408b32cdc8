// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

func oneNumber() *inferencev2.ModelInferRequest {
	return &inferencev2.ModelInferRequest{ModelName: "m", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
		Name: "x", Datatype: "FP64", Shape: []int64{1}, Contents: &inferencev2.InferTensorContents{Fp64Contents: []float64{5}},
	}}}
}

// The predictor knows how long the caller waits still: the caller's deadline, less the time that the transformer took.
func TestThePredictorIsToldWhatIsLeftOfTheDeadline(t *testing.T) {
	left := make(chan float64, 1)
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(r.Header.Get("X-Request-Timeout"), 64)
		if err != nil {
			seconds = -1
		}
		left <- seconds
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer predictor.Close()
	slow := doubler{before: 200 * time.Millisecond}
	url, conn := onPorts(t, newTransformer(t, slow, newPredictor(t, client.Options{URL: predictor.URL})), serve.Options{})
	within := func(want float64) {
		t.Helper()
		got := <-left
		require.Greater(t, got, 0.0)
		require.LessOrEqual(t, got, want-slow.before.Seconds())
	}
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`, "X-Request-Timeout", "30")
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	within(30)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, oneNumber())
	require.NoError(t, err)
	within(20)
	resp, body = do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	require.Negative(t, <-left, "a caller without a deadline gives the predictor none")

	// Over gRPC, in its own way.
	_, calls := onPorts(t, newModel(t, deadlines{left}), serve.Options{})
	url, _ = onPorts(t, newTransformer(t, slow, newPredictor(t, client.Options{URL: calls.Target(), Protocol: client.GRPC})), serve.Options{})
	resp, body = do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`, "X-Request-Timeout", "30")
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	within(30)
	resp, body = do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`, "X-Request-Timeout", "0.1")
	require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode, body)
}

// deadlines tells how long its callers wait still.
type deadlines struct{ left chan float64 }

func (d deadlines) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	deadline, _ := ctx.Deadline()
	d.left <- time.Until(deadline).Seconds()
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

// A predictor that is busy tells when to come again, and the transformer's caller is told the same.
func TestWhenToComeAgainIsHandedOn(t *testing.T) {
	code := http.StatusTooManyRequests
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "42")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":"later"}`)
	}))
	defer predictor.Close()
	url, conn := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, client.Options{URL: predictor.URL})), serve.Options{})
	for _, code = range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
		require.Equal(t, code, resp.StatusCode)
		require.Equal(t, `{"error":"later"}`, body)
		require.Equal(t, "42", resp.Header.Get("Retry-After"))
		var trailer metadata.MD
		_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), oneNumber(), grpc.Trailer(&trailer))
		require.ErrorContains(t, err, "later")
		require.Equal(t, []string{"42"}, trailer.Get("retry-after"))
	}
}

func TestAHeaderThatThePredictorCannotBeSentIsTheCallersMistake(t *testing.T) {
	_, calls := onPorts(t, newModel(t, echoes{}), serve.Options{})
	url, _ := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, client.Options{URL: calls.Target(), Protocol: client.GRPC})), serve.Options{})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`, "X-Request-Id", "é")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Contains(t, body, "header x-request-id cannot be sent on")
}

func TestHeadersThatNeverGoOn(t *testing.T) {
	for _, name := range []string{"host", "Content-Length", "content-type", "connection", "te", "grpc-timeout", "inference-header-content-length", "", "a b"} {
		_, err := serve.NewTransformer(doubler{}, nil, name)
		require.Error(t, err, name)
	}
	_, err := serve.NewTransformer(doubler{}, nil, "cookie", " x-tenant")
	require.NoError(t, err)
}

// signed keeps what the predictor said besides its answer.
type signed struct{ doubler }

func (signed) Postprocess(ctx context.Context, answer *tensor.Response) (*tensor.Response, error) {
	serve.SetResponseHeader(ctx, "X-Signature", serve.PredictorHeader(ctx).Get("X-Signature"))
	return answer, nil
}

func TestTheHeaderOfThePredictorsAnswer(t *testing.T) {
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Signature", "s")
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer predictor.Close()
	url, _ := onPorts(t, newTransformer(t, signed{}, newPredictor(t, client.Options{URL: predictor.URL})), serve.Options{})
	resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
	require.Equal(t, "s", resp.Header.Get("X-Signature"))
	require.Empty(t, serve.PredictorHeader(t.Context()))
}

// occlusion explains by what the answer is without each input: it has the predictor answer twice.
type occlusion struct{}

func (occlusion) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	var with, without tensor.Response
	if err := serve.CallPredictor(ctx, in, &with); err != nil {
		return err
	}
	zeros := tensor.From("x", tensor.FP64, make([]float64, in.Inputs[0].Len()), in.Inputs[0].Shape...)
	if err := serve.CallPredictor(ctx, &tensor.Request{Inputs: []*tensor.Tensor{zeros}}, &without); err != nil {
		return err
	}
	effect := tensor.View[float64](out.Add("effect", tensor.FP64, in.Inputs[0].Shape...))
	for i := range effect {
		effect[i] = with.Outputs[0].Float64(i) - without.Outputs[0].Float64(i)
	}
	return nil
}

func TestAnExplainerAsksThePredictor(t *testing.T) {
	predictorURL, calls := onPorts(t, newModel(t, echoes{}), serve.Options{})
	for _, o := range []client.Options{
		{URL: predictorURL, Protocol: client.V1}, {URL: predictorURL, Protocol: client.V2}, {URL: calls.Target(), Protocol: client.GRPC},
	} {
		m, err := serve.NewExplainer(occlusion{}, newPredictor(t, o))
		require.NoError(t, err)
		url, _ := onPorts(t, m, serve.Options{})
		resp, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[1.5,2]}`)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
		require.Equal(t, `{"explanations":[1.5,2.0]}`, body)
		resp, body = do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[7.5]}`)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
		require.Equal(t, `{"predictions":[7.5]}`, body)
	}
	m, err := serve.NewExplainer(occlusion{}, nil)
	require.NoError(t, err)
	url, _ := onPorts(t, m, serve.Options{})
	for _, verb := range []string{"explain", "predict"} {
		resp, body := do(t, http.MethodPost, url+"/v1/models/m:"+verb, `{"instances":[1]}`)
		require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
		require.Equal(t, `{"error":"Could not find predictor_host."}`, body)
	}
	require.Equal(t, protocol.Unsupported, protocol.From(serve.CallPredictor(t.Context(), &tensor.Request{}, nil)).Code, "outside of a request")
	_, err = serve.NewExplainer(nil, nil)
	require.ErrorContains(t, err, "there is no model")
}

// explained is a transformer that explains too: in what it makes of a request, not in what came.
type explained struct{ doubler }

func (explained) Explain(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

func TestAnExplanationHasTheStepsOfATransformerAroundIt(t *testing.T) {
	url, _ := onPorts(t, newTransformer(t, explained{}, nil), serve.Options{})
	_, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[[1,2]]}`)
	require.Equal(t, `{"explanations":[[3.0,5.0]]}`, body)
	url, _ = onPorts(t, newTransformer(t, doubler{}, nil), serve.Options{})
	resp, body := do(t, http.MethodPost, url+"/v1/models/m:explain", `{"instances":[[1,2]]}`)
	require.Equal(t, http.StatusNotImplemented, resp.StatusCode)
	require.Equal(t, `{"error":"Could not find explainer_host."}`, body)
}

// moody is ready when it likes.
type moody struct {
	echoes

	ready *atomic.Bool
}

func (m moody) Ready() bool { return m.ready.Load() }

func (m moody) Explain(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

func TestAModelSaysItselfWhetherItIsReady(t *testing.T) {
	m := moody{ready: &atomic.Bool{}}
	url, conn := onPorts(t, newModel(t, m), serve.Options{})
	calls := inferencev2.NewGRPCInferenceServiceClient(conn)
	for _, ready := range []bool{false, true, false} {
		m.ready.Store(ready)
		want, code, state := http.StatusServiceUnavailable, codes.Unavailable, grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ready {
			want, code, state = http.StatusOK, codes.OK, grpc_health_v1.HealthCheckResponse_SERVING
		}
		for _, path := range []string{"/v1/models/m", "/v2/models/m/ready", "/v2/health/ready"} {
			resp, body := do(t, http.MethodGet, url+path, "")
			require.Equal(t, want, resp.StatusCode, "%s: %s", path, body)
		}
		for path, body := range map[string]string{
			"/v1/models/m:predict": `{"instances":[1]}`, "/v1/models/m:explain": `{"instances":[1]}`,
			"/v2/models/m/infer": `{"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}`,
		} {
			resp, got := do(t, http.MethodPost, url+path, body, "Content-Type", "application/json")
			require.Equal(t, want, resp.StatusCode, "%s: %s", path, got)
			if !ready {
				require.Equal(t, `{"error":"Model with name m is not ready."}`, got)
			}
		}
		resp, _ := do(t, http.MethodGet, url+"/v2/health/live", "")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		_, err := calls.ModelInfer(t.Context(), oneNumber())
		require.Equal(t, code, status.Code(err))
		one, err := calls.ModelReady(t.Context(), &inferencev2.ModelReadyRequest{Name: "m"})
		require.NoError(t, err)
		require.Equal(t, ready, one.GetReady())
		server, err := calls.ServerReady(t.Context(), &inferencev2.ServerReadyRequest{})
		require.NoError(t, err)
		require.Equal(t, ready, server.GetReady())
		health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		require.NoError(t, err)
		require.Equal(t, state, health.GetStatus())
	}
}

// faulty panics in the method that it is told.
type faulty struct{ in string }

func (f faulty) step(name string) {
	if f.in == name {
		panic("the password is secret")
	}
}

func (f faulty) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	f.step("Preprocess")
	return in, nil
}

func (f faulty) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	f.step("Predict")
	if f.in == "error" {
		return errors.New("the password is secret")
	}
	out.Outputs = append(out.Outputs, in.Inputs...)
	return nil
}

func (f faulty) Postprocess(_ context.Context, answer *tensor.Response) (*tensor.Response, error) {
	f.step("Postprocess")
	return answer, nil
}

func (f faulty) RowWise() bool { return true }

// faultyRaw panics with a V1 body.
type faultyRaw struct{ echoes }

func (faultyRaw) V1(context.Context, *engine.RawRequest) (*engine.RawAnswer, error) { panic("no") }

// A fault of somebody's code is a 500 that tells nothing, and the server lives on with all its places.
func TestAPanicOfAModelIs500(t *testing.T) {
	for _, limits := range []serve.Limits{{Running: 1, Queue: 8}, {Running: 1, Queue: 8, MaxBatchSize: 4}} {
		for _, in := range []string{"Preprocess", "Predict", "Postprocess", "error"} {
			url, conn := onPorts(t, newModel(t, faulty{in}), serve.Options{Limits: limits})
			for range 3 {
				for path, body := range map[string]string{
					"/v1/models/m:predict": `{"instances":[1]}`, "/v2/models/m/infer": `{"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}`,
				} {
					resp, got := do(t, http.MethodPost, url+path, body, "Content-Type", "application/json")
					require.Equal(t, http.StatusInternalServerError, resp.StatusCode, "%s: %s", in, got)
					require.Equal(t, `{"error":"internal error"}`, got)
				}
				_, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), oneNumber())
				require.Equal(t, codes.Internal, status.Code(err), in)
				require.NotContains(t, err.Error(), "secret")
			}
			resp, _ := do(t, http.MethodGet, url+"/v1/models/m", "")
			require.Equal(t, http.StatusOK, resp.StatusCode)
			_, text := do(t, http.MethodGet, url+"/metrics", "")
			require.Contains(t, text, `kserve_predictions_running{model_name="m"} 0`)
		}
	}
	url, _ := onPorts(t, newModel(t, faultyRaw{}), serve.Options{Limits: serve.Limits{Running: 1, Queue: 8}})
	for range 3 {
		resp, _ := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`)
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
	}
}

// Many callers at once get their own answers, through a transformer, over every pair of protocols.
func TestATransformerAnswersManyAtOnce(t *testing.T) {
	predictorURL, calls := onPorts(t, newModel(t, echoes{}), serve.Options{})
	for _, o := range []client.Options{
		{URL: predictorURL, Protocol: client.V1}, {URL: predictorURL, Protocol: client.V2, Binary: true}, {URL: calls.Target(), Protocol: client.GRPC},
	} {
		url, conn := onPorts(t, newTransformer(t, doubler{}, newPredictor(t, o)), serve.Options{})
		var all sync.WaitGroup
		for from, host := range map[client.Protocol]string{client.V1: url, client.V2: url, client.GRPC: conn.Target()} {
			c := newPredictor(t, client.Options{URL: host, Protocol: from})
			for worker := range 4 {
				all.Go(func() {
					for i := range 20 {
						n := float64(1000*worker + i)
						var out tensor.Response
						in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{n, n + 1}, 2)}}
						if err := c.Predict(t.Context(), in, &out); err != nil {
							t.Errorf("%s before %s: %v", from, o.Protocol, err)
							return
						}
						if got := []float64{out.Outputs[0].Float64(0), out.Outputs[0].Float64(1)}; got[0] != 2*n+1 || got[1] != 2*n+3 {
							t.Errorf("%s before %s: %v of %v", from, o.Protocol, got, n)
							return
						}
					}
				})
			}
		}
		all.Wait()
	}
}

// The flag takes what the client takes, a socket among it.
func TestThePredictorIsCalledThroughASocket(t *testing.T) {
	path := t.TempDir() + "/predictor"
	run := func(ctx context.Context, c serve.Command, args ...string) (code chan int) {
		code = make(chan int, 1)
		go func() { code <- c.Run(ctx, append(args, "--drain_delay=0s", "--http_port="+freeport.Text(t))) }()
		return code
	}
	log := logFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	predictor := run(ctx, serve.Command{Name: "predictor", Stderr: log, Models: func(context.Context, serve.Start) ([]serve.Model, error) {
		m, err := serve.NewModel(echoes{})
		return []serve.Model{{Name: "m", Model: m}}, err
	}}, "--http_socket="+path+".http", "--grpc_socket="+path+".grpc", "--grpc_port="+freeport.Text(t))
	for protocol, socket := range map[string]string{"v1": path + ".http", "v2": path + ".http", "grpc-v2": path + ".grpc"} {
		asked := run(t.Context(), serve.Command{Name: "transformer", Stderr: log, Models: func(ctx context.Context, s serve.Start) ([]serve.Model, error) {
			var err error
			for range 500 {
				var out tensor.Response
				in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1}, 1)}}
				if err = s.Predictor.Predict(ctx, in, &out); err == nil && out.Outputs[0].Float64(0) == 1 {
					return nil, errors.New("answered")
				}
				time.Sleep(10 * time.Millisecond)
			}
			return nil, err
		}}, "--enable_grpc=false", "--predictor_host=unix://"+socket, "--predictor_protocol="+protocol)
		require.Equal(t, 1, <-asked)
		require.Contains(t, logged(t, log), "answered", protocol)
		require.NoError(t, log.Truncate(0))
	}
	cancel()
	require.Zero(t, <-predictor)
	require.False(t, strings.Contains(logged(t, log), "panic"))
}

// What a client's Connection header names is for the connection to this server, and a whole header that a program hands on is cut alike.
func TestHeadersThatConnectionNamesStayHere(t *testing.T) {
	var came http.Header
	predictor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came = r.Header
		_, _ = io.WriteString(w, `{"predictions":[1]}`)
	}))
	defer predictor.Close()
	to := newPredictor(t, client.Options{URL: predictor.URL, Protocol: client.V1})
	url, _ := onPorts(t, newTransformer(t, doubler{}, to, "x-one", "x-two", "x-three"), serve.Options{})
	resp, text := do(t, http.MethodPost, url+"/v1/models/m:predict", `{"instances":[1]}`,
		"X-One", "1", "X-Two", "2", "X-Three", "3", "Authorization", "Bearer me", "Connection", "keep-alive, x-one,Authorization")
	require.Equal(t, 200, resp.StatusCode, text)
	require.Equal(t, []string{"2", "3"}, []string{came.Get("X-Two"), came.Get("X-Three")})
	require.Empty(t, came.Get("X-One")+came.Get("Authorization"))

	whole := http.Header{"X-One": {"1"}, "X-Two": {"2"}, "Keep-Alive": {"5"}, "Connection": {"X-Two"}}
	in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1}, 1)}}
	require.NoError(t, to.Predict(client.WithHeader(t.Context(), whole), in, &tensor.Response{}))
	require.Equal(t, "1", came.Get("X-One"))
	require.Empty(t, came.Get("X-Two")+came.Get("Keep-Alive"))
}
