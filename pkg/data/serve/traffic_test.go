// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

const (
	waitFor = 10 * time.Second
	tick    = time.Millisecond
)

func TestOnePathForEveryWire(t *testing.T) {
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: tree(t, map[string]string{"m.sum": "sum"}), ModelName: "m"})
	require.Eventually(t, p.Ready, waitFor, tick)
	_, body := do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, body)
	client := grpcClient(t, p.GRPCAddr().String())
	out, err := client.ModelInfer(t.Context(), inferRequest("m"))
	require.NoError(t, err)
	require.Equal(t, []float64{3, 7}, out.GetOutputs()[0].GetContents().GetFp64Contents())
	require.Equal(t, "x", out.GetId())
	_, err = client.ModelInfer(t.Context(), inferRequest("n"))
	require.Equal(t, codes.NotFound, status.Code(err))
	require.ErrorContains(t, err, "Model with name n does not exist.")

	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	require.ErrorContains(t, conn.Invoke(t.Context(), "/inference.GRPCInferenceService/Nope", inferRequest("m"), out), "Method not found!")
	health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, health.GetStatus())
}

func TestMetadataOfACallHasALimit(t *testing.T) {
	p := run(t, serve.Options{})
	client := grpcClient(t, p.GRPCAddr().String())
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("a", 1<<20))
	_, err := client.ServerLive(ctx, &inferencev2.ServerLiveRequest{})
	require.Error(t, err)
	_, err = client.ServerLive(t.Context(), &inferencev2.ServerLiveRequest{})
	require.NoError(t, err)
}

func TestAFullQueueIs429WithRetryAfter(t *testing.T) {
	m := &sum{word: "sum", entered: make(chan struct{}), leave: make(chan struct{})}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, Limits: serve.Limits{Running: 1, Queue: 1}})
	require.Eventually(t, p.Ready, waitFor, tick)
	var answers sync.WaitGroup
	ask := func() {
		answers.Go(func() {
			resp, err := http.Post(p.url+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("an admitted request: %v %v", resp, err)
				return
			}
			resp.Body.Close()
		})
	}
	ask()
	<-m.entered
	ask()
	require.Eventually(t, func() bool {
		_, text := do(t, http.MethodGet, p.url+"/metrics", "")
		return strings.Contains(text, `kserve_predictions_queued{model_name="m"} 1`)
	}, waitFor, tick)

	resp, body := do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, `{"error":"the model is busy: 1 requests run and 1 wait; retry later"}`, body)
	require.Equal(t, "1", resp.Header.Get("Retry-After"))
	var trailer metadata.MD
	_, err := grpcClient(t, p.GRPCAddr().String()).ModelInfer(t.Context(), inferRequest("m"), grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, []string{"1"}, trailer.Get("retry-after"))

	m.leave <- struct{}{}
	<-m.entered
	m.leave <- struct{}{}
	answers.Wait()
}

// Models are replaced, and their directory loaded again, as fast as can be while clients ask on every wire: each gets an answer, no model
// is used after it was closed, and each is closed once.
func TestReplacingAModelLosesNoRequest(t *testing.T) {
	e := &sums{}
	p := run(t, serve.Options{Engines: []engine.Engine{e}, ModelDir: tree(t, map[string]string{"m/model.sum": "sum", "other/model.sum": "sum"})})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	var stop atomic.Bool
	var clients sync.WaitGroup
	var answered atomic.Int64
	for range 4 {
		clients.Go(func() {
			for !stop.Load() {
				resp, err := http.Post(p.url+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
				if err != nil {
					t.Errorf("V1: %v", err)
					return
				}
				text, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if string(text) != `{"predictions":[3.0,7.0]}` {
					t.Errorf("V1: %s", text)
					return
				}
				answered.Add(1)
			}
		})
		clients.Go(func() {
			for !stop.Load() {
				if _, err := client.ModelInfer(context.Background(), inferRequest("m")); err != nil {
					t.Errorf("gRPC: %v", err)
					return
				}
				answered.Add(1)
			}
		})
	}
	for i := 0; i < 200 || answered.Load() < 500; i++ {
		resp, body := do(t, http.MethodPost, p.url+"/v2/repository/models/m/load", "")
		require.Equal(t, 200, resp.StatusCode, body)
		// Another model comes and goes beside it: its clients are told so.
		resp, _ = do(t, http.MethodPost, p.url+"/v2/repository/models/other/unload", "")
		require.Equal(t, 200, resp.StatusCode)
		resp, _ = do(t, http.MethodPost, p.url+"/v1/models/other:predict", v1Body)
		require.Equal(t, 404, resp.StatusCode)
		resp, _ = do(t, http.MethodPost, p.url+"/v2/repository/models/other/load", "")
		require.Equal(t, 200, resp.StatusCode)
	}
	stop.Store(true)
	clients.Wait()
	p.stop()
	require.NoError(t, <-p.done)
	require.Equal(t, e.opened.Load(), e.closed.Load(), "every model that was opened has been closed")
}

func TestADrainAnswersWhatItAccepted(t *testing.T) {
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	m := &sum{word: "sum", entered: make(chan struct{}, 100), leave: make(chan struct{})}
	opts := serve.Options{Models: []serve.Model{{Name: "m", Model: m}}}
	opts.Server.DrainDelay = 200 * time.Millisecond
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)
	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	health := grpc_health_v1.NewHealthClient(conn)
	var answers sync.WaitGroup
	const requests = 10
	for range requests {
		answers.Go(func() {
			resp, err := http.Post(p.url+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("an accepted request: %v %v", resp, err)
				return
			}
			resp.Body.Close()
		})
		answers.Go(func() {
			err := conn.Invoke(context.Background(), "/inference.GRPCInferenceService/ModelInfer", inferRequest("m"), inferRequest("m"))
			if err != nil {
				t.Errorf("an accepted call: %v", err)
			}
		})
	}
	for range 2 * requests {
		<-m.entered
	}
	p.stop()
	require.Eventually(t, func() bool { return !p.Ready() }, waitFor, tick)
	resp, body := do(t, http.MethodGet, p.url+"/v2/health/ready", "")
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, `{"error":"Server is not ready."}`, body)
	state, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, state.GetStatus())
	select {
	case err := <-p.done:
		t.Fatalf("Run returned %v while requests run", err)
	default:
	}
	close(m.leave)
	answers.Wait()
	require.NoError(t, <-p.done)
	require.True(t, m.closed.Load())
	require.NoError(t, conn.Close())
	http.DefaultClient.CloseIdleConnections()
	require.Eventually(t, func() bool { runtime.GC(); return runtime.NumGoroutine() <= before+1 }, waitFor, 10*time.Millisecond, "goroutines are left")
}

// stuck is an engine whose models take for ever, as on a volume that hangs.
type stuck struct {
	sums
	begun, leave chan struct{}
}

func (e *stuck) Open(ctx context.Context, file string, o engine.Options) (engine.Model, error) {
	e.begun <- struct{}{}
	<-e.leave
	return e.sums.Open(ctx, file, o)
}

// A model that is being loaded holds the end up neither at the start nor later; when it comes after all it is closed.
func TestALoadThatHangsDoesNotHoldTheEndUp(t *testing.T) {
	dir := tree(t, map[string]string{"m/m.sum": "sum"})
	list := filepath.Join(t.TempDir(), "models.json")
	require.NoError(t, os.WriteFile(list, []byte("["+entry("m", dir+"/m", "")+"]"), 0o600))
	for name, opts := range map[string]serve.Options{"a directory": {ModelDir: dir}, "a list": {ModelConfig: list}} {
		t.Run(name, func(t *testing.T) {
			e := &stuck{begun: make(chan struct{}, 1), leave: make(chan struct{})}
			opts.Engines = []engine.Engine{e}
			p := run(t, opts)
			<-e.begun
			resp, body := do(t, http.MethodPost, p.url+"/v1/models/m:predict", v1Body)
			require.Equal(t, 503, resp.StatusCode)
			require.Equal(t, `{"error":"Model with name m is not ready."}`, body)
			p.stop()
			require.NoError(t, <-p.done)
			close(e.leave)
			require.Eventually(t, func() bool { return e.opened.Load() == 1 && e.closed.Load() == 1 }, waitFor, tick)
			require.NotEqual(t, repository.Ready, index(p.Server)["m"].State)
		})
	}
}

// A client that watches the health would hold up the drain: its stream ends with it.
func TestAWatcherOfTheHealthDoesNotHoldTheDrainUp(t *testing.T) {
	p := run(t, serve.Options{})
	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	watch, err := grpc_health_v1.NewHealthClient(conn).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	state, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, state.GetStatus())
	p.stop()
	require.NoError(t, <-p.done)
}

// Clients that keep their connections ask on until the port is closed: up to then every request is answered.
func TestNoRequestIsLostByADrainUnderTraffic(t *testing.T) {
	opts := serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}}
	opts.Server.DrainDelay = 200 * time.Millisecond
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)
	var answered atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for {
				resp, err := client.Post(p.url+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
				if errors.Is(err, syscall.ECONNREFUSED) {
					return
				}
				if err != nil {
					t.Errorf("lost a request: %v", err)
					return
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("answered %s %s %v", resp.Status, text, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return answered.Load() > 200 }, waitFor, tick)
	p.stop()
	clients.Wait()
	require.NoError(t, <-p.done)
}

func TestStart(t *testing.T) {
	cases := map[string]struct {
		files    map[string]string
		dir      string
		expected bool
		err      string
		ready    bool
		index    string
	}{
		"no such directory":                            {dir: "absent", err: "model_dir DIR/absent: no such directory"},
		"a directory elsewhere":                        {dir: "s3://bucket/model", err: "model_dir s3://bucket/model: this server reads local directories: let the storage initializer fetch the model first"},
		"two model files":                              {files: map[string]string{"a.sum": "sum", "b.sum": "sum"}, err: "load model model: More than one model file is detected, Only one is allowed within model_dir: a.sum, b.sum in DIR"},
		"a corrupt file":                               {files: map[string]string{"a.sum": "corrupt"}, err: "load model model: DIR/a.sum as sums: byte 0: expected a word that is known"},
		"a file that makes the reader panic":           {files: map[string]string{"a.sum": "explode"}, err: "load model model: DIR/a.sum as sums: the reader stopped on it: the reader has a fault"},
		"a model file":                                 {files: map[string]string{"a.sum": "sum", "readme.md": "x"}, ready: true, index: `[{"name":"model","version":"","state":"READY","reason":""}]`},
		"an empty directory where a model is expected": {files: map[string]string{"readme.md": "x"}, expected: true, index: `[]`},
		"an empty directory of many models":            {ready: true, index: `[]`},
		"a directory of models":                        {files: map[string]string{"x/a.sum": "sum", "..data/b.sum": "sum"}, ready: true, index: `[{"name":"x","version":"","state":"READY","reason":""}]`},
		"one bad model takes no other down": {
			files: map[string]string{"x/a.sum": "sum", "y/a.sum": "corrupt"}, ready: true,
			index: `[{"name":"x","version":"","state":"READY","reason":""},{"name":"y","version":"","state":"UNAVAILABLE","reason":"y/a.sum as sums: byte 0: expected a word that is known"}]`,
		},
		"only a bad one":            {files: map[string]string{"y/a.sum": "corrupt"}, err: "load model y: DIR/y/a.sum as sums: byte 0: expected a word that is known"},
		"a directory without files": {files: map[string]string{"y/": ""}, err: "load model y: no model file in DIR/y: expected one file that ends in .sum"},
		"versions": {
			files: map[string]string{"x/9/a.sum": "sum", "x/10/a.sum": "sum"}, ready: true,
			index: `[{"name":"x","version":"9","state":"READY","reason":""},{"name":"x","version":"10","state":"READY","reason":""}]`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			model := dir
			if c.dir != "" {
				model = c.dir
				if !strings.Contains(model, "://") {
					model = filepath.Join(dir, c.dir)
				}
			}
			p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: model, ModelExpected: c.expected})
			if c.err != "" {
				require.EqualError(t, <-p.done, strings.ReplaceAll(c.err, "DIR", dir))
				return
			}
			if c.ready {
				require.Eventually(t, p.Ready, waitFor, tick)
			}
			var body string
			require.Eventually(t, func() bool {
				_, body = do(t, http.MethodPost, p.url+"/v2/repository/index", "")
				return body == c.index
			}, waitFor, tick, "index")
			require.Equal(t, c.ready, p.Ready())
			p.stop()
			require.NoError(t, <-p.done)
		})
	}
}

func TestVersionsAreServedSideBySide(t *testing.T) {
	dir := tree(t, map[string]string{"x/9/a.sum": "sum", "x/10/a.sum": "fail"})
	_, url := mounted(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: dir})
	_, body := do(t, http.MethodPost, url+"/v2/models/x/versions/9/infer", v2Body, "Content-Type", "application/json")
	require.Contains(t, body, `"model_version":"9"`)
	resp, _ := do(t, http.MethodPost, url+"/v2/models/x/infer", v2Body, "Content-Type", "application/json")
	require.Equal(t, 500, resp.StatusCode, "without a version the newest answers")
	resp, body = do(t, http.MethodGet, url+"/v2/models/x/versions/8/ready", "")
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, `{"error":"Model with name x has no version 8: there are 9, 10"}`, body)
	_, body = do(t, http.MethodGet, url+"/v2/models/x/versions/9", "")
	require.Contains(t, body, `"versions":["9","10"]`)
}

func TestTheRepositoryAPI(t *testing.T) {
	dir := tree(t, map[string]string{"x/a.sum": "sum", "y/a.sum": "sum"})
	_, url := mounted(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: dir})
	load := func(name string) (int, string) {
		resp, body := do(t, http.MethodPost, url+"/v2/repository/models/"+name+"/load", "")
		return resp.StatusCode, body
	}
	status, body := load("x")
	require.Equal(t, 200, status, body)
	_, body = do(t, http.MethodGet, url+"/v1/models", "")
	require.Equal(t, `{"models":["y","x"]}`, body, "a model loaded again goes to the end")

	status, body = load("nope")
	require.Equal(t, 503, status)
	require.Equal(t, `{"error":"Model with name nope is not ready. no such directory: nope"}`, body)
	for _, name := range []string{"%2E", "%2E%2E"} {
		status, _ = load(name)
		require.Equal(t, 404, status)
	}

	require.NoError(t, os.WriteFile(filepath.Join(dir, "x", "a.sum"), []byte("corrupt"), 0o600))
	status, body = load("x")
	require.Equal(t, 503, status)
	require.Equal(t, `{"error":"Model with name x is not ready. x/a.sum as sums: byte 0: expected a word that is known"}`, body)
	_, body = do(t, http.MethodPost, url+"/v1/models/x:predict", v1Body)
	require.Equal(t, `{"predictions":[3.0,7.0]}`, body, "the old one goes on")
}
