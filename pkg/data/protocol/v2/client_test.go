// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// everyType is one tensor of each type, with values that only exact forms keep.
func everyType() []*tensor.Tensor {
	return []*tensor.Tensor{
		tensor.From("bool", tensor.Bool, []uint8{1, 0}, 2),
		tensor.From("u8", tensor.Uint8, []uint8{0, 255}, 2),
		tensor.From("u16", tensor.Uint16, []uint16{0, 65535}, 2),
		tensor.From("u32", tensor.Uint32, []uint32{0, 1 << 31}, 2),
		tensor.From("u64", tensor.Uint64, []uint64{0, math.MaxUint64}, 2),
		tensor.From("i8", tensor.Int8, []int8{-128, 127}, 2),
		tensor.From("i16", tensor.Int16, []int16{-32768, 32767}, 2),
		tensor.From("i32", tensor.Int32, []int32{math.MinInt32, math.MaxInt32}, 2),
		tensor.From("i64", tensor.Int64, []int64{math.MinInt64, 1<<53 + 1}, 1, 2),
		tensor.From("f32", tensor.FP32, []float32{0.1, -3.4e38}, 2, 1),
		tensor.From("f64", tensor.FP64, []float64{0.1, 5e-324}, 2),
		tensor.FromStrings("text", []string{"é", "a\"b\n"}, 2),
	}
}

// onlyBinary are tensors that JSON cannot hold.
func onlyBinary() []*tensor.Tensor {
	return []*tensor.Tensor{
		tensor.From("half", tensor.FP16, []uint16{0x3c00, 0x7bff}, 2),
		tensor.From("infinite", tensor.FP64, []float64{math.Inf(1), math.NaN()}, 2),
		tensor.From("infinite32", tensor.FP32, []float32{float32(math.Inf(-1)), 1}, 2),
	}
}

func requireSame(t *testing.T, want, got []*tensor.Tensor) {
	t.Helper()
	require.Len(t, got, len(want))
	for i, w := range want {
		g := got[i]
		require.Equal(t, w.Name, g.Name)
		require.Equal(t, w.Type, g.Type, w.Name)
		require.Equal(t, w.Shape, g.Shape, w.Name)
		require.Equal(t, v2.AppendRaw(nil, w), v2.AppendRaw(nil, g), w.Name)
	}
}

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	cases := map[string]struct {
		inputs []*tensor.Tensor
		binary bool
		isJSON bool
	}{
		"as JSON":                           {everyType(), false, true},
		"as binary":                         {everyType(), true, false},
		"with inputs that JSON cannot hold": {append(everyType(), onlyBinary()...), false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req := &tensor.Request{
				ID: "i", Model: "m", Inputs: c.inputs, Parameters: tensor.Parameters{"k": int64(7)},
				Outputs: []tensor.Output{{Name: "a", Parameters: tensor.Parameters{"binary_data": true}}, {Name: "b"}},
			}
			body, length, err := v2.AppendRequest([]byte{}, req, c.binary)
			require.NoError(t, err)
			o := v2.Options{ContentType: "application/json", KeepTextShape: true}
			require.Equal(t, c.isJSON, length == 0)
			if length > 0 {
				o.ContentType, o.HeaderLength = "application/octet-stream", strconv.Itoa(length)
			}
			got, err := new(v2.Decoder).Decode(body, o)
			require.NoError(t, err, string(body))
			requireSame(t, c.inputs, got.Inputs)
			require.Equal(t, "i", got.ID)
			require.Equal(t, req.Parameters, got.Parameters)
			require.Equal(t, req.Outputs, got.Outputs)
		})
	}
}

func TestARequestForBinaryAnswersSaysSo(t *testing.T) {
	req := &tensor.Request{Inputs: everyType()[:1]}
	body, length, err := v2.AppendRequest(nil, req, true)
	require.NoError(t, err)
	require.Equal(t, `{"parameters":{"binary_data_output":true},"inputs":[{"name":"bool","shape":[2],"datatype":"BOOL","parameters":{"binary_data_size":2}}]}`,
		string(body[:length]))
	require.Nil(t, req.Parameters, "the caller's request is its own")
}

func TestAFrameStaysAFrame(t *testing.T) {
	req := &tensor.Request{Frame: true, Inputs: []*tensor.Tensor{
		tensor.From("x", tensor.FP64, []float64{1, 2}, 2), tensor.FromStrings("y", []string{"a", "b"}, 2),
	}}
	body, length, err := v2.AppendRequest(nil, req, false)
	require.NoError(t, err)
	require.Zero(t, length)
	got, err := new(v2.Decoder).Decode(body, v2.Options{ContentType: "application/json"})
	require.NoError(t, err)
	require.True(t, got.Frame)
	requireSame(t, req.Inputs, got.Inputs)

	msg, err := v2.EncodeRequest(req)
	require.NoError(t, err)
	require.Empty(t, msg.GetRawInputContents())
	got, err = new(v2.Decoder).DecodeMessage(msg)
	require.NoError(t, err)
	require.True(t, got.Frame)
	requireSame(t, req.Inputs, got.Inputs)
}

func TestAnAnswerIsReadAsItWasWritten(t *testing.T) {
	for name, asked := range map[string]tensor.Parameters{"as JSON": nil, "as binary": {"binary_data_output": true}} {
		t.Run(name, func(t *testing.T) {
			want := everyType()
			if asked != nil {
				want = append(want, onlyBinary()...)
			}
			resp := &tensor.Response{ID: "i", Model: "m", Version: "2", Outputs: want, Parameters: tensor.Parameters{"k": "v"}}
			body, length, err := v2.AppendResponse(nil, &tensor.Request{Parameters: asked}, resp)
			require.NoError(t, err)
			header := ""
			if length > 0 {
				header = strconv.Itoa(length)
			}
			got, err := new(v2.Decoder).DecodeResponse(body, header)
			require.NoError(t, err, string(body))
			requireSame(t, want, got.Outputs)
			require.Equal(t, []string{"i", "m", "2"}, []string{got.ID, got.Model, got.Version})
			require.Equal(t, resp.Parameters, got.Parameters)
		})
	}
}

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	all := append(append(everyType(), onlyBinary()...), tensor.FromStrings("bytes", []string{"\xff\x00", ""}, 2))
	msg, err := v2.EncodeRequest(&tensor.Request{ID: "i", Model: "m", Version: "3", Inputs: all, Parameters: tensor.Parameters{"k": true}})
	require.NoError(t, err)
	got, err := new(v2.Decoder).DecodeMessage(msg)
	require.NoError(t, err)
	requireSame(t, all, got.Inputs)
	require.Equal(t, []string{"i", "m", "3"}, []string{got.ID, got.Model, got.Version})
	for _, raw := range []bool{true, false} {
		want := everyType()
		out, err := v2.EncodeMessage(&tensor.Request{}, &tensor.Response{ID: "i", Model: "m", Version: "3", Outputs: want}, raw)
		require.NoError(t, err)
		resp, err := new(v2.Decoder).DecodeResponseMessage(out)
		require.NoError(t, err)
		requireSame(t, want, resp.Outputs)
		require.Equal(t, []string{"i", "m", "3"}, []string{resp.ID, resp.Model, resp.Version})
	}
}

func TestWrongAnswersAreTold(t *testing.T) {
	cases := map[string]struct{ body, header, want string }{
		"no JSON":                {"<html>", "", "the answer is no JSON"},
		"nothing":                {"", "", "the answer is no JSON"},
		"a list":                 {"[]", "", `the answer is no JSON object with "outputs"`},
		"no outputs":             {`{"id":"x"}`, "", `the answer has no "outputs"`},
		"outputs that are none":  {`{"outputs":5}`, "", "Input should be a valid list"},
		"an output without data": {`{"outputs":[{"name":"a","shape":[1],"datatype":"FP32"}]}`, "", "Field required"},
		"data of another length": {`{"outputs":[{"name":"a","shape":[3],"datatype":"FP32","data":[1]}]}`, "", "cannot reshape"},
		"a length beyond":        {`{"outputs":[]}`, "99", "the body has 14 bytes"},
		"a length that is none":  {`{"outputs":[]}`, "x", "Inference-Header-Content-Length"},
		"bytes left over":        {`{"outputs":[]}abc`, "14", "3 bytes of the answer are left over"},
		"no text":                {"\xff\xfe", "", "not UTF-8"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := new(v2.Decoder).DecodeResponse([]byte(c.body), c.header)
			require.ErrorContains(t, err, c.want)
		})
	}
	resp, err := new(v2.Decoder).DecodeResponse([]byte(`{"model_name":"m","model_version":null,"id":null,"outputs":[],"extra":{}}`), "")
	require.NoError(t, err)
	require.Empty(t, resp.Outputs)
}

func FuzzDecodeResponse(f *testing.F) {
	body, length, _ := v2.AppendResponse(nil, &tensor.Request{Parameters: tensor.Parameters{"binary_data_output": true}}, &tensor.Response{Outputs: everyType()})
	f.Add(body, strconv.Itoa(length))
	f.Add([]byte(`{"model_name":"m","outputs":[{"name":"a","shape":[2],"datatype":"FP32","parameters":null,"data":[1,null]}]}`), "")
	f.Add([]byte(`{"outputs":[{"data":[[1],[2]],"name":"a","shape":[2,1],"datatype":"INT64"}],"outputs":[]}`), "")
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		d := new(v2.Decoder)
		resp, err := d.DecodeResponse(body, header)
		if err != nil {
			return
		}
		for _, o := range resp.Outputs {
			n, ok := tensor.Elements(o.Shape)
			require.True(t, ok)
			require.Equal(t, n, o.Len())
		}
	})
}
