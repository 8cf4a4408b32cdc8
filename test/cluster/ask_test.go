// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
	"github.com/kserve-go/kserve-go/test/process"
)

// way is how a request reaches a service: through its Service inside the cluster, or through the gateway.
type way struct {
	name string
	// address is what is connected to, host the name that is asked for.
	address, host string
	// dial is nil where the address is one of this machine.
	dial func(ctx context.Context, target string) (net.Conn, error)
}

// throughService is the address of the predictor's Service, reached through the gate.
func (s *space) throughService(name string) way {
	s.Helper()
	svc, err := s.core.CoreV1().Services(s.ns).Get(s.Context(), name+"-predictor", metav1.GetOptions{})
	require.NoError(s, err)
	return way{name: "Service", address: net.JoinHostPort(svc.Spec.ClusterIP, "80"), host: name + "-predictor." + s.ns + ".svc.cluster.local", dial: s.enter}
}

// throughGateway is the gateway of the cluster, asked for the host of status.url.
func (s *space) throughGateway(v *isvc) way {
	s.Helper()
	require.NotEmpty(s, s.record.Gateway, "kserve local status tells no gateway")
	return way{name: "gateway", address: bare(s.record.Gateway), host: bare(v.Status.URL)}
}

func bare(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		rest = url
	}
	return strings.TrimSuffix(rest, "/")
}

// client opens a connection for each request, as many clients do; kept ones stay with the pod that they found.
func (w way) client(keep bool) *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: !keep,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if w.dial != nil {
				return w.dial(ctx, w.address)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.address)
		},
	}}
}

// post returns the body of the answer 200.
func (w way) post(ctx context.Context, client *http.Client, path string, body any) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+w.host+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return answer, err
}

func golden(t *testing.T, name string) *process.Golden {
	t.Helper()
	g, err := process.ReadGolden(filepath.Join(root, "deploy/samples/golden", name+".json"))
	require.NoError(t, err)
	return g
}

func v1Body(g *process.Golden) any { return map[string]any{"instances": g.Request.Instances} }

func tensorOf(g *process.Golden) (shape []int64, data []float64) {
	for _, row := range g.Request.Instances {
		data = append(data, row...)
	}
	rows := int64(len(g.Request.Instances))
	return []int64{rows, int64(len(data)) / rows}, data
}

// askV1 returns the numbers that the model of this name answers.
func (w way) askV1(ctx context.Context, client *http.Client, model string, g *process.Golden) ([]float64, error) {
	raw, err := w.post(ctx, client, "/v1/models/"+model+":predict", v1Body(g))
	if err != nil {
		return nil, err
	}
	var answer struct{ Predictions json.RawMessage }
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	return process.Flatten(answer.Predictions)
}

func (w way) askV2(ctx context.Context, client *http.Client, model string, g *process.Golden) ([]float64, error) {
	shape, data := tensorOf(g)
	raw, err := w.post(ctx, client, "/v2/models/"+model+"/infer", map[string]any{"inputs": []any{map[string]any{
		"name": "input-0", "shape": shape, "datatype": "FP64", "data": data,
	}}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Outputs []struct{ Data json.RawMessage }
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	if len(answer.Outputs) != 1 {
		return nil, fmt.Errorf("%d outputs, want 1: %s", len(answer.Outputs), raw)
	}
	return process.Flatten(answer.Outputs[0].Data)
}

// overGRPC is a connection whose calls go this way.
func (w way) overGRPC() (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+w.address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority(w.host),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if w.dial != nil {
				return w.dial(ctx, w.address)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.address)
		}))
}

func (w way) askGRPC(ctx context.Context, model string, g *process.Golden) ([]float64, error) {
	conn, err := w.overGRPC()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	shape, data := tensorOf(g)
	answer, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &inferencev2.ModelInferRequest{
		ModelName: model,
		Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "input-0", Shape: shape, Datatype: "FP64", Contents: &inferencev2.InferTensorContents{Fp64Contents: data},
		}},
	})
	if err != nil {
		return nil, err
	}
	if len(answer.GetOutputs()) != 1 {
		return nil, fmt.Errorf("%d outputs, want 1", len(answer.GetOutputs()))
	}
	var numbers []float64
	c := answer.GetOutputs()[0].GetContents()
	numbers = append(numbers, c.GetFp64Contents()...)
	for _, v := range c.GetInt64Contents() {
		numbers = append(numbers, float64(v))
	}
	for _, v := range c.GetFp32Contents() {
		numbers = append(numbers, float64(v))
	}
	return numbers, nil
}

// answers asks once, at once: a service that is Ready answers.
func (s *space) answers(w way, model string, g *process.Golden) {
	s.Helper()
	got, err := w.askV1(s.Context(), w.client(false), model, g)
	require.NoError(s, err, "V1 through the %s", w.name)
	require.NoError(s, g.Compare(got), "V1 through the %s", w.name)
}

// predict is `kserve predict` as a person calls it.
func (s *space) predict(args ...string) string {
	s.Helper()
	cmd := s.command(s.Context(), "kserve", append([]string{"predict"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	require.NoError(s, cmd.Run(), "kserve predict %q\n%s%s", args, &out, &errOut)
	return out.String()
}

// inPod asks from a pod of the cluster, by name.
func (s *space) inPod(url, body string) string {
	s.Helper()
	out, err := s.kubectl(s.Context(), "", "exec", "-n", "store", "deploy/store", "--", "/store", "ask", "-d", body, url)
	require.NoError(s, err, "%s", out)
	return out
}
