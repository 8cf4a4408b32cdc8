// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// respond writes a result into the response: an output for each array, or a column for each of a data frame.
func respond(y *table, out *tensor.Response) {
	if y.names != nil {
		out.Frame = true
		for j := range y.cols {
			col := y.column(j)
			writeColumn(out.Add(y.names[j], tensorType(col.typ), int64(y.rows)), &col)
		}
		return
	}
	write(out, 0, y)
	for i, more := range y.more {
		write(out, i+1, more)
	}
}

func tensorType(t dtype) tensor.Type {
	switch t {
	case float32s:
		return tensor.FP32
	case integers:
		return tensor.Int64
	case bools:
		return tensor.Bool
	case objects:
		return tensor.Bytes
	default:
		return tensor.FP64
	}
}

var outputNames = [...]string{"output-0", "output-1", "output-2", "output-3"} //nolint:gochecknoglobals // a constant table

func outputName(i int) string {
	if i < len(outputNames) {
		return outputNames[i]
	}
	return "output-" + strconv.Itoa(i)
}

func write(out *tensor.Response, i int, y *table) {
	var dims [2]int64
	shape := append(dims[:0], int64(y.rows))
	if !y.vector {
		shape = append(shape, int64(y.cols))
	}
	if y.typ == labelled {
		writeLabels(out.Add(outputName(i), y.labels[0].typ, shape...), y)
		return
	}
	t := out.Add(outputName(i), tensorType(y.typ), shape...)
	if y.columns == nil {
		writeNumbers(t, y.num)
		return
	}
	if y.typ == objects {
		for r := range y.rows {
			for j := range y.cols {
				col := y.column(j)
				writeCell(t, r*y.cols+j, col.cell(r))
			}
		}
		return
	}
	for j := range y.cols {
		col := y.column(j)
		for r := range y.rows {
			put(t, r*y.cols+j, col.float(r))
		}
	}
}

func writeNumbers(t *tensor.Tensor, num []float64) {
	if t.Type == tensor.FP64 {
		copy(tensor.View[float64](t), num)
		return
	}
	for i, v := range num {
		put(t, i, v)
	}
}

func put(t *tensor.Tensor, i int, v float64) {
	switch t.Type {
	case tensor.FP64:
		tensor.View[float64](t)[i] = v
	case tensor.FP32:
		tensor.View[float32](t)[i] = float32(v)
	case tensor.Int64:
		tensor.View[int64](t)[i] = int64(v)
	case tensor.Bool:
		t.Raw()[i] = 0
		if v != 0 {
			t.Raw()[i] = 1
		}
	default:
	}
}

func writeColumn(t *tensor.Tensor, col *column) {
	for i := range t.Rows() {
		if col.typ == objects {
			writeCell(t, i, col.cell(i))
			continue
		}
		put(t, i, col.float(i))
	}
}

func writeCell(t *tensor.Tensor, i int, c cell) {
	var buf [32]byte
	switch c.kind {
	case noneCell:
		t.AppendString("")
		t.SetNull(i, tensor.None)
	case nanCell:
		t.AppendString("")
		t.SetNull(i, tensor.NaN)
	case floatCell:
		t.AppendBytes(strconv.AppendFloat(buf[:0], c.num, 'g', -1, 64))
	case integerCell:
		t.AppendBytes(strconv.AppendInt(buf[:0], int64(c.num), 10))
	case boolCell:
		t.AppendString(map[bool]string{true: "True", false: "False"}[c.num != 0])
	default:
		t.AppendString(c.text)
	}
}

func writeLabels(t *tensor.Tensor, y *table) {
	for i, k := range y.index {
		l := y.labels[i%len(y.labels)]
		switch t.Type {
		case tensor.Bytes:
			t.AppendString(l.text[k])
		case tensor.Int64:
			tensor.View[int64](t)[i] = l.ints[k]
		case tensor.Uint64:
			tensor.View[uint64](t)[i] = uint64(l.ints[k])
		case tensor.Int32:
			tensor.View[int32](t)[i] = int32(l.ints[k])
		case tensor.Uint32:
			tensor.View[uint32](t)[i] = uint32(l.ints[k])
		case tensor.Int16:
			tensor.View[int16](t)[i] = int16(l.ints[k])
		case tensor.Uint16:
			tensor.View[uint16](t)[i] = uint16(l.ints[k])
		case tensor.Int8:
			tensor.View[int8](t)[i] = int8(l.ints[k])
		case tensor.Uint8, tensor.Bool:
			t.Raw()[i] = byte(l.ints[k])
		case tensor.FP32:
			tensor.View[float32](t)[i] = float32(l.num[k])
		default:
			tensor.View[float64](t)[i] = l.num[k]
		}
	}
}
