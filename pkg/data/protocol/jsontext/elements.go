// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// AppendElements adds the elements from ≤ i < to of t, with commas between them. Half-precision numbers print as their value,
// single-precision ones as the double of the same value. It fails on a Bytes element that is not UTF-8.
func AppendElements(dst []byte, t *tensor.Tensor, from, to int) ([]byte, error) {
	if from >= to {
		return dst, nil
	}
	switch t.Type {
	case tensor.Int64:
		return appendInts(dst, tensor.View[int64](t)[from:to]), nil
	case tensor.Int32:
		return appendInts(dst, tensor.View[int32](t)[from:to]), nil
	case tensor.Int16:
		return appendInts(dst, tensor.View[int16](t)[from:to]), nil
	case tensor.Int8:
		return appendInts(dst, tensor.View[int8](t)[from:to]), nil
	case tensor.Uint64:
		return appendUints(dst, tensor.View[uint64](t)[from:to]), nil
	case tensor.Uint32:
		return appendUints(dst, tensor.View[uint32](t)[from:to]), nil
	case tensor.Uint16:
		return appendUints(dst, tensor.View[uint16](t)[from:to]), nil
	case tensor.Uint8:
		return appendUints(dst, tensor.View[uint8](t)[from:to]), nil
	case tensor.FP64:
		return appendFloats(dst, tensor.View[float64](t)[from:to]), nil
	case tensor.FP32:
		return appendFloats(dst, tensor.View[float32](t)[from:to]), nil
	case tensor.FP16, tensor.BF16:
		for i := from; i < to; i++ {
			dst = append(AppendFloat(dst, t.Float64(i)), ',')
		}
	case tensor.Bool:
		for _, v := range t.Raw()[from:to] {
			dst = append(strconv.AppendBool(dst, v != 0), ',')
		}
	case tensor.Bytes:
		return appendTexts(dst, t, from, to)
	default:
		return dst, fmt.Errorf("output %q has no datatype", t.Name)
	}
	return dst[:len(dst)-1], nil
}

func appendInts[E int8 | int16 | int32 | int64](dst []byte, values []E) []byte {
	for _, v := range values {
		dst = append(strconv.AppendInt(dst, int64(v), 10), ',')
	}
	return dst[:len(dst)-1]
}

func appendUints[E uint8 | uint16 | uint32 | uint64](dst []byte, values []E) []byte {
	for _, v := range values {
		dst = append(strconv.AppendUint(dst, uint64(v), 10), ',')
	}
	return dst[:len(dst)-1]
}

func appendFloats[E float32 | float64](dst []byte, values []E) []byte {
	for _, v := range values {
		dst = append(AppendFloat(dst, float64(v)), ',')
	}
	return dst[:len(dst)-1]
}

func appendTexts(dst []byte, t *tensor.Tensor, from, to int) ([]byte, error) {
	for i := from; i < to; i++ {
		v := t.Bytes(i)
		switch {
		case t.Null(i) != tensor.Present:
			dst = append(dst, "null,"...)
		case utf8.Valid(v):
			dst = append(AppendString(dst, v), ',')
		default:
			return dst, fmt.Errorf("element %d of output %q is not UTF-8 text: ask for the binary form", i, t.Name)
		}
	}
	return dst[:len(dst)-1], nil
}
