// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clients_test runs the clients that people have against the server: KServe's and Triton's in Python, grpcurl and curl.
package clients_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/test/conformance/twins"
)

// server has the models iris and echo.
func server(t *testing.T) (url, grpc string) {
	t.Helper()
	if os.Getenv("KSERVE_TEST_CLIENTS") == "" {
		t.Skip("needs the clients: make test-clients")
	}
	models := []serve.Model{{Name: "iris", Path: "../../data/protocol/models/iris-logreg"}}
	for _, m := range twins.Models() {
		if m.Name == "echo" {
			models = append(models, m)
		}
	}
	s := serve.New(serve.Options{
		Engines: []engine.Engine{sklearn.New()}, Models: models,
		Server: httpserver.Options{HTTP: httpserver.Endpoint{Addr: "127.0.0.1:0"}, GRPC: httpserver.Endpoint{Addr: "127.0.0.1:0"}},
	})
	require.NoError(t, s.Listen(t.Context()))
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-done)
	})
	require.Eventually(t, s.Ready, time.Minute, time.Millisecond)
	return "http://" + s.HTTPAddr().String(), s.GRPCAddr().String()
}

func output(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v\n%s", name, args, out)
	return string(out)
}

func TestPythonClients(t *testing.T) {
	url, grpc := server(t)
	for _, name := range []string{"sdk-rest", "sdk-grpc", "triton-http", "triton-grpc"} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, output(t, "", os.Getenv("KSERVE_CLIENTS_PYTHON"), "clients.py", url, grpc, name), "ok "+name)
		})
	}
}

func TestGrpcurl(t *testing.T) {
	_, grpc := server(t)
	ask := func(input string, args ...string) string {
		return output(t, input, os.Getenv("KSERVE_CLIENTS_GRPCURL"), append([]string{"-plaintext"}, args...)...)
	}
	list := ask("", grpc, "list")
	require.Contains(t, list, "inference.GRPCInferenceService")
	require.Contains(t, list, "grpc.health.v1.Health")
	require.Contains(t, ask("", grpc, "describe", "inference.GRPCInferenceService"), "rpc ModelInfer")
	require.Contains(t, ask("", grpc, "grpc.health.v1.Health/Check"), "SERVING")
	answer := ask(`{"model_name":"iris","id":"1","inputs":[{"name":"input-0","datatype":"FP64","shape":[1,4],"contents":{"fp64_contents":[6.8,2.8,4.8,1.4]}}]}`,
		"-d", "@", grpc, "inference.GRPCInferenceService/ModelInfer")
	require.Contains(t, strings.Join(strings.Fields(answer), ""), `"int64Contents":["1"]`)
	require.Contains(t, ask("", grpc, "inference.GRPCInferenceService/RepositoryIndex"), `"READY"`)
}

func TestCurl(t *testing.T) {
	url, _ := server(t)
	curl := func(input string, args ...string) string {
		return output(t, input, "curl", append([]string{"-sS"}, args...)...)
	}
	// -d says that the body is a form, as people forget.
	require.Equal(t, `{"predictions":[1]}`, curl("", url+"/v1/models/iris:predict", "-d", `{"instances":[[6.8,2.8,4.8,1.4]]}`))
	body := `{"id":"1","inputs":[{"name":"input-0","shape":[1,4],"datatype":"FP64","data":[6.8,2.8,4.8,1.4]}]}`
	require.Contains(t, curl(body, url+"/v2/models/iris/infer", "--json", "@-"), `"data":[1]`)
	header := `{"id":"1","inputs":[{"name":"x","shape":[2],"datatype":"UINT16","parameters":{"binary_data_size":4}}]}`
	file := filepath.Join(t.TempDir(), "body")
	require.NoError(t, os.WriteFile(file, []byte(header+"\x01\x00\x02\x01"), 0o600))
	require.Contains(t, curl("", url+"/v2/models/echo/infer", "-H", "Content-Type: application/octet-stream",
		"-H", "Inference-Header-Content-Length: 102", "--data-binary", "@"+file), `"data":[1,258]`)
	require.Len(t, header, 102)
	var event struct {
		Type string
		Data json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(curl("", url+"/v1/models/iris:predict", "-H", "Content-Type: application/cloudevents+json", "-d",
		`{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"instances":[[6.8,2.8,4.8,1.4]]}}`)), &event))
	require.Equal(t, "io.kserve.inference.response", event.Type)
	require.JSONEq(t, `{"predictions":[1]}`, string(event.Data))
	require.Contains(t, curl("", url+"/v2/systemsharedmemory/region/a/register", "-d", `{}`), "Not Found")
}
