// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// Element is the set of Go types that a Tensor's fixed-width elements can be viewed as.
// FP16 and BF16 are viewed as their uint16 bit patterns.
type Element interface {
	~bool | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64
}

// Tensor is one named, typed, row-major, contiguous array.
//
// Fixed-width elements live in one little-endian buffer, the layout of the V2 binary and raw gRPC forms, so that a payload
// is used where it arrived. Elements of type Bytes live in a second shape: one buffer and n+1 offsets.
//
// A Tensor may alias memory that it does not own (SetRaw, From); it is valid as long as that memory is.
// The zero Tensor is empty and ready to be Reset.
type Tensor struct {
	Name       string
	Type       Type
	Shape      []int64
	Parameters Parameters

	raw      []byte
	offsets  []int // len n+1 for Bytes, else empty
	null     []Null
	spare    []byte // the tensor's own memory while raw is borrowed
	borrowed bool   // raw belongs to someone else: never written, never reused
}

// Null says why an element of a Bytes or frame column is absent.
type Null uint8

// The states of one element. Models treat NaN and None apart, as NumPy and pandas do.
const (
	Present Null = iota
	None
	NaN
)

// Elements is the number of elements the shape asks for: the product of the dimensions, 1 for a scalar.
// ok is false when a dimension is negative or the product does not fit an int.
func Elements(shape []int64) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		if d > 0 && int64(n) > math.MaxInt/d {
			return 0, false
		}
		n *= int(d)
	}
	return n, true
}

// Len is the number of elements held.
func (t *Tensor) Len() int {
	if t.Type == Bytes {
		return max(len(t.offsets)-1, 0)
	}
	if s := t.Type.Size(); s > 0 {
		return len(t.raw) / s
	}
	return 0
}

// Rows is the first dimension; 1 for a scalar.
func (t *Tensor) Rows() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return int(t.Shape[0])
}

// Reset empties the tensor and sets its name, type and shape, keeping its memory for reuse.
// For a fixed-width type the buffer is sized to the shape with undefined contents; the caller writes every element.
// The shape must be one that Elements accepts.
func (t *Tensor) Reset(name string, typ Type, shape ...int64) {
	n, ok := Elements(shape)
	if !ok {
		// The copy keeps the caller's shape off the heap.
		panic(fmt.Sprintf("tensor: impossible shape %v: callers check shapes from input with Elements", slices.Clone(shape)))
	}
	t.Name, t.Type, t.Parameters, t.null = name, typ, nil, t.null[:0]
	t.Shape = append(t.Shape[:0], shape...)
	t.offsets = t.offsets[:0]
	if t.borrowed {
		t.raw, t.spare, t.borrowed = t.spare, nil, false
	}
	if typ == Bytes {
		t.raw = t.raw[:0]
		t.offsets = append(t.offsets, 0)
		return
	}
	t.grow(n * typ.Size())
}

func (t *Tensor) grow(size int) {
	if cap(t.raw) < size || !aligned(t.raw[:cap(t.raw)]) {
		// Backed by 8-byte words, so that every element type is aligned.
		words := make([]uint64, (size+7)/8)
		t.raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
	}
	t.raw = t.raw[:size]
}

func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0
}

// Raw is the little-endian bytes of a fixed-width tensor. It aliases the tensor.
func (t *Tensor) Raw() []byte { return t.raw }

// SetRaw makes the tensor use data in place as the elements of a fixed-width type.
// It returns an error when data does not hold exactly the elements of shape.
func (t *Tensor) SetRaw(name string, typ Type, shape []int64, data []byte) error {
	n, ok := Elements(shape)
	if !ok {
		return fmt.Errorf("input %q: shape %v has a negative or impossible dimension", name, slices.Clone(shape))
	}
	// The count is compared, not the bytes: their number may not fit an int.
	if size := typ.Size(); size == 0 || len(data)%size != 0 || len(data)/size != n {
		return fmt.Errorf("input %q: %s of shape %v needs %d elements of %d bytes, got %d bytes", name, typ, slices.Clone(shape), n, size, len(data))
	}
	t.borrow(name, typ, shape, data)
	return nil
}

// borrow makes the tensor read data, which it does not own, and keeps its own memory aside for the next Reset.
func (t *Tensor) borrow(name string, typ Type, shape []int64, data []byte) {
	if !t.borrowed {
		t.spare, t.borrowed = t.raw, true
	}
	t.Name, t.Type, t.Parameters = name, typ, nil
	t.Shape = append(t.Shape[:0], shape...)
	t.raw, t.offsets, t.null = data, t.offsets[:0], t.null[:0]
}

// Use makes the tensor read values in place, as SetRaw does for bytes.
// It returns an error when values are not exactly the elements of shape; E's width must be the type's.
func Use[E Element](t *Tensor, name string, typ Type, shape []int64, values []E) error {
	var e E
	size := int(unsafe.Sizeof(e))
	if size != typ.Size() {
		panic(fmt.Sprintf("tensor: %d-byte values are not %s", size, typ))
	}
	return t.SetRaw(name, typ, shape, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*size))
}

// View is the tensor's elements as Go values, without a copy when the buffer is aligned for T (all buffers made by this
// package are; a slice of a received body may not be), else as a fresh copy. E's width must be the type's width.
func View[E Element](t *Tensor) []E {
	var e E
	size := int(unsafe.Sizeof(e))
	if size != t.Type.Size() {
		panic(fmt.Sprintf("tensor: %s viewed as %d-byte elements", t.Type, size))
	}
	n := len(t.raw) / size
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(t.raw))
	if uintptr(p)%unsafe.Alignof(e) == 0 {
		return unsafe.Slice((*E)(p), n)
	}
	out := make([]E, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), n*size), t.raw)
	return out
}

// From makes a tensor that aliases values. The number of values must be the product of shape.
func From[E Element](name string, typ Type, values []E, shape ...int64) *Tensor {
	var e E
	size := int(unsafe.Sizeof(e))
	n, ok := Elements(shape)
	if size != typ.Size() || !ok || n != len(values) {
		panic(fmt.Sprintf("tensor: %d values of %d bytes are not a %s of shape %v", len(values), size, typ, shape))
	}
	return &Tensor{
		Name: name, Type: typ, Shape: shape,
		raw:      unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), n*size),
		borrowed: true,
	}
}

// FromStrings makes a Bytes tensor with a copy of values.
func FromStrings(name string, values []string, shape ...int64) *Tensor {
	t := &Tensor{}
	t.Reset(name, Bytes, shape...)
	for _, v := range values {
		t.AppendString(v)
	}
	return t
}

// AppendString adds one element to a Bytes tensor.
func (t *Tensor) AppendString(v string) {
	t.raw = append(t.raw, v...)
	t.offsets = append(t.offsets, len(t.raw))
}

// AppendBytes adds one element to a Bytes tensor.
func (t *Tensor) AppendBytes(v []byte) {
	t.raw = append(t.raw, v...)
	t.offsets = append(t.offsets, len(t.raw))
}

// Bytes is element i of a Bytes tensor. It aliases the tensor.
func (t *Tensor) Bytes(i int) []byte { return t.raw[t.offsets[i]:t.offsets[i+1]] }

// SetNull marks element i as absent.
func (t *Tensor) SetNull(i int, why Null) {
	for len(t.null) <= i {
		t.null = append(t.null, Present)
	}
	t.null[i] = why
}

// Null says whether and why element i is absent.
func (t *Tensor) Null(i int) Null {
	if i < len(t.null) {
		return t.null[i]
	}
	return Present
}

// Float64 is element i of a fixed-width tensor as a float64: exact for all types but the 64-bit integers, which round.
func (t *Tensor) Float64(i int) float64 {
	switch t.Type {
	case FP64:
		return View[float64](t)[i]
	case FP32:
		return float64(View[float32](t)[i])
	case Int64:
		return float64(View[int64](t)[i])
	case Int32:
		return float64(View[int32](t)[i])
	case Int16:
		return float64(View[int16](t)[i])
	case Int8:
		return float64(View[int8](t)[i])
	case Uint64:
		return float64(View[uint64](t)[i])
	case Uint32:
		return float64(View[uint32](t)[i])
	case Uint16:
		return float64(View[uint16](t)[i])
	case Uint8, Bool:
		return float64(t.raw[i])
	case FP16:
		return float64(Float16(View[uint16](t)[i]))
	case BF16:
		return float64(math.Float32frombits(uint32(View[uint16](t)[i]) << 16))
	default:
		return math.NaN()
	}
}

// AppendFloat64s adds every element as a float64 to dst, converted as Float64 says. Bytes elements are not numbers: ok is false.
func (t *Tensor) AppendFloat64s(dst []float64) (out []float64, ok bool) {
	switch t.Type {
	case Bytes, Invalid:
		return dst, false
	case FP64:
		return append(dst, View[float64](t)...), true
	case FP32:
		for _, v := range View[float32](t) {
			dst = append(dst, float64(v))
		}
		return dst, true
	case Int64:
		for _, v := range View[int64](t) {
			dst = append(dst, float64(v))
		}
		return dst, true
	default:
		for i := range t.Len() {
			dst = append(dst, t.Float64(i))
		}
		return dst, true
	}
}

// Float16 expands an IEEE 754 binary16 bit pattern.
func Float16(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	exp := uint32(bits>>10) & 0x1f
	frac := uint32(bits & 0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	default:
		// A subnormal half is frac * 2^-24, exact as a float32.
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(v))
	}
}
