// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"maps"
	"slices"
)

// AppendRows adds the rows of src behind t's own. Name, type and every dimension but the first are t's; the caller has compared them.
// t must own its memory: it was made by Reset.
func (t *Tensor) AppendRows(src *Tensor) {
	before := t.Len()
	t.Shape[0] += src.Shape[0]
	if t.Type == Bytes {
		base := len(t.raw) - firstOffset(src)
		t.raw = append(t.raw, src.elements()...)
		for _, o := range src.offsets[min(1, len(src.offsets)):] {
			t.offsets = append(t.offsets, base+o)
		}
	} else {
		size := len(t.raw)
		t.extend(size + len(src.raw))
		copy(t.raw[size:], src.raw)
	}
	t.appendNulls(before, src, 0, src.Len())
}

// extend makes the buffer longer and keeps what it holds.
func (t *Tensor) extend(size int) {
	if size <= cap(t.raw) {
		t.raw = t.raw[:size]
		return
	}
	old := t.raw
	t.raw = nil
	t.grow(max(size, 2*cap(old)))
	t.raw = t.raw[:size]
	copy(t.raw, old)
}

func firstOffset(t *Tensor) int {
	if len(t.offsets) == 0 {
		return 0
	}
	return t.offsets[0]
}

// elements are the bytes of all elements of a Bytes tensor.
func (t *Tensor) elements() []byte {
	if len(t.offsets) == 0 {
		return nil
	}
	return t.raw[t.offsets[0]:t.offsets[len(t.offsets)-1]]
}

// appendNulls marks elements from before on as src's elements from first on are marked.
func (t *Tensor) appendNulls(before int, src *Tensor, first, n int) {
	for i := first; i < min(first+n, len(src.null)); i++ {
		if src.null[i] != Present {
			t.SetNull(before+i-first, src.null[i])
		}
	}
}

// HasNull reports whether an element is absent.
func (t *Tensor) HasNull() bool {
	return slices.ContainsFunc(t.null, func(n Null) bool { return n != Present })
}

// CopyRows makes t a copy of n rows of src, from row first on, in memory of its own. src has at least so many rows.
func (t *Tensor) CopyRows(src *Tensor, first, n int) {
	width := 0
	if rows := src.Rows(); rows > 0 {
		width = src.Len() / rows
	}
	var dims [8]int64
	shape := append(dims[:0], src.Shape...)
	shape[0] = int64(n)
	t.Reset(src.Name, src.Type, shape...)
	t.Parameters = maps.Clone(src.Parameters)
	from, to := first*width, (first+n)*width
	if src.Type == Bytes {
		for i := from; i < to; i++ {
			t.AppendBytes(src.Bytes(i))
		}
	} else {
		size := src.Type.Size()
		copy(t.raw, src.raw[from*size:to*size])
	}
	t.appendNulls(0, src, from, to-from)
}

// Join makes r the rows of src in memory of r's own: the start of a request that AppendRows makes longer. ID is left empty.
func (r *Request) Join(src *Request) {
	r.Reset()
	r.Model, r.Version, r.Method = src.Model, src.Version, src.Method
	r.Frame, r.Text, r.ByName = src.Frame, src.Text, src.ByName
	r.Parameters = maps.Clone(src.Parameters)
	for _, o := range src.Outputs {
		r.Outputs = append(r.Outputs, Output{Name: o.Name, Parameters: maps.Clone(o.Parameters)})
	}
	for _, t := range src.Inputs {
		r.Add().CopyRows(t, 0, t.Rows())
	}
}

// AppendRows adds the rows of src to each input. The caller has seen that all else is the same.
func (r *Request) AppendRows(src *Request) {
	for i, t := range src.Inputs {
		r.Inputs[i].AppendRows(t)
	}
}

// HaveRows reports whether every output, and there is one, has n rows.
func (r *Response) HaveRows(n int) bool {
	for _, t := range r.Outputs {
		if len(t.Shape) == 0 || t.Rows() != n {
			return false
		}
	}
	return len(r.Outputs) > 0
}

// CopyRows makes r the answer for n rows of src, from row first on. Names of request and model are not part of it.
func (r *Response) CopyRows(src *Response, first, n int) {
	r.Reset()
	r.Frame, r.Absent, r.Parameters = src.Frame, src.Absent, maps.Clone(src.Parameters)
	for _, t := range src.Outputs {
		r.Add(t.Name, t.Type).CopyRows(t, first, n)
	}
}
