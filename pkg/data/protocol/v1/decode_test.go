// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

const recordedDir = "../../../../test/data/protocol"

// show writes a request on one line: name TYPE[shape] elements; a null text is null or NaN by its kind.
func show(req *tensor.Request) string {
	var out []string
	for _, t := range req.Inputs {
		elements, err := jsontext.AppendElements(nil, t, 0, t.Len())
		if err != nil {
			elements = []byte(err.Error())
		}
		text := string(elements)
		for i := range t.Len() {
			if t.Null(i) == tensor.NaN {
				text = strings.Replace(text, "null", "NaN", 1)
			}
		}
		out = append(out, fmt.Sprintf("%s %s%v %s", t.Name, t.Type, t.Shape, text))
	}
	text := strings.Join(out, "; ")
	if req.Frame {
		return "frame " + text
	}
	return text
}

func TestDecode(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"fractions make FP64":                     {`{"instances":[[5.1,3.5],[1,2]]}`, "instances FP64[2 2] 5.1,3.5,1.0,2.0"},
		"whole numbers make INT64":                {`{"instances":[[5,-3],[9223372036854775807,0]]}`, "instances INT64[2 2] 5,-3,9223372036854775807,0"},
		"an int beyond int64 makes FP64":          {`{"instances":[[9223372036854775808,1]]}`, "instances FP64[1 2] 9.223372036854776e+18,1.0"},
		"booleans make BOOL":                      {`{"instances":[true,false]}`, "instances BOOL[2] true,false"},
		"booleans among ints count":               {`{"instances":[true,2]}`, "instances INT64[2] 1,2"},
		"null is NaN":                             {`{"instances":[[1,null]]}`, "instances FP64[1 2] 1.0,null"},
		"strings make BYTES":                      {`{"instances":["a","\u00e9\n\ud83d\ude00"]}`, `instances BYTES[2] "a","é\n😀"`},
		"numbers among strings become text":       {`{"instances":[["a",1,2.5,true,null]]}`, `instances BYTES[1 5] "a","1","2.5","True",null`},
		"inputs win over instances":               {`{"instances":[[1]],"inputs":[2]}`, "inputs INT64[1] 2"},
		"inputs win in the other order":           {`{"inputs":[2],"instances":[[1]]}`, "inputs INT64[1] 2"},
		"the last of a double key counts":         {`{"instances":[[1]],"instances":[3,4]}`, "instances INT64[2] 3,4"},
		"any rank":                                {`{"instances":[[[1,2]],[[3,4]]]}`, "instances INT64[2 1 2] 1,2,3,4"},
		"an empty list":                           {`{"instances":[]}`, "instances FP64[0] "},
		"an empty row":                            {`{"instances":[[],[]]}`, "instances FP64[2 0] "},
		"a byte order mark is skipped":            {"\ufeff" + `{"instances":[1]}`, "instances INT64[1] 1"},
		"columns of lists":                        {`{"instances":[{"a":[1,2],"b":["x",null]}]}`, `frame a INT64[2] 1,2; b BYTES[2] "x",null`},
		"columns of labelled rows":                {`{"instances":[{"a":{"0":1,"k":2},"b":{"k":4,"0":3}}]}`, "frame a INT64[2] 1,2; b INT64[2] 3,4"},
		"labels are rows in first appearance":     {`{"instances":[{"a":{"x":1},"b":{"y":2,"x":3}}]}`, "frame a FP64[2] 1.0,null; b INT64[2] 3,2"},
		"a row per plain object":                  {`{"instances":[{"a":1,"b":2.5},{"b":4,"a":3}]}`, "frame a INT64[2] 1,3; b FP64[2] 2.5,4.0"},
		"a missing column is NaN":                 {`{"instances":[{"a":1},{"b":"x"}]}`, `frame a FP64[2] 1.0,null; b BYTES[2] NaN,"x"`},
		"a list of row objects":                   {`{"instances":[[{"a":1},{"a":null}]]}`, "frame a FP64[2] 1.0,null"},
		"a single value in a container":           {`{"instances":[[{"a":{"0":5.5}},{"a":[2]}]]}`, "frame a FP64[2] 5.5,2.0"},
		"scalars repeat beside lists":             {`{"instances":[{"a":[1,2],"b":7}]}`, "frame a INT64[2] 1,2; b INT64[2] 7,7"},
		"instances follow each other":             {`{"instances":[{"a":[1,2]},{"a":[3]}]}`, "frame a INT64[3] 1,2,3"},
		"a boolean column":                        {`{"instances":[{"a":true},{"a":false}]}`, "frame a BOOL[2] true,false"},
		"the last of a double column counts":      {`{"instances":[{"a":[1,2],"a":[4,5]}]}`, "frame a INT64[2] 4,5"},
		"an object without columns is a row":      {`{"instances":[{"a":1},{}]}`, "frame a FP64[2] 1.0,null"},
		"ragged rows":                             {`{"instances":[[1,2],[3]]}`, "instances[1]: expected 2 values as in the rows before it, got 1: all rows must have one shape"},
		"ragged deep":                             {`{"instances":[[[1],[2]],[[3],4]]}`, "instances[1][1]: expected an array as in the rows before it, got a single value: all rows must have one shape"},
		"an object among rows":                    {`{"instances":[[1],{"a":1}]}`, "instances[1]: expected a single value, got an object: all rows must have one shape"},
		"a row among objects":                     {`{"instances":[{"a":1},[1]]}`, "instances[1][0]: expected an object as in the first instance"},
		"columns of different length":             {`{"instances":[{"a":[1,2],"b":[1]}]}`, `instances[0]: column "b" has 1 values, the columns before it 2: all must have one length`},
		"columns that mix lists and labels":       {`{"instances":[{"a":[1],"b":{"0":1}}]}`, `instances[0]: column "b" is an object, the columns before it arrays`},
		"a fault of meaning after one of syntax":  {`{"instances":5,}`, "Unrecognized request format: trailing comma is not allowed: line 1 column 16 (char 15)"},
		"neither key":                             {`{"x":1}`, `the body has neither "instances" nor "inputs"`},
		"the position counts characters":          {"{\n\"é\":x", "Unrecognized request format: unexpected character: line 2 column 5 (char 6)"},
		"a lone quote in a nested value is named": {`{"instances":[["a]]}`, "Unrecognized request format: unexpected end of data: line 1 column 21 (char 20)"},
	}
	var d Decoder // one for all: what a request leaves behind must not show in the next
	for range 2 {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				req, err := d.Decode([]byte(c.body))
				if err != nil {
					require.Equal(t, c.want, err.Error())
					return
				}
				require.Equal(t, c.want, show(req))
			})
		}
	}
}

func TestFaultsAsRecorded(t *testing.T) {
	checked := 0
	var d Decoder
	exchanges, err := exchange.Read(recordedDir, "kserve-sklearn", "v1-predict")
	require.NoError(t, err)
	for _, e := range exchanges {
		if e.HTTP.Header("Transfer-Encoding") != "" || e.HTTP.Header("Content-Length") != "" {
			continue // the recorded body is not what the codec sees
		}
		t.Run(e.Name, func(t *testing.T) {
			_, err := d.Decode(e.HTTP.Body)
			if err == nil {
				require.True(t, e.Answer.Status == 200 || e.Fault != "", "recorded: %d %s", e.Answer.Status, e.Answer.Body)
				return
			}
			checked++
			body, status := AppendError(nil, err)
			require.NoError(t, e.JudgeHTTP(exchange.Got{
				Status: status, Headers: map[string]string{"content-type": "application/json"}, Body: body,
			}))
		})
	}
	require.Greater(t, checked, 30)
}

func TestTableOfManyColumnsIsRefused(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"instances":[`)
	for i := range 2000 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"c%d":1}`, i)
	}
	body.WriteString("]}")
	var d Decoder
	_, err := d.Decode([]byte(body.String()))
	require.ErrorContains(t, err, "rows name too many different columns")
}

func TestTallTableOfColumnsInOneRowIsRefused(t *testing.T) {
	var body strings.Builder
	body.WriteString(`{"instances":[{"c":1`)
	for i := range 5000 {
		fmt.Fprintf(&body, `,"c%d":1`, i)
	}
	body.WriteString("}" + strings.Repeat(`,{"c":1}`, 5000) + "]}")
	var d Decoder
	_, err := d.Decode([]byte(body.String()))
	require.ErrorContains(t, err, "rows name too many different columns")
}

func TestAppendResponse(t *testing.T) {
	floats := tensor.From("output-0", tensor.FP64, []float64{1, -0.5, 1e16, 1e-7, 1e-5, 123456789.125}, 2, 3)
	single := tensor.From("output-0", tensor.FP32, []float32{0.1, 6.8}, 2)
	cases := map[string]struct {
		resp *tensor.Response
		want string
	}{
		"nested floats":           {&tensor.Response{Outputs: []*tensor.Tensor{floats}}, `{"predictions":[[1.0,-0.5,1e+16],[1e-7,0.00001,123456789.125]]}`},
		"FP32 prints as a double": {&tensor.Response{Outputs: []*tensor.Tensor{single}}, `{"predictions":[0.10000000149011612,6.800000190734863]}`},
		"labels":                  {&tensor.Response{Outputs: []*tensor.Tensor{tensor.FromStrings("o", []string{"é", "<b>\"\\\x01\n"}, 2)}}, `{"predictions":["é","<b>\"\\\u0001\n"]}`},
		"a frame": {
			&tensor.Response{Frame: true, Outputs: []*tensor.Tensor{
				tensor.From("a", tensor.Int64, []int64{1, 2}, 2), tensor.FromStrings("b", []string{"x", "y"}, 2),
			}},
			`{"predictions":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}`,
		},
		"no rows":    {&tensor.Response{Outputs: []*tensor.Tensor{tensor.From("o", tensor.FP64, []float64{}, 0, 3)}}, `{"predictions":[]}`},
		"no columns": {&tensor.Response{Outputs: []*tensor.Tensor{tensor.From("o", tensor.FP64, []float64{}, 2, 0)}}, `{"predictions":[[],[]]}`},
		"no output":  {&tensor.Response{}, `{"predictions":[]}`},
		"not text":   {&tensor.Response{Outputs: []*tensor.Tensor{tensor.FromStrings("o", []string{"\xff"}, 1)}}, `element 0 of output "o" is not UTF-8 text: ask for the binary form`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body, err := AppendResponse(nil, c.resp)
			if err != nil {
				body = []byte(err.Error())
			}
			require.Equal(t, c.want, string(body))
		})
	}
}

// A million repetitions of a scalar beside a column of a million rows would otherwise be a million times a million cells.
func TestRepeatedScalarsCostOneEach(t *testing.T) {
	var d Decoder
	body := `{"instances":[{"a":[1,2,3],` + strings.Repeat(`"b":7,`, 1000) + `"c":null,"b":8}]}`
	req, err := d.Decode([]byte(body))
	require.NoError(t, err)
	require.Len(t, d.frame.pending, 2)
	require.Len(t, req.Inputs, 3)
	require.Equal(t, []int64{8, 8, 8}, tensor.View[int64](req.Inputs[1]))
}

func TestManyRowLabelsAreNotEmptiedForEveryInstance(t *testing.T) {
	var d Decoder
	var body strings.Builder
	for i := range keepKeys + 2 {
		fmt.Fprintf(&body, `"%d":1,`, i)
	}
	_, err := d.Decode([]byte(`{"instances":[{"a":{` + body.String() + `"x":1}},{"a":{"x":1}},{"a":{"y":2}}]}`))
	require.NoError(t, err)
	require.Len(t, d.frame.labels, 1)
	require.Equal(t, []int64{keepKeys + 5}, d.req.Inputs[0].Shape)
}

// FuzzDecode looks for panics and for requests that break the tensor's promises.
func FuzzDecode(f *testing.F) {
	exchanges, err := exchange.Read(recordedDir, "kserve-sklearn", "v1-predict")
	require.NoError(f, err)
	for _, e := range exchanges {
		if len(e.HTTP.Body) < 4096 {
			f.Add(e.HTTP.Body)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var d Decoder
		req, err := d.Decode(body)
		if err != nil {
			_, status := AppendError(nil, err)
			require.Equal(t, 400, status)
			return
		}
		for _, in := range req.Inputs {
			n, ok := tensor.Elements(in.Shape)
			require.True(t, ok)
			require.Equal(t, n, in.Len())
		}
		_, err = AppendResponse(nil, &tensor.Response{Frame: req.Frame, Outputs: req.Inputs})
		require.NoError(t, err)
	})
}

func BenchmarkIrisOneRow(b *testing.B) {
	body := []byte(`{"instances":[[5.1,3.5,1.4,0.2]]}`)
	resp := &tensor.Response{Outputs: []*tensor.Tensor{tensor.From("output-0", tensor.Int64, []int64{0}, 1)}}
	benchmark(b, body, resp)
}

func BenchmarkThousandRows(b *testing.B) {
	body := []byte(`{"instances":[` + strings.Repeat("[5.1,3.5,1.4,0.2],", 999) + `[5.1,3.5,1.4,0.2]]}`)
	resp := &tensor.Response{Outputs: []*tensor.Tensor{tensor.From("output-0", tensor.Int64, make([]int64, 1000), 1000)}}
	benchmark(b, body, resp)
}

func BenchmarkFrameOneRow(b *testing.B) {
	body := []byte(`{"instances":[{"age":22,"fare":7.25,"sex":"male","class":"Third"}]}`)
	resp := &tensor.Response{Outputs: []*tensor.Tensor{tensor.From("output-0", tensor.Int64, []int64{0}, 1)}}
	benchmark(b, body, resp)
}

func benchmark(b *testing.B, body []byte, resp *tensor.Response) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	var d Decoder
	var out []byte
	for b.Loop() {
		if _, err := d.Decode(body); err != nil {
			b.Fatal(err)
		}
		var err error
		if out, err = AppendResponse(out[:0], resp); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOneRowAllocatesNothing(t *testing.T) {
	body := []byte(`{"instances":[[5.1,3.5,1.4,0.2]]}`)
	var d Decoder
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(body); err != nil {
			t.Fatal(err)
		}
	}))
}
