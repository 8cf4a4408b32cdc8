// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// caseServer is a server with the twins, which answers cases.
type caseServer struct {
	target

	calls inferencev2.GRPCInferenceServiceClient
}

func startCases(t *testing.T) *caseServer {
	t.Helper()
	twin, err := startTwins(t.Context())
	require.NoError(t, err)
	t.Cleanup(twin.stop)
	conn, err := grpc.NewClient("passthrough:///"+twin.target.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(64<<20), grpc.MaxCallRecvMsgSize(64<<20)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &caseServer{target: twin.target, calls: inferencev2.NewGRPCInferenceServiceClient(conn)}
}

// ask sends a request; headers are names and values in turn.
func (s *caseServer) ask(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(text)
}

const (
	jsonType = "application/json"
	event    = `"specversion":"1.0","id":"1","source":"s","type":"t","time":"2026-01-02T03:04:05Z"`
)

// halves are eight FP16 numbers in their binary form, and singles eight FP32 ones.
func halves() string { return strings.Repeat("\x00\x3c", 8) }

func singles() string {
	var out []byte
	for i := range 8 {
		out = binary.LittleEndian.AppendUint32(out, uint32(i)<<23)
	}
	return string(out)
}

// binaryBody is a body of a JSON part and what is behind it, with its headers.
func binaryBody(text, raw string) (body string, headers []string) {
	return text + raw, []string{"Content-Type", "application/octet-stream", "Inference-Header-Content-Length", strconv.Itoa(len(text))}
}

// TestCasesOfREST has the cases of V1, CloudEvents and V2 over REST by their names.
func TestCasesOfREST(t *testing.T) {
	s := startCases(t)
	binaryEvent := []string{"ce-specversion", "1.0", "ce-id", "1", "ce-source", "s", "ce-type", "t"}
	for name, c := range map[string]struct {
		path, body string // POST where there is a body, else GET
		headers    []string
		status     int
		want       string   // the whole answer, or
		parts      []string // parts of it
		kind       string   // its Content-Type
	}{
		"V1-01 alive":               {path: "/", status: 200, want: `{"status":"alive"}`},
		"V1-02 models in order":     {path: "/v1/models", status: 200, want: `{"models":["echo","raiser","odd","typed","two","sleepy","base"]}`},
		"V1-03 ready":               {path: "/v1/models/echo", status: 200, want: `{"name":"echo","ready":true}`},
		"V1-04 unknown":             {path: "/v1/models/nope", status: 404, want: `{"error":"Model with name nope does not exist."}`},
		"V1-05 not loaded":          {path: "/v1/models/sleepy", status: 503, parts: []string{"is not ready"}},
		"V1-06 instances":           {path: "/v1/models/echo:predict", body: `{"instances":[[1,2]]}`, status: 200, want: `{"predictions":[[1,2]]}`, kind: jsonType},
		"V1-07 inputs":              {path: "/v1/models/echo:predict", body: `{"inputs":[1,2]}`, status: 200, want: `{"predictions":[1,2]}`},
		"V1-08 explain":             {path: "/v1/models/echo:explain", body: `{"instances":[[1,2]]}`, status: 200, parts: []string{`[[1,2]]`}},
		"V1-09 predict, not ready":  {path: "/v1/models/sleepy:predict", body: `{"instances":[1]}`, status: 503},
		"V1-09 explain, not ready":  {path: "/v1/models/sleepy:explain", body: `{"instances":[1]}`, status: 503},
		"V1-09 infer, not ready":    {path: "/v2/models/sleepy/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[1]}]}`, status: 503},
		"V1-10 no list":             {path: "/v1/models/echo:predict", body: `{"instances":"invalid"}`, status: 400, want: `{"error":"Expected \"instances\" to be a list"}`},
		"V1-11 an empty list":       {path: "/v1/models/echo:predict", body: `{"instances":[]}`, status: 200, want: `{"predictions":[]}`},
		"V1-12 cut off":             {path: "/v1/models/echo:predict", body: `{`, status: 400, parts: []string{`Unrecognized request format: unexpected end of data`}},
		"V1-13 no content type":     {path: "/v1/models/echo:predict", body: `{"instances":[1]}`, headers: []string{"Content-Type", ""}, status: 200},
		"V1-14 a charset":           {path: "/v1/models/echo:predict", body: `{"instances":[1]}`, headers: []string{"Content-Type", "application/json; charset=utf-8"}, status: 200},
		"V1-15 unknown path":        {path: "/unknown_path", status: 404, want: `{"detail":"Not Found"}`},
		"V1-16 chunks":              {path: "/v1/models/odd:predict", body: `{"instances":["stream"]}`, status: 200, want: "chunk 0\nchunk 1\nchunk 2\n"},
		"V1-17 times":               {path: "/v1/models/odd:predict", body: `{"instances":["datetime"]}`, status: 200, parts: []string{`"2024-01-02T03:04:05.678000"`}},
		"V1-19 no explainer":        {path: "/v1/models/base:explain", body: `{"instances":[[1]]}`, status: 501, parts: []string{`"error"`}},
		"CE-01 structured":          {path: "/v1/models/echo:predict", body: `{` + event + `,"data":{"instances":[[1,2]]}}`, headers: []string{"Content-Type", "application/cloudevents+json"}, status: 200, kind: "application/cloudevents+json", parts: []string{`"specversion": "1.0"`, `"source": "io.kserve.inference.echo"`, `"type": "io.kserve.inference.response"`, `"data": {"predictions": [[1, 2]]}`}},
		"CE-05 binary":              {path: "/v1/models/echo:predict", body: `{"instances":[[1,2]]}`, headers: append([]string{"ce-content-type", jsonType}, binaryEvent...), status: 200, kind: jsonType, want: `{"predictions": [[1, 2]]}`},
		"CE-06 binary, cut off":     {path: "/v1/models/echo:predict", body: `{`, headers: append([]string{"ce-content-type", jsonType}, binaryEvent...), status: 400, parts: []string{"Failed to decode or parse binary json cloudevent: unexpected end of data"}},
		"CE-07 binary, no UTF-8":    {path: "/v1/models/echo:predict", body: "\x7b\x80", headers: append([]string{"ce-content-type", jsonType}, binaryEvent...), status: 400, parts: []string{"Failed to decode or parse binary json cloudevent: "}},
		"CE-08 binary, not JSON":    {path: "/v1/models/echo:predict", body: "\x02\x80", headers: append([]string{"ce-content-type", "application/avro"}, binaryEvent...), status: 200, want: "\x02\x80"},
		"V2-01 the server":          {path: "/v2", status: 200, parts: []string{`"name":"kserve"`, `"extensions":["model_repository_extension"]`}},
		"V2-03 nested":              {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1,2],"datatype":"INT32","data":[[1,2]]}]}`, status: 200, kind: jsonType, parts: []string{`"datatype":"INT32"`, `"data":[1,2]`}},
		"V2-04 flat":                {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1,2],"datatype":"INT32","data":[1,2]}]}`, status: 200, parts: []string{`"shape":[1,2]`, `"data":[1,2]`}},
		"V2-05 an id":               {path: "/v2/models/echo/infer", body: `{"id":"123","inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}`, status: 200, parts: []string{`"id":"123"`}},
		"V2-07 FP16 in JSON":        {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"FP16","data":[1]}]}`, status: 400, parts: []string{"Sending FP16 data via JSON is not supported"}},
		"V2-14 an unknown output":   {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}],"outputs":[{"name":"zz"}]}`, status: 400, parts: []string{`Unexpected inference output 'zz' for model 'echo'`}},
		"V2-15 FP32 as its double":  {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","data":[6.8]}]}`, status: 200, parts: []string{`6.80000019073486`}},
		"V2-19 no length":           {path: "/v2/models/echo/infer", body: `{}`, headers: []string{"Content-Type", "application/octet-stream"}, status: 400, parts: []string{"header is missing"}},
		"V2-21 dimensions as text":  {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":["2"],"datatype":"INT32","data":[1,2]}]}`, status: 200, parts: []string{`"shape":[2]`}},
		"V2-21 dimensions as 2.0":   {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[2.0],"datatype":"INT32","data":[1,2]}]}`, status: 200, parts: []string{`"shape":[2]`}},
		"V2-21 dimensions as 2.5":   {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[2.5],"datatype":"INT32","data":[1,2]}]}`, status: 422, parts: []string{`"detail"`}},
		"V2-22 datatype in small":   {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"int32","data":[1]}]}`, status: 200, parts: []string{`"datatype":"INT32"`}},
		"V2-28 unload, unknown":     {path: "/v2/repository/models/nope/unload", body: `{}`, status: 404, want: `{"error":"Model with name nope does not exist."}`},
		"U65 an empty object":       {path: "/v1/models/raiser:predict", body: `{}`, status: 400, parts: []string{`"error"`}},
		"U71 one of two outputs":    {path: "/v2/models/two/infer", body: `{"inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2]}],"outputs":[{"name":"scores"}]}`, status: 200, parts: []string{`"outputs":[{"name":"scores"`}},
		"U74 another shape":         {path: "/v2/models/two/infer", body: `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","data":["a"]}]}`, status: 400, parts: []string{`input \"x\"`, "expected", "got BYTES"}},
		"U75 no numbers in outputs": {path: "/v2/models/echo/infer", body: `{"inputs":[{"name":"x","shape":[3],"datatype":"FP64","data":[NaN,Infinity,1]}]}`, status: 200, parts: []string{`"data":[null,null,1.0]`}},
	} {
		t.Run(name, func(t *testing.T) {
			method := http.MethodGet
			headers := c.headers
			if c.body != "" {
				method = http.MethodPost
				headers = append([]string{"Content-Type", jsonType}, headers...)
			}
			resp, got := s.ask(t, method, c.path, c.body, headers...)
			require.Equal(t, c.status, resp.StatusCode, got)
			if c.want != "" {
				require.Equal(t, c.want, got)
			}
			for _, part := range c.parts {
				require.Contains(t, got, part)
			}
			if c.kind != "" {
				require.Equal(t, c.kind, resp.Header.Get("Content-Type"))
			}
		})
	}
	t.Run("V1-18 a header of the model's", func(t *testing.T) {
		resp, _ := s.ask(t, http.MethodPost, "/v1/models/odd:predict", `{"instances":["headers"]}`)
		require.Equal(t, "odd", resp.Header.Get("x-model"))
	})
	t.Run("V2-05 an id that is made", func(t *testing.T) {
		_, got := s.ask(t, http.MethodPost, "/v2/models/echo/infer", `{"inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[1]}]}`, "Content-Type", jsonType)
		var out struct{ ID string }
		require.NoError(t, json.Unmarshal([]byte(got), &out))
		require.Regexp(t, `^[0-9a-f-]{36}$`, out.ID)
	})
}

// TestCasesOfBinaryTensors has the cases of binary tensors over REST by their names.
func TestCasesOfBinaryTensors(t *testing.T) {
	s := startCases(t)
	infer := func(t *testing.T, text, raw string) (status, length int, answer string) {
		t.Helper()
		body, headers := binaryBody(text, raw)
		resp, got := s.ask(t, http.MethodPost, "/v2/models/echo/infer", body, headers...)
		if h := resp.Header.Get("Inference-Header-Content-Length"); h != "" {
			length, _ = strconv.Atoi(h)
			require.Equal(t, "application/octet-stream", resp.Header.Get("Content-Type"))
		}
		return resp.StatusCode, length, got
	}
	fp16 := `{"name":"fp16","shape":[8],"datatype":"FP16","parameters":{"binary_data_size":16}}`
	fp32 := `{"name":"fp32","shape":[8],"datatype":"FP32","parameters":{"binary_data_size":32}}`
	both := `"inputs":[` + fp16 + `,` + fp32 + `]`
	raw := halves() + singles()

	t.Run("V2-08 FP16 in binary form and BYTES in JSON", func(t *testing.T) {
		status, length, got := infer(t, `{"inputs":[`+fp16+`,{"name":"b","shape":[1],"datatype":"BYTES","data":["test"]}],"outputs":[{"name":"b"}]}`, halves())
		require.Equal(t, 200, status, got)
		require.Zero(t, length)
		require.Contains(t, got, `"model_version":null`)
		require.Contains(t, got, `"parameters":null,"data":["test"]`)
	})
	t.Run("V2-09 FP16 is asked for in JSON", func(t *testing.T) {
		status, _, got := infer(t, `{`+both+`,"outputs":[{"name":"fp16"}]}`, raw)
		require.Equal(t, 400, status, got)
		require.Contains(t, got, "fp16")
	})
	t.Run("V2-10 one of two in binary form", func(t *testing.T) {
		status, length, got := infer(t, `{`+both+`,"outputs":[{"name":"fp16","parameters":{"binary_data":true}},{"name":"fp32","parameters":{"binary_data":false}}]}`, raw)
		require.Equal(t, 200, status, got)
		require.Equal(t, halves(), got[length:])
		require.Contains(t, got[:length], `"datatype":"FP16","parameters":{"binary_data_size":16}}`)
		require.Contains(t, got[:length], `"datatype":"FP32","data":[0.0,`)
	})
	t.Run("V2-11 all in binary form", func(t *testing.T) {
		status, length, got := infer(t, `{"parameters":{"binary_data_output":true},`+both+`}`, raw)
		require.Equal(t, 200, status, got)
		require.Equal(t, raw, got[length:])
	})
	t.Run("V2-12 an output's own word counts", func(t *testing.T) {
		status, length, got := infer(t, `{"parameters":{"binary_data_output":true},`+both+`,"outputs":[{"name":"fp32","parameters":{"binary_data":false}}]}`, raw)
		require.Equal(t, 200, status, got)
		require.Zero(t, length)
		require.Contains(t, got, `"data":[0.0,`)
	})
	t.Run("V2-13 one output", func(t *testing.T) {
		_, length, got := infer(t, `{`+both+`,"outputs":[{"name":"fp32","parameters":{"binary_data":true}}]}`, raw)
		require.Equal(t, singles(), got[length:])
		require.NotContains(t, got[:length], "fp16")
	})
	for name, c := range map[string]struct{ text, raw, want string }{
		"V2-17 neither data nor size":     {`{"inputs":[{"name":"x","shape":[1],"datatype":"FP32"}]}`, "", "'data' field is missing for input 'x'"},
		"V2-18 the JSON part is cut off":  {`{"inputs":[`, "", "Unrecognized request format"},
		"U83 a size beyond the end":       {`{"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}]}`, "1234", "4 bytes are left"},
		"U83 one blob for two inputs":     {`{"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}},{"name":"y","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]}`, "1234", `input \"y\"`},
		"U83 a length prefix too far":     {`{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":6}}]}`, "\x09\x00\x00\x00ab", "BYTES element 0 has length 9"},
		"U82 bytes that are not declared": {`{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":8}}]}`, "\x04\x00\x00\x00\xff\xd8\xff\x00", "content_type"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, got := infer(t, c.text, c.raw)
			require.Equal(t, 400, status, got)
			require.Contains(t, got, c.want)
		})
	}
	t.Run("U82 four bytes that are no text", func(t *testing.T) {
		element := "\x04\x00\x00\x00\xff\xd8\xff\x00"
		input := `{"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":8,"content_type":"base64"}}]`
		_, length, got := infer(t, input+`,"parameters":{"binary_data_output":true}}`, element)
		require.Equal(t, element, got[length:])
		status, _, got := infer(t, input+`,"outputs":[{"name":"x","parameters":{"content_type":"base64"}}]}`, element)
		require.Equal(t, 200, status, got)
		require.Contains(t, got, `"data":["/9j/AA=="]`)
	})
	t.Run("U83 no elements", func(t *testing.T) {
		status, _, got := infer(t, `{"inputs":[{"name":"x","shape":[0],"datatype":"FP32","parameters":{"binary_data_size":0}}]}`, "")
		require.Equal(t, 200, status, got)
		require.Contains(t, got, `"data":[]`)
	})
	t.Run("U75 the bits of what is no number", func(t *testing.T) {
		bits := "\x01\x00\xc0\x7f"
		_, length, got := infer(t, `{"parameters":{"binary_data_output":true},"inputs":[{"name":"x","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]}`, bits)
		require.Equal(t, bits, got[length:])
	})
}

// TestCasesOfGRPC has the cases of gRPC by their names.
func TestCasesOfGRPC(t *testing.T) {
	s := startCases(t)
	input := func(name, datatype string, c *inferencev2.InferTensorContents) *inferencev2.ModelInferRequest_InferInputTensor {
		return &inferencev2.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: []int64{8}, Contents: c}
	}
	infer := func(ctx context.Context, in *inferencev2.ModelInferRequest) (*inferencev2.ModelInferResponse, error) {
		if in.GetModelName() == "" {
			in.ModelName = "echo"
		}
		return s.calls.ModelInfer(ctx, in)
	}
	texts := make([][]byte, 8)
	var packed []byte
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "t%d", i)
		packed = append(binary.LittleEndian.AppendUint32(packed, uint32(len(texts[i]))), texts[i]...)
	}
	typed := func() []*inferencev2.ModelInferRequest_InferInputTensor {
		return []*inferencev2.ModelInferRequest_InferInputTensor{
			input("a", "FP32", &inferencev2.InferTensorContents{Fp32Contents: make([]float32, 8)}),
			input("b", "INT32", &inferencev2.InferTensorContents{IntContents: make([]int32, 8)}),
			input("c", "BYTES", &inferencev2.InferTensorContents{BytesContents: texts}),
			input("d", "UINT8", &inferencev2.InferTensorContents{UintContents: make([]uint32, 8)}),
			input("e", "BOOL", &inferencev2.InferTensorContents{BoolContents: make([]bool, 8)}),
		}
	}
	t.Run("G-01 typed contents, U77 texts are entries", func(t *testing.T) {
		out, err := infer(t.Context(), &inferencev2.ModelInferRequest{Id: "q", Inputs: typed()})
		require.NoError(t, err)
		require.Equal(t, "q", out.GetId())
		require.Empty(t, out.GetRawOutputContents())
		require.Equal(t, texts, out.GetOutputs()[2].GetContents().GetBytesContents())
		require.Len(t, out.GetOutputs()[4].GetContents().GetBoolContents(), 8)
	})
	t.Run("G-02 raw in, raw out", func(t *testing.T) {
		in := &inferencev2.ModelInferRequest{RawInputContents: [][]byte{make([]byte, 32), make([]byte, 32), packed, make([]byte, 8), make([]byte, 8)}}
		for _, i := range typed() {
			i.Contents = nil
			in.Inputs = append(in.Inputs, i)
		}
		out, err := infer(t.Context(), in)
		require.NoError(t, err)
		require.Equal(t, in.GetRawInputContents(), out.GetRawOutputContents())
		for i, o := range out.GetOutputs() {
			require.Nil(t, o.GetContents())
			require.Equal(t, int64(len(in.GetRawInputContents()[i])), o.GetParameters()["binary_data_size"].GetInt64Param())
		}
	})
	t.Run("G-03 and G-04 FP16, U78 with FP32", func(t *testing.T) {
		out, err := infer(t.Context(), &inferencev2.ModelInferRequest{
			Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{input("h", "FP16", nil), input("s", "FP32", nil)},
			RawInputContents: [][]byte{[]byte(halves()), []byte(singles())},
		})
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte(halves()), []byte(singles())}, out.GetRawOutputContents())
	})
	for name, c := range map[string]struct {
		in   *inferencev2.ModelInferRequest
		code codes.Code
		text string
	}{
		"G-05 fewer blobs than inputs, U79": {&inferencev2.ModelInferRequest{
			Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{input("a", "FP32", nil), input("b", "FP32", nil), input("c", "FP32", nil)},
			RawInputContents: [][]byte{{}, {}},
		}, codes.InvalidArgument, "the number of inputs (3) does not match the expected number of raw input contents (2) for model 'echo'."},
		"G-06 raw and typed, U79": {&inferencev2.ModelInferRequest{
			Inputs: typed()[:1], RawInputContents: [][]byte{make([]byte, 32)},
		}, codes.InvalidArgument, "contents field must not be specified when using raw_input_contents for input 'a' for model 'echo'"},
		"G-07 unknown model": {&inferencev2.ModelInferRequest{ModelName: "nope", Inputs: typed()}, codes.NotFound, "Model with name nope does not exist."},
		"G-09 9 MiB, U80": {&inferencev2.ModelInferRequest{
			Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{input("a", "UINT8", nil)}, RawInputContents: [][]byte{make([]byte, 9<<20)},
		}, codes.ResourceExhausted, "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := infer(t.Context(), c.in)
			require.Equal(t, c.code, status.Code(err), err)
			require.Contains(t, status.Convert(err).Message(), c.text)
		})
	}
	t.Run("G-09 5 MiB", func(t *testing.T) {
		big := &inferencev2.ModelInferRequest_InferInputTensor{Name: "a", Datatype: "UINT8", Shape: []int64{5 << 20}}
		out, err := infer(t.Context(), &inferencev2.ModelInferRequest{
			Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{big}, RawInputContents: [][]byte{bytes.Repeat([]byte{7}, 5<<20)},
		})
		require.NoError(t, err)
		require.Len(t, out.GetRawOutputContents()[0], 5<<20)
	})
}
