// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// show writes a request on one line.
func show(req *tensor.Request) string {
	var out []string
	if req.ID != "" {
		out = append(out, "id "+req.ID)
	}
	if req.Frame {
		out = append(out, "frame")
	}
	for _, t := range req.Inputs {
		elements, err := jsontext.AppendElements(nil, t, 0, t.Len())
		if err != nil {
			elements = []byte(err.Error())
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s%v %s", t.Name, t.Type, t.Shape, elements)))
	}
	for _, o := range req.Outputs {
		out = append(out, "want "+o.Name)
	}
	return strings.Join(out, "; ")
}

// tensorJSON is a body of one input x.
func tensorJSON(datatype, shape, data string) string {
	return fmt.Sprintf(`{"inputs":[{"name":"x","shape":%s,"datatype":%q,"data":%s}]}`, shape, datatype, data)
}

func TestDecodeJSON(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"flat data":                       {tensorJSON("FP64", "[2,2]", "[1,2,3,4.5]"), "x FP64[2 2] 1.0,2.0,3.0,4.5"},
		"nested data":                     {tensorJSON("FP32", "[2,2]", "[[1,2],[3,0.1]]"), "x FP32[2 2] 1.0,2.0,3.0,0.10000000149011612"},
		"nested deeper than the shape":    {tensorJSON("INT32", "[2]", "[[[1],[2]]]"), "x INT32[2] 1,2"},
		"a type in any case":              {tensorJSON("uInt8", "[2]", "[0,255]"), "x UINT8[2] 0,255"},
		"an unknown dimension":            {tensorJSON("INT64", "[-1,2]", "[1,2,3,4]"), "x INT64[2 2] 1,2,3,4"},
		"shape as strings and floats":     {tensorJSON("INT64", `["1",2.0]`, "[1,2]"), "x INT64[1 2] 1,2"},
		"data before the datatype":        {`{"inputs":[{"data":[1,2],"datatype":"INT8","shape":[2],"name":"x"}]}`, "x INT8[2] 1,2"},
		"a fault names the input":         {`{"inputs":[{"datatype":"INT8","data":[1.5],"name":"late","shape":[1]}]}`, `input "late": 1.5 is not an integer (datatype INT8)`},
		"the last datatype counts":        {`{"inputs":[{"name":"x","datatype":"INT8","data":[1],"shape":[1],"datatype":"FP64"}]}`, "x FP64[1] 1.0"},
		"the last id and inputs count":    {`{"id":"a","inputs":[],"id":"b","inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[1]}]}`, "id b; x INT8[1] 1"},
		"exact 64-bit integers":           {tensorJSON("UINT64", "[2]", "[18446744073709551615,0]"), "x UINT64[2] 18446744073709551615,0"},
		"whole floats are integers":       {tensorJSON("INT16", "[2]", "[2.0,-3e2]"), "x INT16[2] 2,-300"},
		"numbers as strings":              {tensorJSON("FP64", "[3]", `["1.5","NaN"," 2 "]`), "x FP64[3] 1.5,null,2.0"},
		"NaN and infinities":              {tensorJSON("FP32", "[3]", "[NaN,-Infinity,null]"), "x FP32[3] null,null,null"},
		"booleans":                        {tensorJSON("BOOL", "[4]", "[true,false,2,0]"), "x BOOL[4] true,false,true,false"},
		"text is a list":                  {tensorJSON("BYTES", "[2,1]", `["a","\u00e9"]`), `x BYTES[2] "a","é"`},
		"outputs":                         {`{"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[1]}],"outputs":[{"name":"b"},{"name":"a","parameters":{"binary_data":true}}]}`, "x INT8[1] 1; want b; want a"},
		"columns of a frame":              {`{"parameters":{"content_type":"pd"},"inputs":[{"name":"a","shape":[3,1],"datatype":"INT64","data":[1,2,3]},{"name":"b","shape":[9],"datatype":"BYTES","data":["x","y"]},{"name":"c","shape":[1],"datatype":"INT8","data":[7]}]}`, `frame; a INT64[3] 1,2,3; b BYTES[3] "x","y",null; c FP64[3] 7.0,null,null`},
		"a byte order mark":               {"\ufeff" + tensorJSON("INT8", "[1]", "[1]"), "x INT8[1] 1"},
		"no elements":                     {tensorJSON("FP32", "[0,4]", "[]"), "x FP32[0 4]"},
		"a scalar":                        {tensorJSON("FP32", "[]", "[1]"), "x FP32[] 1.0"},
		"ragged data":                     {tensorJSON("FP64", "[2,2]", "[[1,2],[3]]"), `input "x": data[1]: expected 2 values as in the rows before it, got 1: all rows must have one shape`},
		"too few elements":                {tensorJSON("FP64", "[2,2]", "[1,2,3]"), `input "x": cannot reshape array of size 3 into shape (2,2)`},
		"a huge shape":                    {tensorJSON("FP64", "[9223372036854775807,9223372036854775807]", "[1]"), `input "x": cannot reshape array of size 1 into shape (9223372036854775807,9223372036854775807)`},
		"a huge shape without elements":   {tensorJSON("FP64", "[0,99999999999]", "[]"), `input "x": shape (0,99999999999) has no elements and a dimension beyond 65536`},
		"two unknown dimensions":          {tensorJSON("FP64", "[-1,-1]", "[1]"), `input "x": shape (-1,-1): can only specify one unknown dimension`},
		"a negative dimension":            {tensorJSON("FP64", "[-2]", "[1]"), `input "x": shape (-2,) has a negative dimension`},
		"out of range":                    {tensorJSON("INT8", "[1]", "[-129]"), `input "x": -129 is out of range for INT8`},
		"a fraction for an integer":       {tensorJSON("INT8", "[1]", "[1.5]"), `input "x": 1.5 is not an integer (datatype INT8)`},
		"beyond FP32":                     {tensorJSON("FP32", "[1]", "[1e39]"), `input "x": 1e39 is out of range for FP32`},
		"beyond FP64":                     {tensorJSON("FP64", "[1]", "[1e999]"), `input "x": 1e999 is out of range for FP64`},
		"a word for a number":             {tensorJSON("FP64", "[1]", `["0x1p3"]`), `input "x": "0x1p3" is not a number (datatype FP64)`},
		"null for text":                   {tensorJSON("BYTES", "[1]", "[null]"), `input "x": expected a string for datatype BYTES, got null`},
		"an object for a number":          {tensorJSON("FP64", "[1]", `[{"a":1}]`), `input "x": data[0]: expected a single value, got an object: all rows must have one shape`},
		"FP16 in JSON":                    {tensorJSON("FP16", "[1]", "[1]"), "Sending FP16 data via JSON is not supported. Please use the binary data format for input x"},
		"an unknown type":                 {tensorJSON("FLOAT", "[1]", "[1]"), "invalid datatype in the input: expected BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64 or BYTES"},
		"no inputs":                       {`{"inputs":[]}`, "the request has no inputs"},
		"form before meaning":             {`{"id":7,"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[1.5]}]}`, "id: Input should be a valid string"},
		"syntax before form":              {`{"id":7,"inputs":[}`, "Unrecognized request format: unexpected character: line 1 column 19 (char 18)"},
		"a parameter of the wrong kind":   {`{"parameters":{"k":[1]},"inputs":[]}`, "parameters,k,float: Input should be a valid number"},
		"a nested form fault has a place": {`{"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[1]},{"name":"y","shape":[true],"datatype":"INT8"}]}`, "inputs,1,shape,0: Input should be a valid integer"},
	}
	var d Decoder
	for range 2 {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				req, err := d.Decode([]byte(c.body), Options{Model: "m", ContentType: "Application/JSON; charset=utf-8"})
				if err != nil {
					require.Equal(t, c.want, err.Error())
					return
				}
				require.Equal(t, c.want, show(req))
			})
		}
	}
}

func TestDecodeBinary(t *testing.T) {
	cases := map[string]struct{ header, raw, want string }{
		"two tensors in order": {
			`{"id":"7","inputs":[{"name":"a","shape":[2],"datatype":"INT16","parameters":{"binary_data_size":4}},{"name":"b","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":11}}]}`,
			"\x01\x00\xff\xff\x01\x00\x00\x00x\x02\x00\x00\x00yz", `id 7; a INT16[2] 1,-1; b BYTES[2] "x","yz"`,
		},
		"JSON data beside binary":    {`{"inputs":[{"name":"a","shape":[1],"datatype":"INT8","data":[5]},{"name":"b","shape":[1],"datatype":"INT8","parameters":{"binary_data_size":1}}]}`, "\x06", "a INT8[1] 5; b INT8[1] 6"},
		"data wins and bytes go":     {`{"inputs":[{"name":"a","shape":[1],"datatype":"INT8","data":[5],"parameters":{"binary_data_size":1}}]}`, "\x06", "a INT8[1] 5"},
		"bools of any byte":          {`{"inputs":[{"name":"a","shape":[4],"datatype":"BOOL","parameters":{"binary_data_size":4}}]}`, "\x00\x01\x02\xff", "a BOOL[4] false,true,true,true"},
		"half precision":             {`{"inputs":[{"name":"a","shape":[2],"datatype":"FP16","parameters":{"binary_data_size":4}}]}`, "\x00\x3c\x00\xc0", "a FP16[2] 1.0,-2.0"},
		"bytes left over":            {`{"inputs":[{"name":"a","shape":[1],"datatype":"INT8","parameters":{"binary_data_size":1}}]}`, "ab", "1 bytes are left over after the last binary input: the sizes do not add up"},
		"too few bytes":              {`{"inputs":[{"name":"a","shape":[4],"datatype":"INT8","parameters":{"binary_data_size":4}}]}`, "ab", `input "a": binary_data_size is 4, and 2 bytes are left in the body`},
		"a size that fits no shape":  {`{"inputs":[{"name":"a","shape":[3],"datatype":"INT8","parameters":{"binary_data_size":2}}]}`, "ab", `input "a": cannot reshape array of size 2 into shape (3,)`},
		"a size that is no whole":    {`{"inputs":[{"name":"a","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":3}}]}`, "abc", `input "a": 3 bytes are no whole number of FP32 elements of 4 bytes`},
		"an unknown dimension":       {`{"inputs":[{"name":"a","shape":[-1],"datatype":"INT8","parameters":{"binary_data_size":1}}]}`, "a", `input "a": shape (-1,) has a negative dimension`},
		"a size that is no integer":  {`{"inputs":[{"name":"a","shape":[1],"datatype":"INT8","parameters":{"binary_data_size":"1"}}]}`, "a", `input "a": binary_data_size must be an integer`},
		"no size":                    {`{"inputs":[{"name":"a","shape":[1],"datatype":"INT8"}]}`, "a", "'data' field is missing for input 'a' for model 'm'"},
		"text that is not UTF-8":     {`{"inputs":[{"name":"a","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`, "\x01\x00\x00\x00\xff", `input "a": BYTES element 0 is not UTF-8 text: declare bytes that are none with the input's parameter content_type: "base64"`},
		"a cut-off element":          {`{"inputs":[{"name":"a","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":5}}]}`, "\xff\xff\xff\xffa", `input "a": BYTES element 0 has length 4294967295, and 1 bytes are left`},
		"no shape":                   {`{"inputs":[{"name":"a","datatype":"INT8","parameters":{"binary_data_size":1}}]}`, "a", "inputs,0,shape: Field required"},
		"a JSON part that is no map": {`[]`, "", "the JSON part must be an object"},
	}
	var d Decoder
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req, err := d.Decode([]byte(c.header+c.raw), Options{
				Model: "m", ContentType: "application/octet-stream", HeaderLength: " " + strconv.Itoa(len(c.header)) + " ",
			})
			if err != nil {
				var own *protocol.Error
				require.ErrorAs(t, err, &own)
				require.Equal(t, protocol.Invalid, own.Code)
				require.Equal(t, c.want, err.Error())
				return
			}
			require.Equal(t, c.want, show(req))
		})
	}
}

func TestBinaryIsUsedInPlace(t *testing.T) {
	body, options := irisBinary(1)
	var d Decoder
	req, err := d.Decode(body, options)
	require.NoError(t, err)
	require.Same(t, &body[len(body)-16], &req.Inputs[0].Raw()[0])
	// What the body's owner does with it afterwards must not be undone by the decoder's reuse of its own memory.
	last := append([]byte{}, body...)
	_, err = d.Decode([]byte(irisJSON), Options{ContentType: "application/json"})
	require.NoError(t, err)
	require.Equal(t, last, body)
}

func TestHeaderLengthIsNamed(t *testing.T) {
	var d Decoder
	for _, length := range []string{"abc", "-1", "99", "1.0", "0x1"} {
		_, err := d.Decode([]byte("{}"), Options{HeaderLength: length})
		require.ErrorContains(t, err, HeaderLength, length)
	}
}

func TestManyProblemsAreBounded(t *testing.T) {
	body := `{"inputs":[` + strings.Repeat(`{},`, 5000) + `{}]}`
	var d Decoder
	_, err := d.Decode([]byte(body), Options{ContentType: "application/json"})
	var schema *SchemaError
	require.ErrorAs(t, err, &schema)
	require.Equal(t, 422, schema.Status)
	require.Less(t, len(schema.Detail), 16<<10)
}

func TestLongNamesAreNotEchoedWhole(t *testing.T) {
	var d Decoder
	_, err := d.Decode([]byte(`{"parameters":{"`+strings.Repeat("é", 1<<20)+`":null}}`), Options{ContentType: "application/json"})
	body, status := AppendError(nil, err)
	require.Equal(t, 422, status)
	require.Less(t, len(body), 64<<10)
	require.True(t, json.Valid(body))
}

func TestOneLongColumnAmongManyIsRefused(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"parameters":{"content_type":"pd"},"inputs":[{"name":"long","shape":[1],"datatype":"INT8","data":[` + strings.Repeat("1,", 5000) + `1]}`)
	for range 5000 {
		body.WriteString(`,{"name":"x","shape":[1],"datatype":"INT8","data":[1]}`)
	}
	body.WriteString("]}")
	var d Decoder
	_, err := d.Decode([]byte(body.String()), Options{ContentType: "application/json"})
	require.ErrorContains(t, err, "far shorter than the longest")
}

func TestMessageIsReadAndNotChanged(t *testing.T) {
	in := &inferencev2.ModelInferRequest{Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
		Name: "x", Datatype: "int32", Shape: []int64{-1, 2}, Contents: &inferencev2.InferTensorContents{IntContents: []int32{1, 2, 3, 4}},
	}}}
	before := proto.Clone(in)
	var d Decoder
	req, err := d.DecodeMessage(in)
	require.NoError(t, err)
	require.Equal(t, "x INT32[2 2] 1,2,3,4", show(req))
	require.Equal(t, &in.GetInputs()[0].GetContents().GetIntContents()[0], &tensor.View[int32](req.Inputs[0])[0], "in place")
	_, err = d.Decode([]byte(tensorJSON("INT32", "[3,1]", "[7,8,9]")), Options{ContentType: "application/json"})
	require.NoError(t, err)
	require.True(t, proto.Equal(before, in))
}

func TestRankIsBounded(t *testing.T) {
	var d Decoder
	_, err := d.Decode([]byte(tensorJSON("INT8", "["+strings.Repeat("1,", 99)+"1]", "[1]")), Options{ContentType: "application/json"})
	require.EqualError(t, err, `input "x": shape has more than 64 dimensions`)
	in := &inferencev2.ModelInferRequest_InferInputTensor{Name: "x", Datatype: "INT32", Shape: make([]int64, 1000)}
	_, err = d.DecodeMessage(&inferencev2.ModelInferRequest{Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{in}})
	require.EqualError(t, err, `input "x": shape has more than 64 dimensions`)
}

func TestRepeatedOutputsAreBounded(t *testing.T) {
	resp := labels(1)
	req := &tensor.Request{}
	for range 100 {
		req.Outputs = append(req.Outputs, tensor.Output{Name: "output-0"})
	}
	_, _, err := AppendResponse(nil, req, resp)
	require.EqualError(t, err, "the request asks for 100 outputs and model 'iris' has 1")
	_, err = EncodeMessage(req, resp, false)
	require.EqualError(t, err, "the request asks for 100 outputs and model 'iris' has 1")
}

func TestStatus(t *testing.T) {
	for code, want := range map[protocol.Code]codes.Code{
		protocol.Internal: codes.Internal, protocol.Invalid: codes.InvalidArgument, protocol.NotFound: codes.NotFound,
		protocol.Conflict: codes.Aborted, protocol.TooLarge: codes.ResourceExhausted, protocol.TooMany: codes.ResourceExhausted,
		protocol.Unsupported: codes.Unimplemented, protocol.UnsupportedType: codes.InvalidArgument,
		protocol.Unavailable: codes.Unavailable, protocol.Deadline: codes.DeadlineExceeded, protocol.SlowClient: codes.DeadlineExceeded,
	} {
		require.Equal(t, want, Status(protocol.Errorf(code, "x")).Code())
	}
	secret := Status(errors.New("a path on this machine"))
	require.Equal(t, codes.Internal, secret.Code())
	require.Equal(t, "internal error", secret.Message())
}

func TestDocuments(t *testing.T) {
	require.Equal(t, `{"name":"kserve","version":"0.20.0","extensions":["model_repository_extension"]}`,
		string(ServerMetadata{"kserve", "0.20.0", []string{"model_repository_extension"}}.AppendJSON(nil)))
	require.Equal(t, `{"name":"a","versions":null,"platform":"","inputs":[],"outputs":[]}`, string(ModelMetadata{Name: "a"}.AppendJSON(nil)))
	require.Equal(t, `{"name":"typed","versions":["1"],"platform":"sklearn","inputs":[{"name":"x","datatype":"FP32","shape":[-1,3]}],"outputs":[]}`,
		string(ModelMetadata{
			Name: "typed", Versions: []string{"1"}, Platform: "sklearn",
			Inputs: []TensorMetadata{{"x", tensor.FP32, []int64{-1, 3}}},
		}.AppendJSON(nil)))
	require.Equal(t, `{"models":["a","b"]}`, string(AppendModels(nil, []string{"a", "b"})))
	require.Equal(t, `{"name":"a","ready":true}`, string(AppendModelReady(nil, "a", true)))
	require.Equal(t, `{"name":"a","load":true}`, string(AppendModelLoad(nil, "a")))
	require.Equal(t, `{"name":"a","unload":true}`, string(AppendModelUnload(nil, "a")))
	require.Equal(t, `{"live":true}`, string(AppendLive(nil, true)))
	require.Equal(t, `{"ready":false}`, string(AppendReady(nil, false)))
	require.Equal(t, `[{"name":"a","version":"","state":"READY","reason":""}]`, string(AppendIndex(nil, []IndexEntry{{Name: "a", State: "READY"}})))
}

func TestMessageRequestedOutputs(t *testing.T) {
	resp := &tensor.Response{ID: "1", Model: "m", Outputs: []*tensor.Tensor{
		tensor.From("a", tensor.Int8, []int8{-1}, 1), tensor.From("b", tensor.FP64, []float64{2}, 1), tensor.FromStrings("c", []string{"x"}, 1),
	}}
	got, err := EncodeMessage(&tensor.Request{Outputs: []tensor.Output{{Name: "c"}, {Name: "a"}}}, resp, false)
	require.NoError(t, err)
	require.Len(t, got.GetOutputs(), 2)
	require.Equal(t, "c", got.GetOutputs()[0].GetName())
	require.Equal(t, []int32{-1}, got.GetOutputs()[1].GetContents().GetIntContents())
	_, err = EncodeMessage(&tensor.Request{Outputs: []tensor.Output{{Name: "z"}}}, resp, false)
	require.EqualError(t, err, "Unexpected inference output 'z' for model 'm'")
	got, err = EncodeMessage(&tensor.Request{}, resp, true)
	require.NoError(t, err)
	require.Equal(t, [][]byte{{0xff}, {0, 0, 0, 0, 0, 0, 0, 0x40}, {1, 0, 0, 0, 'x'}}, got.GetRawOutputContents())
	require.EqualValues(t, 5, got.GetOutputs()[2].GetParameters()["binary_data_size"].GetInt64Param())
}

// checkRequest fails when a decoded request breaks the tensor's promises, or cannot be written in any form.
func checkRequest(t *testing.T, req *tensor.Request) {
	t.Helper()
	for _, in := range req.Inputs {
		n, ok := tensor.Elements(in.Shape)
		require.True(t, ok)
		require.Equal(t, n, in.Len())
	}
	resp := &tensor.Response{ID: "1", Model: "m", Outputs: req.Inputs}
	_, _, _ = AppendResponse(nil, req, resp)
	_, _ = EncodeMessage(req, resp, true)
	_, _ = EncodeMessage(req, resp, false)
}

func FuzzDecodeJSON(f *testing.F) {
	for _, group := range []string{"v2-infer", "v2-binary"} {
		for _, e := range read(f, "kserve-sklearn", group) {
			if len(e.HTTP.Body) < 4096 {
				f.Add(e.HTTP.Body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var d Decoder
		req, err := d.Decode(body, Options{Model: "m", ContentType: "application/json", KeepTextShape: true})
		if err != nil {
			out, status := AppendError(nil, err)
			require.Contains(t, []int{400, 422}, status)
			s := jsontext.Scanner{}
			s.Reset(out)
			require.NoError(t, s.Skip(), "%s", out)
			require.NoError(t, s.End(), "%s", out)
			return
		}
		checkRequest(t, req)
	})
}

func FuzzDecodeBinary(f *testing.F) {
	for _, e := range read(f, "kserve-sklearn", "v2-binary") {
		n, err := strconv.Atoi(e.HTTP.Header(HeaderLength))
		if err == nil && n >= 0 && n <= len(e.HTTP.Body) && len(e.HTTP.Body) < 4096 {
			f.Add(e.HTTP.Body[:n], e.HTTP.Body[n:])
		}
	}
	f.Fuzz(func(t *testing.T, header, raw []byte) {
		var d Decoder
		body := append(append([]byte{}, header...), raw...)
		before := string(body)
		req, err := d.Decode(body, Options{Model: "m", HeaderLength: strconv.Itoa(len(header))})
		require.Equal(t, before, string(body))
		if err != nil {
			_, status := AppendError(nil, err)
			require.Contains(t, []int{400, 422}, status)
			return
		}
		checkRequest(t, req)
	})
}

func FuzzDecodeMessage(f *testing.F) {
	for _, e := range read(f, "kserve-sklearn", "grpc-infer") {
		var in inferencev2.ModelInferRequest
		if protojson.Unmarshal(e.Call.Request, &in) == nil {
			body, err := proto.Marshal(&in)
			require.NoError(f, err)
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in inferencev2.ModelInferRequest
		if proto.Unmarshal(body, &in) != nil {
			return
		}
		var d Decoder
		req, err := d.DecodeMessage(&in)
		if err != nil {
			require.Equal(t, codes.InvalidArgument, Status(err).Code())
			return
		}
		checkRequest(t, req)
	})
}

// TestParametersKeepTheirTypes: what a model copies from a request to its answer comes back as it was sent, over REST and gRPC.
func TestParametersKeepTheirTypes(t *testing.T) {
	const sent = `{"f":1.5,"i":1,"s":"1","t":true}`
	var d Decoder
	req, err := d.Decode([]byte(`{"id":"1","parameters":`+sent+`,"inputs":[{"name":"x","shape":[1],"datatype":"INT8","parameters":`+sent+`,"data":[1]}],`+
		`"outputs":[{"name":"x","parameters":`+sent+`}]}`), Options{ContentType: "application/json"})
	require.NoError(t, err)
	require.Equal(t, req.Parameters, req.Outputs[0].Parameters)
	resp := tensor.Response{Model: "m", ID: "1", Parameters: req.Parameters}
	resp.Add("x", tensor.Int8, 1).Parameters = req.Inputs[0].Parameters
	body, _, err := AppendResponse(nil, req, &resp)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(body), `"parameters":`+sent), string(body))

	params := map[string]*inferencev2.InferParameter{
		"i": {ParameterChoice: &inferencev2.InferParameter_Int64Param{Int64Param: 1}},
		"s": {ParameterChoice: &inferencev2.InferParameter_StringParam{StringParam: "1"}},
		"t": {ParameterChoice: &inferencev2.InferParameter_BoolParam{BoolParam: true}},
	}
	req, err = d.DecodeMessage(&inferencev2.ModelInferRequest{
		Parameters: params, Outputs: []*inferencev2.ModelInferRequest_InferRequestedOutputTensor{{Name: "x", Parameters: params}},
		Inputs: []*inferencev2.ModelInferRequest_InferInputTensor{{
			Name: "x", Datatype: "INT8", Shape: []int64{1}, Parameters: params, Contents: &inferencev2.InferTensorContents{IntContents: []int32{1}},
		}},
	})
	require.NoError(t, err)
	require.Equal(t, req.Parameters, req.Outputs[0].Parameters)
	resp = tensor.Response{Parameters: req.Parameters}
	resp.Add("x", tensor.Int8, 1).Parameters = req.Inputs[0].Parameters
	out, err := EncodeMessage(req, &resp, false)
	require.NoError(t, err)
	for name, p := range params {
		require.True(t, proto.Equal(p, out.GetParameters()[name]), name)
		require.True(t, proto.Equal(p, out.GetOutputs()[0].GetParameters()[name]), name)
	}
}

func TestOfKeysThatComeTwiceTheLastCounts(t *testing.T) {
	for name, members := range map[string]string{
		"a datatype":                      `"datatype":"FP64","datatype":"INT8","data":[1,2]`,
		"a datatype after its data":       `"datatype":"FP16","data":[1,2],"datatype":"INT8"`,
		"data that do not fit":            `"datatype":"INT8","data":["a"],"data":[1,2]`,
		"data before the datatype":        `"data":[[1],2],"data":[1,2],"datatype":"INT8"`,
		"data that fit, of no datatype":   `"datatype":"X","data":[1,2],"datatype":"INT8"`,
		"data and datatype, in turn":      `"datatype":"INT8","data":[300],"datatype":"INT16","data":[1,2],"datatype":"INT8"`,
		"data that the datatype is after": `"data":[9],"datatype":"FP64","data":[1,2],"datatype":"INT8"`,
	} {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			req, err := d.Decode([]byte(`{"inputs":[{"name":"x","shape":[2],`+members+`}]}`), Options{ContentType: "application/json"})
			require.NoError(t, err)
			require.Equal(t, []int8{1, 2}, tensor.View[int8](req.Inputs[0]))
		})
	}
	var d Decoder
	_, err := d.Decode([]byte(`{"inputs":[{"name":"y","shape":[1],"datatype":"INT8","data":[300]},{"name":"x","shape":[1],"datatype":"INT8","data":["a"],"data":[1]}]}`),
		Options{ContentType: "application/json"})
	require.ErrorContains(t, err, `"y"`, "the fault of another input stays")
}
