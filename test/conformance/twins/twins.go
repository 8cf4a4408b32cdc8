// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package twins has the models of test/data/protocol/models/custom/server.py in Go, so that what clients of a custom model saw there can
// be asked of this server.
//
// Called by: test/conformance.
// Next: data/serve, which serves them like any other model.
package twins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Sleepy is the name of the model that is never ready: it cannot be loaded.
const Sleepy = "sleepy"

// Models are the models, in the order of the recorded server.
func Models() []serve.Model {
	return []serve.Model{
		{Name: "echo", Model: echo{}},
		{Name: "raiser", Model: raiser{}},
		{Name: "odd", Model: odd{}},
		{Name: "typed", Model: typed{}},
		{Name: "two", Model: two{}},
		{Name: Sleepy, Path: "there/is/none"},
		{Name: "base", Model: plain{}},
	}
}

// plain is a model with nothing of its own.
type plain struct{}

// Metadata implements engine.Model.
func (plain) Metadata() engine.Metadata {
	return engine.Metadata{Class: "twin", Methods: []string{"predict"}}
}

// Close implements engine.Model.
func (plain) Close() error { return nil }

// Predict implements engine.Model.
func (plain) Predict(context.Context, *tensor.Request, *tensor.Response) error {
	return protocol.Errorf(protocol.Unsupported, "Could not find predictor_host.")
}

// member is the value of a member of a body's object, as it is written.
func member(body []byte, names ...string) (value json.RawMessage, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, protocol.Errorf(protocol.Invalid, "the body must be a JSON object")
	}
	for _, name := range names {
		if v, ok := object[name]; ok {
			return v, nil
		}
	}
	return json.RawMessage("null"), nil
}

// echo answers with what came.
type echo struct{ plain }

// Predict implements engine.Model.
func (echo) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	for _, t := range in.Inputs {
		o := out.Add(t.Name, t.Type, t.Shape...)
		if t.Type != tensor.Bytes {
			copy(o.Raw(), t.Raw())
			continue
		}
		for i := range t.Len() {
			o.AppendBytes(t.Bytes(i))
		}
	}
	return nil
}

// V1 implements engine.Raw.
func (echo) V1(_ context.Context, in *engine.RawRequest) (*engine.RawAnswer, error) {
	key, names := "predictions", []string{"instances", "inputs"}
	if in.Verb == "explain" {
		key, names = "explanations", names[:1]
	}
	switch {
	case in.JSON:
		value, err := member(in.Body, names...)
		if err != nil {
			return nil, err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, err
		}
		return &engine.RawAnswer{Body: []byte(`{"` + key + `":` + unescaped(compact.Bytes()) + `}`)}, nil
	case in.Verb == "explain":
		return &engine.RawAnswer{Body: []byte(`{"explanations":null}`)}, nil
	default:
		return &engine.RawAnswer{ContentType: "application/octet-stream", Body: bytes.Clone(in.Body)}, nil
	}
}

// unescaped writes the texts of a JSON value as the protocols print them.
func unescaped(text []byte) string {
	var out []byte
	var s jsontext.Scanner
	s.Reset(text)
	for at := 0; at < len(text); {
		if text[at] != '"' {
			out = append(out, text[at])
			at++
			continue
		}
		s.Seek(at, 0)
		s.Peek()
		v, err := s.String()
		if err != nil {
			return string(text)
		}
		out = jsontext.AppendString(out, v)
		at = s.Offset()
	}
	return string(out)
}

// raiser fails in the way that the first text of the request names.
type raiser struct{ plain }

func raise(kind string) error {
	own := protocol.Errorf
	switch kind {
	case "InvalidInput":
		return own(protocol.Invalid, "bad input")
	case "InferenceError":
		return own(protocol.Failed, "inference went wrong")
	case "InferenceErrorStatus":
		return own(protocol.Failed, "[42] inference went wrong")
	case "ModelNotFound":
		return own(protocol.NotFound, "Model with name other does not exist.")
	case "ModelNotReady":
		return own(protocol.Unavailable, "Model with name other is not ready.")
	case "ModelNotReadyDetail":
		return own(protocol.Unavailable, "Model with name other is not ready. warming up")
	case "ServerNotReady":
		return own(protocol.Unavailable, "Server is not ready.")
	case "ServerNotLive":
		return own(protocol.Unavailable, "Server is not live.")
	case "UnsupportedProtocol":
		return own(protocol.Invalid, "Unsupported protocol v9.")
	case "NotImplementedError":
		return own(protocol.Unsupported, "not here")
	default:
		return errors.New(kind)
	}
}

// Predict implements engine.Model.
func (raiser) Predict(_ context.Context, in *tensor.Request, _ *tensor.Response) error {
	return raise(string(in.Inputs[0].Bytes(0)))
}

// V1 implements engine.Raw.
func (raiser) V1(_ context.Context, in *engine.RawRequest) (*engine.RawAnswer, error) {
	kind, err := firstText(in.Body)
	if err != nil {
		return nil, err
	}
	return nil, raise(kind)
}

func firstText(body []byte) (string, error) {
	value, err := member(body, "instances")
	if err != nil {
		return "", err
	}
	var texts []string
	if err := json.Unmarshal(value, &texts); err != nil || len(texts) == 0 {
		return "", protocol.Errorf(protocol.Invalid, "instances must be a list of texts")
	}
	return texts[0], nil
}

// odd answers V1 with the kind of result that the first text of the request names.
type odd struct{ plain }

// V1 implements engine.Raw.
func (odd) V1(ctx context.Context, in *engine.RawRequest) (*engine.RawAnswer, error) {
	kind, err := firstText(in.Body)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "str":
		return &engine.RawAnswer{ContentType: "text/plain", Body: []byte("plain text")}, nil
	case "bytes":
		return &engine.RawAnswer{ContentType: "application/octet-stream", Body: []byte{0, 1, 0xff}}, nil
	case "headers":
		serve.SetResponseHeader(ctx, "x-model", "odd")
		return &engine.RawAnswer{ContentType: "text/x-odd", Body: []byte(`{"predictions":[]}`)}, nil
	case "stream":
		return &engine.RawAnswer{Chunks: func(yield func([]byte, error) bool) {
			for i := range 3 {
				if !yield([]byte("chunk "+strconv.Itoa(i)+"\n"), nil) {
					return
				}
			}
		}}, nil
	case "nan", "floats":
		return &engine.RawAnswer{Body: floats(kind)}, nil
	}
	body, ok := fixed[kind]
	if !ok {
		return nil, errors.New("no result named " + kind)
	}
	return &engine.RawAnswer{Body: []byte(body)}, nil
}

func floats(kind string) []byte {
	values := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.5}
	if kind == "floats" {
		values = []float64{
			0.1, 1, 1e16, 1e22, 1e-7, 123456789.123456789, 5e-324, math.MaxFloat64, math.Copysign(0, -1), 100, 1e15,
		}
	}
	out := []byte(`{"predictions":[`)
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsontext.AppendFloat(out, v)
	}
	return append(out, "]}"...)
}

// fixed are results that need no computing.
var fixed = map[string]string{
	"list":         `[1,2,3]`,
	"ints":         `{"predictions":[0,-1,9007199254740992,9223372036854775807,-9223372036854775808,18446744073709551615]}`,
	"bigint":       `{"predictions":[18446744073709551616]}`,
	"numpy":        `{"predictions":[[1.5,2.0],[3.0,4.0]]}`,
	"numpy-scalar": `{"predictions":[1.5]}`,
	"datetime":     `{"predictions":["2024-01-02T03:04:05.678000","2024-01-02"]}`,
	"unicode":      "{\"predictions\":[\"é\",\"☃\",\"\\u0001\",\"\\\\\",\"/\",\"<b>\",\"\u2028\",\"😀\",\"\x7f\"]}",
	"none":         `{"predictions":null}`,
	"null":         `null`,
	"tuple":        `{"predictions":[1,2]}`,
	"frame":        `{"predictions":[{"a":1}]}`,
	"v2":           `{"id":"r1","model_name":"odd","model_version":null,"outputs":[{"name":"o","shape":[2],"datatype":"FP32","data":[1.0,2.0]}]}`,
}

// typed says what its input and output are, and adds up rows.
type typed struct{ plain }

// Metadata implements engine.Model.
func (typed) Metadata() engine.Metadata {
	return engine.Metadata{
		Methods: []string{"predict"},
		Inputs:  []engine.TensorMetadata{{Name: "x", Type: tensor.FP32, Shape: []int64{-1, 3}}},
		Outputs: []engine.TensorMetadata{{Name: "sum", Type: tensor.FP32, Shape: []int64{-1}}},
	}
}

// Predict implements engine.Model.
func (typed) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	sums, err := rowSums(in)
	if err != nil {
		return err
	}
	copy(tensor.View[float32](out.Add("sum", tensor.FP32, int64(len(sums)))), sums)
	return nil
}

func rowSums(in *tensor.Request) ([]float32, error) {
	x := in.Inputs[0]
	values, ok := x.AppendFloat64s(nil)
	if !ok || len(x.Shape) != 2 {
		return nil, protocol.Errorf(protocol.Invalid, "input %q: expected numbers of shape [-1,-1], got %s of shape %v", x.Name, x.Type, x.Shape)
	}
	sums := make([]float32, x.Rows())
	for i := range sums {
		for _, v := range values[i*int(x.Shape[1]) : (i+1)*int(x.Shape[1])] {
			sums[i] += float32(v)
		}
	}
	return sums, nil
}

// two has two outputs.
type two struct{ plain }

// Predict implements engine.Model.
func (two) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	sums, err := rowSums(in)
	if err != nil {
		return err
	}
	labels := out.Add("labels", tensor.Bytes, int64(len(sums)))
	labels.Parameters = tensor.Parameters{"note": "first"}
	scores := tensor.View[float32](out.Add("scores", tensor.FP32, int64(len(sums)), 2))
	for i, v := range sums {
		label := "lo"
		if v > 1 {
			label = "hi"
		}
		labels.AppendString(label)
		scores[2*i], scores[2*i+1] = v, -v
	}
	return nil
}
