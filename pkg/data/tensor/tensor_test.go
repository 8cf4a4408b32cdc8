// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func TestElements(t *testing.T) {
	cases := map[string]struct {
		shape []int64
		n     int
		ok    bool
	}{
		"a scalar":            {nil, 1, true},
		"a matrix":            {[]int64{2, 3}, 6, true},
		"no rows":             {[]int64{0, 4}, 0, true},
		"a negative size":     {[]int64{-1, 4}, 0, false},
		"more than an int":    {[]int64{math.MaxInt64, 2}, 0, false},
		"zero after too many": {[]int64{math.MaxInt64, 1, 0}, 0, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			n, ok := tensor.Elements(c.shape)
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.n, n)
			}
		})
	}
}

func TestBorrowedMemoryIsNeverWritten(t *testing.T) {
	var x tensor.Tensor
	x.Reset("x", tensor.Int64, 2)
	copy(tensor.View[int64](&x), []int64{1, 2})
	own := &x.Raw()[0]

	body := []byte{9, 9, 9, 9}
	require.NoError(t, x.SetRaw("x", tensor.Uint8, []int64{4}, body))
	require.Same(t, &body[0], &x.Raw()[0])
	x.Reset("x", tensor.Uint8, 4)
	require.Same(t, own, &x.Raw()[0], "its own memory is back")
	copy(x.Raw(), []byte{1, 2, 3, 4})
	require.Equal(t, []byte{9, 9, 9, 9}, body)

	values := []float32{1, 2}
	require.NoError(t, tensor.Use(&x, "x", tensor.FP32, []int64{2}, values))
	x.Reset("x", tensor.Bytes)
	x.AppendString("abcdefgh")
	require.Equal(t, []float32{1, 2}, values)

	y := tensor.From("y", tensor.FP32, values, 2)
	y.Reset("y", tensor.FP32, 2)
	tensor.View[float32](y)[0] = 7
	require.Equal(t, []float32{1, 2}, values)
}

func TestSetRawChecksTheSize(t *testing.T) {
	var x tensor.Tensor
	require.EqualError(t, x.SetRaw("x", tensor.FP32, []int64{2}, make([]byte, 7)), `input "x": FP32 of shape [2] needs 2 elements of 4 bytes, got 7 bytes`)
	require.ErrorContains(t, x.SetRaw("x", tensor.FP32, []int64{-2}, nil), "negative")
	require.Error(t, x.SetRaw("x", tensor.Bytes, []int64{0}, nil))
	require.Error(t, x.SetRaw("x", tensor.FP64, []int64{1 << 61}, nil), "the bytes of this shape do not fit an int")
}

func TestViewOfUnalignedBytes(t *testing.T) {
	raw := make([]byte, 17)
	for i := range raw {
		raw[i] = byte(i)
	}
	var x tensor.Tensor
	for offset := range 2 {
		require.NoError(t, x.SetRaw("x", tensor.Uint64, []int64{2}, raw[offset:offset+16]))
		got := tensor.View[uint64](&x)
		require.EqualValues(t, 0x0706050403020100+uint64(offset)*0x0101010101010101, got[0])
	}
}

func TestTypes(t *testing.T) {
	for typ := tensor.Bool; typ <= tensor.Bytes; typ++ {
		require.Equal(t, typ, tensor.ParseType(typ.String()))
	}
	require.Equal(t, tensor.FP32, tensor.ParseType("fp32"))
	require.Equal(t, tensor.Invalid, tensor.ParseType(""))
	require.Equal(t, tensor.Invalid, tensor.ParseType("FLOAT"))
	require.Empty(t, tensor.Type(200).String())
}

func TestFloat16(t *testing.T) {
	for bits, want := range map[uint16]float32{
		0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: 1.0 / (1 << 24), 0x0400: 1.0 / (1 << 14), 0x8000: float32(math.Copysign(0, -1)),
		0x7c00: float32(math.Inf(1)), 0xfc00: float32(math.Inf(-1)), 0x2e66: 0.0999755859375,
	} {
		require.Equal(t, math.Float32bits(want), math.Float32bits(tensor.Float16(bits)), "%#x", bits)
	}
	require.True(t, math.IsNaN(float64(tensor.Float16(0x7e00))))
}

func TestFloat64OfEveryType(t *testing.T) {
	for name, x := range map[string]*tensor.Tensor{
		"bool": tensor.From("", tensor.Bool, []bool{true, false}, 2), "int8": tensor.From("", tensor.Int8, []int8{1, 0}, 2),
		"int16": tensor.From("", tensor.Int16, []int16{1, 0}, 2), "int32": tensor.From("", tensor.Int32, []int32{1, 0}, 2),
		"int64": tensor.From("", tensor.Int64, []int64{1, 0}, 2), "uint8": tensor.From("", tensor.Uint8, []uint8{1, 0}, 2),
		"uint16": tensor.From("", tensor.Uint16, []uint16{1, 0}, 2), "uint32": tensor.From("", tensor.Uint32, []uint32{1, 0}, 2),
		"uint64": tensor.From("", tensor.Uint64, []uint64{1, 0}, 2), "fp16": tensor.From("", tensor.FP16, []uint16{0x3c00, 0}, 2),
		"bf16": tensor.From("", tensor.BF16, []uint16{0x3f80, 0}, 2), "fp32": tensor.From("", tensor.FP32, []float32{1, 0}, 2),
		"fp64": tensor.From("", tensor.FP64, []float64{1, 0}, 2),
	} {
		got, ok := x.AppendFloat64s(nil)
		require.True(t, ok, name)
		require.Equal(t, []float64{1, 0}, got, name)
	}
	_, ok := tensor.FromStrings("", []string{"1"}, 1).AppendFloat64s(nil)
	require.False(t, ok)
}

func TestReuse(t *testing.T) {
	var req tensor.Request
	first := req.Add()
	first.Reset("a", tensor.FP64, 3)
	req.ID, req.Frame, req.Outputs = "1", true, append(req.Outputs, tensor.Output{Name: "o"})
	req.Reset()
	require.Empty(t, req.Inputs)
	require.Empty(t, req.Outputs)
	require.Empty(t, req.ID)
	require.False(t, req.Frame)
	require.Same(t, first, req.Add())

	var resp tensor.Response
	out := resp.Add("o", tensor.Int64, 2)
	resp.Reset()
	require.Same(t, out, resp.Add("p", tensor.Int64, 1))
	require.Len(t, resp.Outputs, 1)
}

func TestNulls(t *testing.T) {
	x := tensor.FromStrings("x", []string{"a", "", ""}, 3)
	x.SetNull(1, tensor.None)
	x.SetNull(2, tensor.NaN)
	require.Equal(t, []tensor.Null{tensor.Present, tensor.None, tensor.NaN}, []tensor.Null{x.Null(0), x.Null(1), x.Null(2)})
	x.Reset("x", tensor.Bytes, 1)
	x.AppendString("b")
	require.Equal(t, tensor.Present, x.Null(0))
}
