// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// counted adds up rows, row by row, and counts its predictions. Rows that begin with a negative number are refused.
type counted struct {
	*sum
	predictions atomic.Int64
	rows        atomic.Int64
}

func (m *counted) RowWise() bool { return true }

func (m *counted) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	m.predictions.Add(1)
	m.rows.Add(int64(in.Inputs[0].Rows()))
	for i := range in.Inputs[0].Rows() {
		if v := in.Inputs[0].Float64(i * int(in.Inputs[0].Shape[1])); v < 0 {
			return protocol.Errorf(protocol.Invalid, "row %d begins with %v", i, v)
		}
	}
	return m.sum.Predict(ctx, in, out)
}

// asked is the body of an answer, or why there is none.
func asked(url, body string) string {
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestADeadlineThatPassedIsNotComputed(t *testing.T) {
	m := &counted{sum: &sum{word: "sum"}}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}})
	require.Eventually(t, p.Ready, waitFor, tick)
	for header, value := range map[string]string{"X-Request-Timeout": "0.000000001", "Grpc-Timeout": "1n", "x-request-timeout": "1ns"} {
		for path, body := range map[string]string{"/v1/models/m:predict": v1Body, "/v2/models/m/infer": v2Body} {
			resp, text := do(t, http.MethodPost, p.url+path, body, header, value, "Content-Type", "application/json")
			require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode, text)
			require.Equal(t, `{"error":"the deadline passed before the prediction began"}`, text)
		}
	}
	require.Zero(t, m.predictions.Load())
	resp, text := do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body, "X-Request-Timeout", "30", "Grpc-Timeout", "1n")
	require.Equal(t, 200, resp.StatusCode, text)
	resp, text = do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body, "X-Envoy-Expected-Rq-Timeout-Ms", "0")
	require.Equal(t, 200, resp.StatusCode, text)
	for header, want := range map[string]string{
		"X-Request-Timeout": "a number of seconds such as 0.5, or with a unit such as 500ms", "Grpc-Timeout": "up to eight digits and one of H, M, S, m, u, n",
		"X-Envoy-Expected-Rq-Timeout-Ms": "a number of milliseconds",
	} {
		resp, text = do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body, header, "soon")
		require.Equal(t, 400, resp.StatusCode)
		require.Equal(t, fmt.Sprintf(`{"error":"header %s: expected %s, got \"soon\""}`, header, want), text)
	}
}

// A deadline ends the wait in the queue, and the place is free for others.
func TestADeadlineEndsTheWait(t *testing.T) {
	m := &sum{word: "sum", entered: make(chan struct{}), leave: make(chan struct{})}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, Limits: serve.Limits{Running: 1, Queue: 4}})
	require.Eventually(t, p.Ready, waitFor, tick)
	first := make(chan struct{})
	go func() {
		defer close(first)
		resp, err := http.Post(p.url+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("the first: %v %v", resp, err)
			return
		}
		resp.Body.Close()
	}()
	<-m.entered
	client := grpcClient(t, p.GRPCAddr().String())
	for range 3 { // more than wait at once
		resp, text := do(t, http.MethodPost, p.url+"/v2/models/m/infer", v2Body, "X-Request-Timeout", "20ms", "Content-Type", "application/json")
		require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
		require.Contains(t, text, `{"error":"the deadline passed `)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := client.ModelInfer(ctx, inferRequest("m"))
		cancel()
		require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	}
	require.Eventually(t, func() bool {
		_, text := do(t, http.MethodGet, p.url+"/metrics", "")
		return strings.Contains(text, `kserve_predictions_queued{model_name="m"} 0`)
	}, waitFor, tick)
	m.leave <- struct{}{}
	<-first
}

func TestARefusedCallIsToldWhenToComeAgain(t *testing.T) {
	m := &sum{word: "sum", entered: make(chan struct{}), leave: make(chan struct{})}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, Limits: serve.Limits{Running: 1, Queue: 1, QueueTimeout: time.Millisecond}})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	first := make(chan error)
	go func() {
		_, err := client.ModelInfer(context.Background(), inferRequest("m"))
		first <- err
	}()
	<-m.entered
	_, err := client.ModelInfer(t.Context(), inferRequest("m"))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	details := status.Convert(err).Details()
	require.Len(t, details, 1)
	require.Equal(t, time.Second, details[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	m.leave <- struct{}{}
	require.NoError(t, <-first)
}

// Requests of V1, V2 and gRPC that wait for one busy model are one prediction; a bad one among them fails alone.
func TestRequestsOfEveryWireAreJoined(t *testing.T) {
	s := &sum{word: "sum", entered: make(chan struct{}, 100), leave: make(chan struct{})}
	m := &counted{sum: s}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, Threads: 64, Limits: serve.Limits{MaxBatchSize: 64}})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	var answers sync.WaitGroup
	const each = 4
	v1 := func(body, want string) {
		answers.Go(func() {
			if text := asked(p.url+"/v1/models/m:predict", body); text != want {
				t.Errorf("V1: %s", text)
			}
		})
	}
	v1(`{"instances":[[0.5,0.5]]}`, `{"predictions":[1.0]}`)
	<-s.entered
	for i := range each {
		// Fractions, so that V1 has floats as the others. The model is a Go value: arrays are joined where they have one name.
		v1(fmt.Sprintf(`{"inputs":[[%d.5,1]]}`, i), fmt.Sprintf(`{"predictions":[%d.5]}`, i+1))
		answers.Go(func() {
			text := asked(p.url+"/v2/models/m/infer", fmt.Sprintf(`{"id":"%d","inputs":[{"name":"inputs","shape":[2,2],"datatype":"FP64","data":[%[1]d,1,%[1]d,2]}]}`, i))
			if !strings.Contains(text, fmt.Sprintf(`"id":"%d"`, i)) || !strings.Contains(text, fmt.Sprintf(`"data":[%d.0,%d.0]`, i+1, i+2)) {
				t.Errorf("V2: %s", text)
			}
		})
		answers.Go(func() {
			raw := binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(i)))
			in := &inferencev2.ModelInferRequest{
				ModelName: "m", RawInputContents: [][]byte{append(raw, raw...)},
				Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "inputs", Datatype: "FP64", Shape: []int64{1, 2}}},
			}
			out, err := client.ModelInfer(context.Background(), in)
			if err != nil || math.Float64frombits(binary.LittleEndian.Uint64(out.GetRawOutputContents()[0])) != float64(2*i) {
				t.Errorf("gRPC: %v %v", out, err)
			}
		})
	}
	waiting := func(n int) {
		require.Eventually(t, func() bool {
			_, text := do(t, http.MethodGet, p.url+"/metrics", "")
			return strings.Contains(text, fmt.Sprintf(`kserve_predictions_queued{model_name="m"} %d`, n)) && strings.Contains(text, `kserve_predictions_running{model_name="m"} 1`)
		}, waitFor, tick)
	}
	waiting(3 * each)
	s.leave <- struct{}{}
	<-s.entered
	require.Equal(t, int64(2), m.predictions.Load())
	require.Equal(t, int64(1+4*each), m.rows.Load())

	v1(`{"inputs":[[7.5,1]]}`, `{"predictions":[8.5]}`)
	v1(`{"inputs":[[-7.5,1]]}`, `{"error":"row 0 begins with -7.5"}`)
	waiting(2)
	close(s.leave)
	answers.Wait()
	_, text := do(t, http.MethodGet, p.url+"/metrics", "")
	for _, want := range []string{
		`kserve_batch_requests_bucket{model_name="m",le="1"} 1`, `kserve_batch_requests_sum{model_name="m"} 15`, `kserve_batch_requests_count{model_name="m"} 3`,
		`kserve_batch_rows_sum{model_name="m"} 19`, `kserve_prediction_queue_seconds_count{model_name="m"} 15`,
	} {
		require.Contains(t, text, want)
	}
}

// A model is unloaded while requests wait to be joined: they are answered, and it is closed after the last.
func TestUnloadingAModelLosesNoRequestThatWaits(t *testing.T) {
	s := &sum{word: "sum", entered: make(chan struct{}, 100), leave: make(chan struct{})}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &counted{sum: s}}}, Threads: 64, Limits: serve.Limits{MaxBatchSize: 64}})
	require.Eventually(t, p.Ready, waitFor, tick)
	var answers sync.WaitGroup
	ask := func() {
		answers.Go(func() {
			if text := asked(p.url+"/v1/models/m:predict", v1Body); text != `{"predictions":[3.0,7.0]}` {
				t.Errorf("answered %s", text)
			}
		})
	}
	ask()
	<-s.entered
	for range 5 {
		ask()
	}
	require.Eventually(t, func() bool {
		_, text := do(t, http.MethodGet, p.url+"/metrics", "")
		return strings.Contains(text, `kserve_predictions_queued{model_name="m"} 5`)
	}, waitFor, tick)
	resp, _ := do(t, http.MethodPost, p.url+"/v2/repository/models/m/unload", "")
	require.Equal(t, 200, resp.StatusCode)
	resp, _ = do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
	require.Equal(t, 404, resp.StatusCode)
	require.False(t, s.closed.Load())
	close(s.leave)
	answers.Wait()
	require.Eventually(t, s.closed.Load, waitFor, tick)
}

// What engines answer does not depend on what is joined: the same requests, with batches and without.
func TestBatchesChangeNoAnswer(t *testing.T) {
	ask := func(url string, i int) (answer [2]string) {
		answer[0] = asked(url+"/v1/models/m:predict", fmt.Sprintf(`{"instances":[[%d,0.1],[0.25,%d]]}`, i, i))
		answer[1] = asked(url+"/v2/models/m/infer", fmt.Sprintf(`{"id":"%d","inputs":[{"name":"x","shape":[1,2],"datatype":"FP64","data":[%d.125,0.3]}]}`, i, i))
		return answer
	}
	answers := func(o serve.Options) (all [][2]string) {
		_, url := started(t, "sum", o)
		all = make([][2]string, 200)
		var callers sync.WaitGroup
		for c := range 16 {
			callers.Go(func() {
				for i := c; i < len(all); i += 16 {
					all[i] = ask(url, i)
				}
			})
		}
		callers.Wait()
		return all
	}
	plain := answers(serve.Options{})
	require.Equal(t, plain, answers(serve.Options{Limits: serve.Limits{MaxBatchSize: 8}, Threads: 64}))
	require.Equal(t, plain, answers(serve.Options{Limits: serve.Limits{MaxBatchSize: 32, MaxBatchDelay: time.Millisecond}}))
}

// What joining gains and costs: many clients with one row each, of a model that is quick and of one that is not.
func BenchmarkManyClients(b *testing.B) {
	for model, e := range map[string]engine.Engine{"xgboost-big": xgboost.New(), "sklearn-random-forest-c-big": sklearn.New()} {
		dir := "../../../test/data/models/" + model + "/model"
		files, err := filepath.Glob(dir + "/*")
		if err != nil || len(files) != 1 {
			b.Fatal(files, err)
		}
		m, err := e.Open(b.Context(), files[0], engine.Options{})
		if err != nil {
			b.Fatal(err)
		}
		body := `{"instances":[[0.5` + strings.Repeat(",0.5", int(m.Metadata().Inputs[0].Shape[1])-1) + `]]}`
		for name, limits := range map[string]serve.Limits{"alone": {}, "joined": {MaxBatchSize: 32}} {
			b.Run(model+" "+name, func(b *testing.B) {
				s := serve.New(serve.Options{Engines: []engine.Engine{e}, ModelDir: dir, ModelName: "m", Limits: limits})
				if err := s.Start(b.Context()); err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				h := s.Handler()
				b.SetParallelism(16)
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					text := strings.NewReader(body)
					r := httptest.NewRequest(http.MethodPost, "/v1/models/m:predict", text)
					closer := io.NopCloser(text)
					w := &sink{header: http.Header{}}
					for pb.Next() {
						text.Reset(body)
						r.Body = closer
						h.ServeHTTP(w, r)
					}
					if w.status != 0 {
						b.Error(w.status)
					}
				})
			})
		}
	}
}

func BenchmarkPredictWithDeadline(b *testing.B) {
	benchmarkHandler(b, "/v1/models/iris:predict", `{"instances":[[5.1,3.5,1.4,0.2]]}`, "X-Request-Timeout", "1.5")
}

var _ engine.RowWise = (*counted)(nil)
