// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// failing answers the error whose code is its first number.
type failing struct{}

func (failing) Metadata() engine.Metadata { return engine.Metadata{Methods: []string{"predict"}} }
func (failing) Close() error              { return nil }

func (failing) Predict(_ context.Context, in *tensor.Request, _ *tensor.Response) error {
	code := protocol.Code(in.Inputs[0].Float64(0))
	return protocol.Errorf(code, "input %q: it is %s", in.Inputs[0].Name, code)
}

// TestEveryCodeOnEveryWire asks for each error over V1, as JSON and as an event, V2, as JSON and binary, and gRPC.
func TestEveryCodeOnEveryWire(t *testing.T) {
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: failing{}}}})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	for _, code := range protocol.Codes() {
		t.Run(code.String(), func(t *testing.T) {
			rest := func(path, body, input string, headers ...string) {
				resp, text := do(t, http.MethodPost, p.url+path, body, headers...)
				require.Equal(t, code.HTTPStatus(), resp.StatusCode, path)
				require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
				var answer map[string]string
				require.NoError(t, json.Unmarshal([]byte(text), &answer))
				require.Equal(t, map[string]string{"error": fmt.Sprintf("input %q: it is %s", input, code)}, answer)
				require.Equal(t, code == protocol.TooMany, resp.Header.Get("Retry-After") != "")
			}
			v1 := fmt.Sprintf(`{"instances":[[%d]]}`, code)
			rest("/v1/models/m:predict", v1, "instances")
			rest("/v1/models/m:predict", v1, "instances", "ce-specversion", "1.0", "ce-id", "1", "ce-source", "s", "ce-type", "t")
			rest("/v1/models/m:predict", `{"specversion":"1.0","id":"1","source":"s","type":"t","data":`+v1+`}`, "instances",
				"Content-Type", "application/cloudevents+json")
			rest("/v2/models/m/infer", fmt.Sprintf(`{"inputs":[{"name":"x","shape":[1],"datatype":"UINT8","data":[%d]}]}`, code), "x",
				"Content-Type", "application/json")
			header := `{"inputs":[{"name":"x","shape":[1],"datatype":"UINT8","parameters":{"binary_data_size":1}}]}`
			rest("/v2/models/m/infer", header+string(rune(code)), "x", "Content-Type", "application/octet-stream",
				v2.HeaderLength, fmt.Sprint(len(header)))

			_, err := client.ModelInfer(t.Context(), &inferencev2.ModelInferRequest{
				ModelName:        "m",
				Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "UINT8", Shape: []int64{1}}},
				RawInputContents: [][]byte{{byte(code)}},
			})
			require.Equal(t, v2.GRPCCode(code), status.Code(err))
			require.Equal(t, fmt.Sprintf("input \"x\": it is %s", code), status.Convert(err).Message())
		})
	}
}

func TestSchemaFaultsMayBePlain(t *testing.T) {
	_, url := started(t, "sum", serve.Options{PlainSchemaErrors: true})
	for body, want := range map[string]string{
		`{}`:            `{"error":"inputs: Field required"}`,
		`{`:             `{"error":"Unrecognized request format: unexpected end of data: line 1 column 2 (char 1)"}`,
		``:              `{"error":"the body is missing"}`,
		`{"inputs":{}}`: `{"error":"inputs: Input should be a valid list"}`,
	} {
		resp, text := do(t, http.MethodPost, url+"/v2/models/m/infer", body, "Content-Type", "application/json")
		require.Equal(t, 400, resp.StatusCode)
		require.Equal(t, want, text)
	}
}

// rawBytes passes messages as the bytes that they are.
type rawBytes struct{}

func (rawBytes) Name() string                       { return "proto" }
func (rawBytes) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (rawBytes) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }

func TestWhatIsNoMessageIsTheCallersMistake(t *testing.T) {
	p := run(t, serve.Options{})
	conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	for _, m := range inferencev2.GRPCInferenceService_ServiceDesc.Methods {
		var out []byte
		err := conn.Invoke(t.Context(), "/inference.GRPCInferenceService/"+m.MethodName, []byte{0xff, 0xff}, &out, grpc.ForceCodec(rawBytes{}))
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", m.MethodName, err)
		require.ErrorContains(t, err, "the request is no message of the type that the method takes")
	}
	_, metrics := do(t, http.MethodGet, p.url+"/metrics", "")
	require.Contains(t, metrics, fmt.Sprintf(`kserve_requests_total{code="3",protocol="grpc"} %d`, len(inferencev2.GRPCInferenceService_ServiceDesc.Methods)))
}

// TestBigMessagesHaveAJointBound holds one big request in its model: there is no room for another until it is answered.
func TestBigMessagesHaveAJointBound(t *testing.T) {
	m := &sum{word: "sum", entered: make(chan struct{}), leave: make(chan struct{})}
	p := run(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}, MaxBodies: 3 << 20})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	ask := func(bytes int) error {
		_, err := client.ModelInfer(t.Context(), &inferencev2.ModelInferRequest{
			ModelName:        "m",
			Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "x", Datatype: "UINT8", Shape: []int64{1, int64(bytes)}}},
			RawInputContents: [][]byte{make([]byte, bytes)},
		})
		return err
	}
	for range 2 { // the room is given back
		first, small := make(chan error, 1), make(chan error, 1)
		go func() { first <- ask(2 << 20) }()
		<-m.entered
		err := ask(2 << 20)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.ErrorContains(t, err, "bytes of messages already; retry later")
		go func() { small <- ask(1 << 10) }()
		<-m.entered
		m.leave <- struct{}{}
		m.leave <- struct{}{}
		require.NoError(t, <-first)
		require.NoError(t, <-small)
	}
	// One always fits, however big it is.
	big := make(chan error, 1)
	go func() { big <- ask(4 << 20) }()
	<-m.entered
	m.leave <- struct{}{}
	require.NoError(t, <-big)
}

func TestVersionsAndTheIndexOnBothWires(t *testing.T) {
	dir := tree(t, map[string]string{"x/9/a.sum": "sum", "x/10/a.sum": "sum", "x/11/a.sum": "corrupt", "y/a.sum": "sum"})
	p := run(t, serve.Options{Engines: []engine.Engine{&sums{}}, ModelDir: dir})
	require.Eventually(t, p.Ready, waitFor, tick)
	client := grpcClient(t, p.GRPCAddr().String())
	infer := func(version string) (string, error) {
		in := inferRequest("x")
		in.ModelVersion = version
		out, err := client.ModelInfer(t.Context(), in)
		return out.GetModelVersion(), err
	}
	for version, want := range map[string]string{"9": "9", "10": "10", "latest": "10", "": "10"} {
		path := "/v2/models/x"
		if version != "" {
			path += "/versions/" + version
		}
		_, body := do(t, http.MethodPost, p.url+path+"/infer", v2Body, "Content-Type", "application/json")
		require.Contains(t, body, `"model_version":"`+want+`"`)
		resp, _ := do(t, http.MethodGet, p.url+path+"/ready", "")
		require.Equal(t, 200, resp.StatusCode)
		resp, body = do(t, http.MethodGet, p.url+path, "")
		require.Equal(t, 200, resp.StatusCode)
		require.Contains(t, body, `"versions":["9","10","11"]`)
		got, err := infer(version)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	resp, body := do(t, http.MethodGet, p.url+"/v2/models/x/versions/11/ready", "")
	require.Equal(t, 503, resp.StatusCode, body)
	resp, body = do(t, http.MethodGet, p.url+"/v2/models/x/versions/8", "")
	require.Equal(t, 404, resp.StatusCode, body)
	_, err := infer("8")
	require.Equal(t, codes.NotFound, status.Code(err))
	require.ErrorContains(t, err, "there are 9, 10, 11")
	// A model without versions is its own latest one.
	for version, want := range map[string]int{"latest": 200, "1": 404} {
		resp, body = do(t, http.MethodGet, p.url+"/v2/models/y/versions/"+version+"/ready", "")
		require.Equal(t, want, resp.StatusCode, body)
	}
	resp, body = do(t, http.MethodGet, p.url+"/v2/models/nope/versions/latest", "")
	require.Equal(t, 404, resp.StatusCode, body)

	for ready, want := range map[string]int{`{"ready":true}`: 3, `{"ready":false}`: 4, ``: 4} {
		_, body := do(t, http.MethodPost, p.url+"/v2/repository/index", ready)
		var entries []map[string]string
		require.NoError(t, json.Unmarshal([]byte(body), &entries))
		require.Len(t, entries, want, body)
		out, err := client.RepositoryIndex(t.Context(), &inferencev2.RepositoryIndexRequest{Ready: ready == `{"ready":true}`})
		require.NoError(t, err)
		require.Len(t, out.GetModels(), want)
		require.Equal(t, entries[0]["state"], out.GetModels()[0].GetState())
	}
	// A model that was unloaded could be loaded again.
	resp, _ = do(t, http.MethodPost, p.url+"/v2/repository/models/y/unload", "")
	require.Equal(t, 200, resp.StatusCode)
	_, body = do(t, http.MethodPost, p.url+"/v2/repository/index", "")
	require.Contains(t, body, `{"name":"y","version":"","state":"UNAVAILABLE","reason":"not loaded"}`)
	_, body = do(t, http.MethodPost, p.url+"/v2/repository/index", `{"ready":true}`)
	require.NotContains(t, body, `"y"`)
	resp, body = do(t, http.MethodPost, p.url+"/v2/repository/index", `{"ready":1}`)
	require.Equal(t, 400, resp.StatusCode)
	require.Contains(t, body, `\"ready\" is true or false`)
}

// reading is a model that reads V1 bodies itself.
type reading struct {
	failing

	next chan struct{}
}

func (r *reading) V1(ctx context.Context, in *engine.RawRequest) (*engine.RawAnswer, error) {
	if r.next == nil {
		text := fmt.Sprintf("%s %t %q %s", in.Verb, in.JSON, in.Body, serve.RequestHeader(ctx).Get("ce-type"))
		return &engine.RawAnswer{ContentType: "text/plain", Body: []byte(text)}, nil
	}
	return &engine.RawAnswer{Chunks: func(yield func([]byte, error) bool) {
		for i := range 3 {
			<-r.next
			if !yield([]byte{'0' + byte(i)}, nil) {
				return
			}
		}
		yield(nil, io.ErrUnexpectedEOF)
	}}, nil
}

func TestAModelMayReadV1BodiesItself(t *testing.T) {
	_, url := mounted(t, serve.Options{Models: []serve.Model{{Name: "m", Model: &reading{}}}})
	event := []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "s", "ce-type", "t"}
	for name, c := range map[string]struct {
		verb, body string
		headers    []string
		status     int
		want       string
	}{
		"JSON":                         {"predict", `{"a":1}`, nil, 200, `predict true "{\"a\":1}" `},
		"bytes of another type":        {"predict", "\x00\xff", []string{"Content-Type", "image/png"}, 200, `predict false "\x00\xff" `},
		"an explanation":               {"explain", `[]`, nil, 200, `explain true "[]" `},
		"what claims to be JSON":       {"predict", `{`, nil, 400, `{"error":"Unrecognized request format: unexpected end of data: line 1 column 2 (char 1)"}`},
		"instances that are no list":   {"predict", `{"instances":1}`, nil, 400, `{"error":"Expected \"instances\" to be a list"}`},
		"an event of bytes":            {"predict", "\x01\x80", append([]string{"ce-content-type", "application/avro"}, event...), 200, `predict false "\x01\x80" t`},
		"an event that claims JSON":    {"predict", "{", append([]string{"ce-content-type", "application/json"}, event...), 400, `{"error":"Failed to decode or parse binary json cloudevent: unexpected end of data: line 1 column 2 (char 1)"}`},
		"an event of bytes, undecided": {"predict", "\x80", event, 200, `predict false "\x80" t`},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := do(t, http.MethodPost, url+"/v1/models/m:"+c.verb, c.body, c.headers...)
			require.Equal(t, c.status, resp.StatusCode, body)
			require.Equal(t, c.want, body)
		})
	}
}

func TestChunksArriveAsTheyCome(t *testing.T) {
	m := &reading{next: make(chan struct{})}
	_, url := mounted(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}})
	go func() { m.next <- struct{}{} }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/models/m:predict", strings.NewReader(`{}`))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	in := bufio.NewReader(resp.Body)
	for i := range 3 {
		got, err := in.ReadByte()
		require.NoError(t, err)
		require.Equal(t, '0'+byte(i), got)
		if i < 2 {
			m.next <- struct{}{} // the next is made only now
		}
	}
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "an answer that was cut off does not look whole")
}
