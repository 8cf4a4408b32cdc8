// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// TestEveryWireAnswersAlike sends the recorded inputs of every model over each wire: all answers are the same, or all refusals are.
func TestEveryWireAnswersAlike(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "data", "models", "*", "case.json"))
	require.NoError(t, err)
	var engines []engine.Engine
	for _, e := range Engines() {
		engines = append(engines, e)
	}
	s := serve.New(serve.Options{Engines: engines})
	defer s.Close()
	rest := httptest.NewServer(s.Handler())
	defer rest.Close()
	client := grpcTo(t, s)
	compared, refused := 0, 0
	for _, path := range paths {
		c, err := readCase(path)
		require.NoError(t, err)
		e := Engines()[c.Format]
		if e == nil || c.Expect == "refused" {
			continue
		}
		file := slices.IndexFunc(c.Files, func(f string) bool { return slices.Contains(e.Extensions(), filepath.Ext(f)) })
		if file < 0 {
			continue
		}
		m := serve.Model{Name: "m", Path: filepath.Join(c.dir, "model", c.Files[file]), Engine: c.Format}
		if s.Add(t.Context(), m) != nil {
			continue // other tests know which of them must open
		}
		for name, in := range c.Inputs {
			if in.Kind != "array" || in.Ndim != 2 || in.DType != "float64" && in.DType != "int64" {
				continue
			}
			x, err := in.array()
			if err != nil || x.Len() == 0 || len(x.Raw()) > 1<<18 || hasInfinity(x) {
				continue // V1 has no word for infinity
			}
			w := &wires{url: rest.URL, client: client}
			answers := map[string]string{"V1": w.v1(t, x), "V2 JSON": w.v2JSON(t, x), "V2 binary": w.v2Binary(t, x), "gRPC": w.grpc(t, x, false), "raw gRPC": w.grpc(t, x, true)}
			for wire, got := range answers {
				if got != answers["V2 binary"] && !strings.HasPrefix(got, severalOutputs) {
					t.Errorf("%s, input %s: over %s %.300s, over V2 binary %.300s", c.Name, name, wire, got, answers["V2 binary"])
				}
			}
			compared++
			if strings.HasPrefix(answers["V1"], "refused") {
				refused++
			}
		}
	}
	t.Logf("%d inputs, %d of them refused alike", compared, refused)
	require.Greater(t, compared, 100)
	require.Less(t, refused, compared*3/4)
}

func grpcTo(t *testing.T, s *serve.Server) inferencev2.GRPCInferenceServiceClient {
	t.Helper()
	server := s.GRPC()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return inferencev2.NewGRPCInferenceServiceClient(conn)
}

func hasInfinity(x *tensor.Tensor) bool {
	for i := range x.Len() {
		if math.IsInf(x.Float64(i), 0) {
			return true
		}
	}
	return false
}

// wires sends one tensor over each wire and writes the elements of the answer down, as all wires could.
type wires struct {
	url    string
	client inferencev2.GRPCInferenceServiceClient
}

func (w *wires) post(t *testing.T, path, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, text
}

func refusal(t *testing.T, code int, text []byte) string {
	t.Helper()
	require.Contains(t, []int{400, 501}, code, "%s", text)
	var e struct{ Error string }
	require.NoError(t, json.Unmarshal(text, &e), "%s", text)
	return "refused: " + e.Error
}

// elements writes numbers so that 1 and 1.0 are alike, and single precision is what its shortest text says.
func elements(t *testing.T, v any, dst []string) []string {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			dst = elements(t, item, dst)
		}
		return dst
	case json.Number:
		f, err := v.Float64()
		require.NoError(t, err)
		return append(dst, strconv.FormatFloat(f, 'g', -1, 64))
	case nil:
		return append(dst, "NaN")
	case bool:
		return append(dst, map[bool]string{true: "1", false: "0"}[v])
	case map[string]any: // a model with several outputs: V1 has rows of objects, and the order of the others is not theirs
		return append(dst, severalOutputs)
	default:
		return append(dst, fmt.Sprint(v))
	}
}

const severalOutputs = "several outputs"

func decodeJSON(t *testing.T, text []byte, v any) {
	t.Helper()
	// The protocols write numbers that JSON has not.
	for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
		text = bytes.ReplaceAll(text, []byte(word), []byte(`"`+map[string]string{"NaN": "NaN", "Infinity": "+Inf", "-Infinity": "-Inf"}[word]+`"`))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(v), "%.200s", text)
}

// rows writes x as nested JSON arrays.
func rows(x *tensor.Tensor) string {
	var b strings.Builder
	width := int(x.Shape[1])
	for i := range x.Len() {
		if i%width == 0 {
			b.WriteString(map[bool]string{true: "[", false: "],["}[i == 0])
		} else {
			b.WriteByte(',')
		}
		switch f := x.Float64(i); {
		case f != f: // NaN
			b.WriteString("null")
		case x.Type == tensor.FP64:
			text := strconv.FormatFloat(f, 'g', -1, 64)
			if !strings.ContainsAny(text, ".e") {
				text += ".0"
			}
			b.WriteString(text)
		default:
			b.WriteString(strconv.FormatInt(tensor.View[int64](x)[i], 10))
		}
	}
	return "[" + b.String() + "]]"
}

func (w *wires) v1(t *testing.T, x *tensor.Tensor) string {
	t.Helper()
	resp, text := w.post(t, "/v1/models/m:predict", `{"instances":`+rows(x)+`}`, "Content-Type", "application/json")
	if resp.StatusCode != http.StatusOK {
		return refusal(t, resp.StatusCode, text)
	}
	var out struct{ Predictions any }
	decodeJSON(t, text, &out)
	return strings.Join(elements(t, out.Predictions, nil), " ")
}

func (w *wires) v2JSON(t *testing.T, x *tensor.Tensor) string {
	t.Helper()
	body := fmt.Sprintf(`{"inputs":[{"name":"input-0","shape":[%d,%d],"datatype":%q,"data":%s}]}`, x.Shape[0], x.Shape[1], x.Type, rows(x))
	resp, text := w.post(t, "/v2/models/m/infer", body, "Content-Type", "application/json")
	if resp.StatusCode != http.StatusOK {
		return refusal(t, resp.StatusCode, text)
	}
	var out struct{ Outputs []struct{ Data any } }
	decodeJSON(t, text, &out)
	var all []string
	for _, o := range out.Outputs {
		all = elements(t, o.Data, all)
	}
	return strings.Join(all, " ")
}

func (w *wires) v2Binary(t *testing.T, x *tensor.Tensor) string {
	t.Helper()
	head := fmt.Sprintf(`{"parameters":{"binary_data_output":true},"inputs":[{"name":"input-0","shape":[%d,%d],"datatype":%q,"parameters":{"binary_data_size":%d}}]}`,
		x.Shape[0], x.Shape[1], x.Type, len(x.Raw()))
	resp, text := w.post(t, "/v2/models/m/infer", head+string(x.Raw()), "Content-Type", "application/octet-stream", v2.HeaderLength, strconv.Itoa(len(head)))
	if resp.StatusCode != http.StatusOK {
		return refusal(t, resp.StatusCode, text)
	}
	n, err := strconv.Atoi(resp.Header.Get(v2.HeaderLength))
	require.NoError(t, err)
	var out struct {
		Outputs []struct {
			Datatype   string
			Shape      []int64
			Data       any
			Parameters struct {
				Size *int `json:"binary_data_size"`
			}
		}
	}
	decodeJSON(t, text[:n], &out)
	rest := text[n:]
	var all []string
	for _, o := range out.Outputs {
		if o.Parameters.Size == nil {
			all = elements(t, o.Data, all)
			continue
		}
		all = rawElements(t, o.Datatype, o.Shape, rest[:*o.Parameters.Size], all)
		rest = rest[*o.Parameters.Size:]
	}
	require.Empty(t, rest)
	return strings.Join(all, " ")
}

func rawElements(t *testing.T, datatype string, shape []int64, raw []byte, dst []string) []string {
	t.Helper()
	typ := tensor.ParseType(datatype)
	if typ == tensor.Bytes {
		for len(raw) > 0 {
			n := int(raw[0]) | int(raw[1])<<8 | int(raw[2])<<16
			dst, raw = append(dst, string(raw[4:4+n])), raw[4+n:]
		}
		return dst
	}
	var x tensor.Tensor
	require.NoError(t, x.SetRaw("output", typ, shape, raw))
	for i := range x.Len() {
		dst = append(dst, strconv.FormatFloat(x.Float64(i), 'g', -1, 64))
	}
	return dst
}

func (w *wires) grpc(t *testing.T, x *tensor.Tensor, raw bool) string {
	t.Helper()
	in := &inferencev2.ModelInferRequest{ModelName: "m", Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "input-0", Datatype: x.Type.String(), Shape: x.Shape}}}
	if raw {
		in.RawInputContents = [][]byte{x.Raw()}
	} else {
		c := &inferencev2.InferTensorContents{}
		if x.Type == tensor.FP64 {
			c.Fp64Contents = tensor.View[float64](x)
		} else {
			c.Int64Contents = tensor.View[int64](x)
		}
		in.Inputs[0].Contents = c
	}
	out, err := w.client.ModelInfer(t.Context(), in)
	if err != nil {
		s, _ := status.FromError(err)
		require.Contains(t, []codes.Code{codes.InvalidArgument, codes.Unimplemented}, s.Code(), s.Message())
		return "refused: " + s.Message()
	}
	var all []string
	for i, o := range out.GetOutputs() {
		if raw {
			all = rawElements(t, o.GetDatatype(), o.GetShape(), out.GetRawOutputContents()[i], all)
			continue
		}
		n := len(all)
		c := o.GetContents()
		for _, v := range c.GetFp64Contents() {
			all = append(all, strconv.FormatFloat(v, 'g', -1, 64))
		}
		for _, v := range c.GetFp32Contents() {
			all = append(all, strconv.FormatFloat(float64(v), 'g', -1, 64))
		}
		for _, v := range c.GetInt64Contents() {
			all = append(all, strconv.FormatFloat(float64(v), 'g', -1, 64))
		}
		for _, v := range c.GetIntContents() {
			all = append(all, strconv.Itoa(int(v)))
		}
		for _, v := range c.GetUintContents() {
			all = append(all, strconv.Itoa(int(v)))
		}
		for _, v := range c.GetUint64Contents() {
			all = append(all, strconv.FormatFloat(float64(v), 'g', -1, 64))
		}
		for _, v := range c.GetBoolContents() {
			all = append(all, map[bool]string{true: "1", false: "0"}[v])
		}
		for _, v := range c.GetBytesContents() {
			all = append(all, string(v))
		}
		wanted, ok := tensor.Elements(o.GetShape())
		if !ok || wanted != len(all)-n {
			t.Error(errors.New("an answer's shape is not that of its contents"))
		}
	}
	return strings.Join(all, " ")
}
