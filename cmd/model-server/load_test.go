// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
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
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/testkit/freeport"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// The program is told to stop, as a kubelet does, while clients of every protocol ask as fast as they can, with kept connections and new
// ones, HTTP/1.1 and HTTP/2, single requests and joined ones: each request that it accepted is answered, and it ends with 0.
func TestNoAcceptedRequestIsLostWhenItIsToldToStop(t *testing.T) {
	for name, flags := range map[string][]string{"alone": nil, "joined": {"--max_batch_size=16"}, "joined after a delay": {"--max_batch_size=16", "--max_batch_delay=2ms"}} {
		t.Run(name, func(t *testing.T) { toldToStop(t, flags...) })
	}
}

func toldToStop(t *testing.T, flags ...string) {
	t.Helper()
	model, err := filepath.Abs(filepath.Join(models, "iris-logreg"))
	require.NoError(t, err)
	list := filepath.Join(t.TempDir(), "models.json")
	require.NoError(t, os.WriteFile(list, fmt.Appendf(nil, `[{"modelName":"iris","modelSpec":{"storageUri":%q}}]`, model), 0o600))
	port, grpcPort := freeport.Text(t), freeport.Text(t)
	cmd, log := start(t, append(flags, "--model_config_file="+list, "--http_port="+port, "--grpc_port="+grpcPort, "--drain_delay=100ms", "--enable_latency_logging=false")...)
	require.NoError(t, cmd.Start())
	url := "http://127.0.0.1:" + port
	require.Eventually(t, func() bool {
		resp, err := http.Get(url + "/v2/health/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 30*time.Second, 2*time.Millisecond)

	var answered, gone atomic.Int64
	var clients sync.WaitGroup
	http1, http2 := &http.Protocols{}, &http.Protocols{}
	http1.SetHTTP1(true)
	http2.SetUnencryptedHTTP2(true)
	for _, kind := range []struct {
		protocols *http.Protocols
		kept      bool
	}{{http1, true}, {http1, true}, {http1, false}, {http2, true}} {
		for _, c := range []struct{ path, body, want string }{
			{"/v1/models/iris:predict", `{"instances":[[5.1,3.5,1.4,0.2]]}`, `{"predictions":[0]}`},
			{"/v2/models/iris/infer", `{"inputs":[{"name":"x","shape":[1,4],"datatype":"FP64","data":[6.5,3.0,5.2,2.0]}]}`, `"data":[2]`},
		} {
			clients.Go(func() {
				client := &http.Client{Transport: &http.Transport{Protocols: kind.protocols, DisableKeepAlives: !kind.kept}}
				defer client.CloseIdleConnections()
				for {
					resp, err := client.Post(url+c.path, "application/json", strings.NewReader(c.body))
					if errors.Is(err, syscall.ECONNREFUSED) {
						gone.Add(1)
						return
					}
					if err != nil && !kind.kept && errors.Is(err, syscall.ECONNRESET) {
						// The kernel had taken the connection when the port was closed; the program never saw it.
						continue
					}
					if err != nil {
						t.Errorf("%s: lost a request: %v", c.path, err)
						return
					}
					text, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err != nil || resp.StatusCode != 200 || !strings.Contains(string(text), c.want) {
						t.Errorf("%s: answered %s %s %v", c.path, resp.Status, text, err)
						return
					}
					answered.Add(1)
				}
			})
		}
	}
	conn, err := grpc.NewClient("127.0.0.1:"+grpcPort, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	calls := inferencev2.NewGRPCInferenceServiceClient(conn)
	for range 4 {
		clients.Go(func() {
			for {
				_, err := calls.ModelInfer(context.Background(), &inferencev2.ModelInferRequest{ModelName: "iris", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
					Name: "x", Datatype: "FP64", Shape: []int64{1, 4}, Contents: &inferencev2.InferTensorContents{Fp64Contents: []float64{6.5, 3.0, 5.2, 2.0}},
				}}})
				if status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "connection refused") {
					gone.Add(1)
					return
				}
				if err != nil {
					t.Errorf("gRPC: lost a call: %v", err)
					return
				}
				answered.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return answered.Load() > 500 }, 30*time.Second, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	clients.Wait()
	require.NoError(t, cmd.Wait(), log.String())
	require.Equal(t, int64(12), gone.Load(), "each client saw the port closed, and nothing else")
	require.NotContains(t, log.String(), `"level":"error"`)
}
