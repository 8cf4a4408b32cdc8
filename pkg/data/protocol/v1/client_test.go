// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func TestAppendRequest(t *testing.T) {
	cases := map[string]struct {
		req  *tensor.Request
		want string
	}{
		"an array":     {&tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.Int64, []int64{1, 2, 3, 4}, 2, 2)}}, `{"instances":[[1,2],[3,4]]}`},
		"gaps":         {&tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1.5, math.NaN()}, 2)}}, `{"instances":[1.5,null]}`},
		"no instances": {&tensor.Request{}, `{"instances":[]}`},
		"a frame": {&tensor.Request{Frame: true, Inputs: []*tensor.Tensor{
			tensor.From("x", tensor.FP64, []float64{1, 2}, 2), tensor.FromStrings("y", []string{"a", "b"}, 2),
		}}, `{"instances":[{"x":1.0,"y":"a"},{"x":2.0,"y":"b"}]}`},
		"two inputs": {&tensor.Request{Inputs: []*tensor.Tensor{
			tensor.From("x", tensor.Int64, []int64{1, 2, 3, 4}, 2, 2), tensor.From("y", tensor.Int64, []int64{5, 6}, 2),
		}}, `{"instances":[{"x":[1,2],"y":5},{"x":[3,4],"y":6}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body, err := v1.AppendRequest(nil, c.req)
			require.NoError(t, err)
			require.Equal(t, c.want, string(body))
			_, err = new(v1.Decoder).Decode(body)
			require.NoError(t, err)
		})
	}
	_, err := v1.AppendRequest(nil, &tensor.Request{Inputs: []*tensor.Tensor{tensor.FromStrings("x", []string{"\xff"}, 1)}})
	require.ErrorContains(t, err, "not UTF-8")
	_, err = v1.AppendRequest(nil, &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.Int64, []int64{1})}})
	require.ErrorContains(t, err, "no list of instances")
}

func TestDecodeResponse(t *testing.T) {
	resp, err := new(v1.Decoder).DecodeResponse([]byte(`{"model":"x","predictions":[[1.5,2],[3,null]],"more":{}}`))
	require.NoError(t, err)
	require.Len(t, resp.Outputs, 1)
	require.Equal(t, "output-0", resp.Outputs[0].Name)
	require.Equal(t, []int64{2, 2}, resp.Outputs[0].Shape)
	require.Equal(t, 3.0, resp.Outputs[0].Float64(2))

	resp, err = new(v1.Decoder).DecodeResponse([]byte(`{"predictions":["a","b"]}`))
	require.NoError(t, err)
	require.Equal(t, tensor.Bytes, resp.Outputs[0].Type)

	resp, err = new(v1.Decoder).DecodeResponse([]byte(`{"predictions":[{"label":"a","score":1},{"label":"b","score":2}]}`))
	require.NoError(t, err)
	require.True(t, resp.Frame)
	require.Equal(t, "label", resp.Outputs[0].Name)
	require.Equal(t, tensor.Int64, resp.Outputs[1].Type)

	resp, err = new(v1.Decoder).DecodeResponse([]byte(`{"predictions":[]}`))
	require.NoError(t, err)
	require.Equal(t, 0, resp.Outputs[0].Len())

	for body, want := range map[string]string{
		`{"predictions":{"a":1}}`: "to be a list",
		`{"result":[1]}`:          `the answer has no "predictions"`,
		`[1]`:                     `the answer is no JSON object`,
		`upstream is away`:        `the answer is no JSON`,
		`{"predictions":[[1],2]}`: "predictions",
		"\xff":                    "not UTF-8",
		``:                        "no JSON",
	} {
		_, err := new(v1.Decoder).DecodeResponse([]byte(body))
		require.ErrorContains(t, err, want, body)
	}
}

func TestAppendExplanations(t *testing.T) {
	one := tensor.From("output-0", tensor.Int64, []int64{1, 2}, 1, 2)
	cases := map[string]struct {
		resp *tensor.Response
		want string
	}{
		"nothing":       {&tensor.Response{}, `{"explanations":null}`},
		"one output":    {&tensor.Response{Outputs: []*tensor.Tensor{one}}, `{"explanations":[[1,2]]}`},
		"several parts": {&tensor.Response{Outputs: []*tensor.Tensor{one, tensor.FromStrings("kind", []string{"x"})}}, `{"explanations":{"output-0":[[1,2]],"kind":"x"}}`},
		"a frame":       {&tensor.Response{Frame: true, Outputs: []*tensor.Tensor{tensor.From("a", tensor.Int64, []int64{7}, 1)}}, `{"explanations":[{"a":7}]}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			body, err := v1.AppendExplanations(nil, c.resp)
			require.NoError(t, err)
			require.Equal(t, c.want, string(body))
		})
	}
}

// What few elements, or none, are surrounded by has a bound: shapes and names come from clients.
func TestABodyIsNotFarLargerThanWhatIsInIt(t *testing.T) {
	const wide = 1 << 16
	empty := func(shape ...int64) *tensor.Tensor { return tensor.From("x", tensor.FP64, []float64{}, shape...) }
	long := tensor.From(strings.Repeat("n", 1<<20), tensor.Uint8, make([]uint8, 1000), 1000)
	ragged := []*tensor.Tensor{tensor.From("x", tensor.Uint8, make([]uint8, wide), wide)}
	for range wide {
		ragged = append(ragged, tensor.From("y", tensor.Uint8, []uint8{1}, 1))
	}
	deep := tensor.From("x", tensor.Uint8, make([]uint8, 4<<20), append([]int64{4 << 20}, slices.Repeat([]int64{1}, 60)...)...)
	for name, tensors := range map[string][]*tensor.Tensor{
		"no elements": {empty(wide, wide, 0)}, "none, deep": {empty(wide, 1, wide, 0), empty(1, 0)},
		"a long name in each row": {long, long}, "rows without values": ragged, "brackets around each": {deep},
	} {
		_, err := v1.AppendRequest(nil, &tensor.Request{Inputs: tensors})
		require.ErrorContains(t, err, "names and brackets", name)
		require.Equal(t, protocol.TooLarge, protocol.From(err).Code, name)
		_, err = v1.AppendResponse(nil, &tensor.Response{Outputs: tensors})
		require.ErrorContains(t, err, "names and brackets", name)
		_, err = v1.AppendExplanations(nil, &tensor.Response{Outputs: tensors, Frame: len(tensors) > 1})
		require.ErrorContains(t, err, "names and brackets", name)
	}
	for _, shape := range [][]int64{{3, 0}, {0}, {0, 1 << 40}, {1 << 10, 1 << 10, 0}} {
		_, err := v1.AppendRequest(nil, &tensor.Request{Inputs: []*tensor.Tensor{empty(shape...)}})
		require.NoError(t, err, shape)
	}
}
