// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"math"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// contentTypeFrame is the value of the content_type parameter that makes the inputs the columns of one data frame.
const contentTypeFrame = "pd"

// maxEmptyDim bounds the other dimensions of a shape with no elements: no element pays for them.
const maxEmptyDim = 1 << 16

// finish gives the inputs, whose elements are flat, their shapes.
func (d *Decoder) finish() (*tensor.Request, error) {
	if d.bad != nil {
		return nil, d.bad
	}
	req := &d.req
	if len(req.Inputs) == 0 {
		return nil, invalid("the request has no inputs")
	}
	if kind, ok := req.Parameters[paramContentType].(string); ok && kind == contentTypeFrame {
		req.Frame = true
		return req, evenColumns(req.Inputs)
	}
	req.Text = true
	for i, t := range req.Inputs {
		if err := reshape(t, d.inputs[i].shape, d.inputs[i].free); err != nil {
			return nil, err
		}
	}
	if !d.options.KeepTextShape {
		FlattenText(req)
	}
	return req, nil
}

// FlattenText makes BYTES inputs lists, of shape [n], as Options.KeepTextShape would not.
func FlattenText(req *tensor.Request) {
	if req.Frame || !req.Text {
		return
	}
	for _, t := range req.Inputs {
		if t.Type == tensor.Bytes {
			t.Shape = append(t.Shape[:0], int64(t.Len()))
		}
	}
}

// reshape checks shape against the number of elements and makes it t's. free allows one dimension of -1.
func reshape(t *tensor.Tensor, shape []int64, free bool) error {
	if len(shape) > jsontext.MaxRank {
		return errRank(t.Name)
	}
	n := t.Len()
	unknown := -1
	product := 1
	for i, dim := range shape {
		switch {
		case dim == -1 && free:
			if unknown >= 0 {
				return invalid("input %q: shape %s: can only specify one unknown dimension", t.Name, formatShape(shape))
			}
			unknown = i
		case dim < 0:
			return invalid("input %q: shape %s has a negative dimension", t.Name, formatShape(shape))
		case dim != 0 && int64(product) > math.MaxInt/dim:
			return errReshape(t.Name, n, shape)
		default:
			product *= int(dim)
		}
	}
	if unknown >= 0 {
		if product == 0 || n%product != 0 {
			return errReshape(t.Name, n, shape)
		}
		shape[unknown] = int64(n / product)
		product = n
	}
	if product != n {
		return errReshape(t.Name, n, shape)
	}
	if n == 0 {
		for _, dim := range shape {
			if dim > maxEmptyDim {
				return invalid("input %q: shape %s has no elements and a dimension beyond %d", t.Name, formatShape(shape), maxEmptyDim)
			}
		}
	}
	t.Shape = append(t.Shape[:0], shape...)
	return nil
}

func errRank(name string) error {
	return invalid("input %q: shape has more than %d dimensions", name, jsontext.MaxRank)
}

func errReshape(name string, n int, shape []int64) error {
	return invalid("input %q: cannot reshape array of size %d into shape %s", name, n, formatShape(shape))
}

// formatShape writes a shape as NumPy does: (2,4), (3,).
func formatShape(shape []int64) string {
	out := []byte{'('}
	for i, dim := range shape {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, dim, 10)
	}
	if len(shape) == 1 {
		out = append(out, ',')
	}
	return string(append(out, ')'))
}

// gapsPerCell and minCells bound what evenColumns adds to the elements that came.
const gapsPerCell, minCells = 3, 1 << 16

// evenColumns fills the columns of a frame up to the longest: a gap is NaN, as when pandas joins columns side by side.
func evenColumns(columns []*tensor.Tensor) error {
	rows, cells := 0, minCells
	for _, t := range columns {
		rows = max(rows, t.Len())
		cells += (1 + gapsPerCell) * t.Len()
	}
	if rows > cells/len(columns) {
		return invalid("%d columns of up to %d rows: most are far shorter than the longest", len(columns), rows)
	}
	for _, t := range columns {
		n := t.Len()
		switch {
		case n == rows:
		case t.Type == tensor.Bytes:
			for i := n; i < rows; i++ {
				t.AppendString("")
				t.SetNull(i, tensor.NaN)
			}
		default:
			values, _ := t.AppendFloat64s(make([]float64, 0, rows))
			for len(values) < rows {
				values = append(values, math.NaN())
			}
			t.Reset(t.Name, tensor.FP64, int64(rows))
			copy(tensor.View[float64](t), values)
		}
		t.Shape = append(t.Shape[:0], int64(rows))
	}
	return nil
}
