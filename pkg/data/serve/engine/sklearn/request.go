// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// request is a request's input as a table. It aliases the request where it can.
func (c *call) request(in *tensor.Request) (*table, error) {
	if len(in.Inputs) == 0 {
		return nil, protocol.Errorf(protocol.Invalid, "the request has no input")
	}
	if in.Frame {
		return c.frame(in.Inputs)
	}
	x, err := c.array(in.Inputs[0])
	if err == nil {
		x.text = in.Text
	}
	return x, err
}

func typeOf(t tensor.Type) (dtype, bool) {
	switch {
	case t == tensor.FP32:
		return float32s, true
	case t.IsFloat():
		return float64s, true
	case t == tensor.Bool:
		return bools, true
	case t.IsInteger():
		return integers, true
	case t == tensor.Bytes:
		return objects, true
	}
	return 0, false
}

func (c *call) array(t *tensor.Tensor) (*table, error) {
	typ, ok := typeOf(t.Type)
	n, fits := tensor.Elements(t.Shape)
	if !ok || !fits || n != t.Len() {
		return nil, protocol.Errorf(protocol.Invalid, "input %q: shape %v does not hold %d elements of type %s", t.Name, t.Shape, t.Len(), t.Type)
	}
	x := c.table()
	x.typ = typ
	switch len(t.Shape) {
	case 1:
		x.rows, x.cols, x.vector = n, 1, true
	case 2:
		x.rows, x.cols = int(t.Shape[0]), int(t.Shape[1])
	default:
		return nil, protocol.Errorf(protocol.Invalid, "input %q: expected a two-dimensional array, got shape %v", t.Name, t.Shape)
	}
	if typ != objects {
		x.num = c.values(t, n)
		return x, nil
	}
	cells := c.cells(n)
	fillCells(cells, t)
	x.columns = make([]column, x.cols)
	for j := range x.columns {
		x.columns[j] = column{typ: objects, cells: cells, off: j, stride: x.cols}
	}
	return x, nil
}

// values are a numeric tensor's elements as float64, in place where they are that already.
func (c *call) values(t *tensor.Tensor, n int) []float64 {
	if t.Type == tensor.FP64 {
		return tensor.View[float64](t)
	}
	out, _ := t.AppendFloat64s(c.floats(n)[:0])
	return out
}

func fillCells(cells []cell, t *tensor.Tensor) {
	for i := range cells {
		switch t.Null(i) {
		case tensor.None:
			cells[i] = cell{kind: noneCell}
		case tensor.NaN:
			cells[i] = cell{kind: nanCell}
		default:
			cells[i] = cell{kind: textCell, text: textOf(t.Bytes(i))}
		}
	}
}

// frame is a data frame's columns as a table.
func (c *call) frame(in []*tensor.Tensor) (*table, error) {
	x := c.table()
	x.rows, x.cols = in[0].Rows(), len(in)
	x.columns = make([]column, len(in))
	x.names = make([]string, len(in))
	for j, t := range in {
		typ, ok := typeOf(t.Type)
		flat := len(t.Shape) == 1 || len(t.Shape) == 2 && t.Shape[1] == 1
		if !ok || !flat || t.Len() != x.rows || t.Rows() != x.rows {
			return nil, protocol.Errorf(protocol.Invalid, "input %q: a column of a data frame of %d rows must have shape [%d], got %v with %d elements of type %s",
				t.Name, x.rows, x.rows, t.Shape, t.Len(), t.Type)
		}
		x.names[j] = t.Name
		x.columns[j] = column{typ: typ, stride: 1}
		if typ == objects {
			x.columns[j].cells = c.cells(x.rows)
			fillCells(x.columns[j].cells, t)
		} else {
			x.columns[j].num = c.values(t, x.rows)
			nullsAsNaN(c, &x.columns[j], t)
		}
	}
	x.typ = interleaved(x.columns)
	return x, nil
}

// interleaved is the type that pandas finds for columns of several types: bools and numbers together are objects.
func interleaved(columns []column) dtype {
	typ := common(columns)
	for _, c := range columns {
		if c.typ == bools && typ != bools {
			return objects
		}
	}
	return typ
}

// nullsAsNaN makes a numeric column with absent elements what pandas makes of it: floats with NaN.
func nullsAsNaN(c *call, col *column, t *tensor.Tensor) {
	copied := false
	for i := range t.Len() {
		if t.Null(i) == tensor.Present {
			continue
		}
		if !copied {
			col.num = append(c.floats(len(col.num))[:0], col.num...)
			copied = true
			if col.typ != float32s {
				col.typ = float64s
			}
		}
		col.num[i] = nan
	}
}

// common is the type that NumPy finds for columns of several types.
func common(columns []column) dtype {
	if len(columns) == 0 {
		return float64s
	}
	typ := columns[0].typ
	for _, c := range columns[1:] {
		typ = promote(typ, c.typ)
	}
	return typ
}

func promote(a, b dtype) dtype {
	switch {
	case a == b:
		return a
	case a == objects || b == objects || a == labelled || b == labelled:
		return objects
	case a == float64s || b == float64s:
		return float64s
	case a == float32s || b == float32s: // with integers, which are wider than a float32's mantissa
		if a == bools || b == bools {
			return float32s
		}
		return float64s
	default:
		return integers
	}
}
