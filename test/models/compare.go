// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// compare compares an answer with the recorded one.
func (c *call) compare(got *tensor.Response) error {
	o := c.Output
	switch o.Kind {
	case "array", "sparse_csr":
		if len(got.Outputs) != 1 {
			return fmt.Errorf("%d outputs, expected 1", len(got.Outputs))
		}
		return c.output(got.Outputs[0], o)
	case "tuple", "list_of_arrays":
		list, _ := o.Expected.([]any)
		if len(list) != len(got.Outputs) {
			return fmt.Errorf("%d outputs, expected %d", len(got.Outputs), len(list))
		}
		for i, item := range list {
			inner, err := decode(item)
			if err != nil {
				return err
			}
			if err := c.output(got.Outputs[i], inner); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
		return nil
	case "dataframe":
		return c.frame(got, o)
	}
	return fmt.Errorf("output of kind %q", o.Kind)
}

func decode(v any) (*output, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	o := &output{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return o, d.Decode(o)
}

// frame compares columns by name; their types are those of the recorded values.
func (c *call) frame(got *tensor.Response, o *output) error {
	if !got.Frame || len(got.Outputs) != len(o.Columns) {
		return fmt.Errorf("a data frame of %d columns expected, got %d outputs", len(o.Columns), len(got.Outputs))
	}
	rows, _ := o.Expected.([]any)
	for j, name := range o.Columns {
		t := got.Outputs[j]
		if t.Name != name || t.Len() != len(rows) {
			return fmt.Errorf("column %d: expected %q of %d rows, got %q of %d", j, name, len(rows), t.Name, t.Len())
		}
		for i, row := range rows {
			list, _ := row.([]any)
			if err := c.element(t, i, list[j]); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
	}
	return nil
}

func (c *call) output(got *tensor.Tensor, o *output) error {
	if want := tensorTypes[o.DType]; want != got.Type {
		return fmt.Errorf("expected dtype %s, got %s of shape %v", o.DType, got.Type, got.Shape)
	}
	if !slices.Equal(o.Shape, got.Shape) {
		return fmt.Errorf("expected shape %v, got %v", o.Shape, got.Shape)
	}
	var want []any
	if o.Kind == "sparse_csr" {
		var err error
		if want, err = dense(o); err != nil {
			return err
		}
	} else {
		want = flatten(o.Expected, make([]any, 0, got.Len()))
	}
	if len(want) != got.Len() {
		return fmt.Errorf("expected %d elements, got %d", len(want), got.Len())
	}
	for i, w := range want {
		if err := c.element(got, i, w); err != nil {
			return err
		}
	}
	return nil
}

func flatten(v any, dst []any) []any {
	list, ok := v.([]any)
	if !ok {
		return append(dst, v)
	}
	for _, x := range list {
		dst = flatten(x, dst)
	}
	return dst
}

// dense expands a sparse matrix: our answers are dense.
func dense(o *output) ([]any, error) {
	parts, _ := o.Expected.(map[string]any)
	indptr, ok1 := parts["indptr"].([]any)
	indices, ok2 := parts["indices"].([]any)
	data, ok3 := parts["data"].([]any)
	if !ok1 || !ok2 || !ok3 || len(o.Shape) != 2 {
		return nil, fmt.Errorf("a sparse matrix without its parts")
	}
	out := make([]any, o.Shape[0]*o.Shape[1])
	for i := range out {
		out[i] = json.Number("0")
	}
	for r := range o.Shape[0] {
		from, _ := number(indptr[r])
		to, _ := number(indptr[r+1])
		for k := int(from); k < int(to); k++ {
			col, _ := number(indices[k])
			out[r*o.Shape[1]+int64(col)] = data[k]
		}
	}
	return out, nil
}

// element compares one element by the rules of its type.
func (c *call) element(got *tensor.Tensor, i int, want any) error {
	switch got.Type {
	case tensor.Bytes:
		g := string(got.Bytes(i))
		if absent := got.Null(i) != tensor.Present; absent != (want == nil) {
			return fmt.Errorf("element %d of shape %v: got %q (absent: %v), want %v", i, got.Shape, g, absent, want)
		}
		if want != nil && !sameText(g, want) {
			return fmt.Errorf("element %d of shape %v: got %q, want %q", i, got.Shape, g, want)
		}
		return nil
	case tensor.Int64, tensor.Uint64:
		if g := fmt.Sprint(integer(got, i)); g != fmt.Sprint(want) {
			return fmt.Errorf("element %d of shape %v: got %s, want %v", i, got.Shape, g, want)
		}
		return nil
	default:
	}
	w, err := number(want)
	if err != nil {
		return err
	}
	g := got.Float64(i)
	if got.Type == tensor.FP32 {
		w = float64(float32(w))
	}
	if g == w || math.IsNaN(g) && math.IsNaN(w) {
		return nil
	}
	if got.Type.IsFloat() && !math.IsInf(w, 0) && math.Abs(g-w) <= c.Tolerance.Abs+c.Tolerance.Rel*math.Abs(w) {
		return nil
	}
	return fmt.Errorf("element %d of shape %v: got %v, want %v (off by %.3g, tolerance abs %g rel %g)", i, got.Shape, g, w, math.Abs(g-w), c.Tolerance.Abs, c.Tolerance.Rel)
}

func integer(t *tensor.Tensor, i int) any {
	if t.Type == tensor.Uint64 {
		return tensor.View[uint64](t)[i]
	}
	return tensor.View[int64](t)[i]
}

// sameText compares an element of an object array, which is text whatever it was in the library.
func sameText(got string, want any) bool {
	switch w := want.(type) {
	case bool:
		return got == map[bool]string{true: "True", false: "False"}[w]
	case json.Number:
		g, err := strconv.ParseFloat(got, 64)
		n, _ := w.Float64()
		return err == nil && g == n
	}
	return got == fmt.Sprint(want)
}
