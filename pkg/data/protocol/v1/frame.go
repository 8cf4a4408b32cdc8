// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"math"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// cellsPerByte bounds the table that a body may ask for: rows times columns can grow with the square of the body, because each
// object may name columns of its own.
const cellsPerByte, minCells = 1, 1 << 16

type cellKind uint8

const (
	missing cellKind = iota
	null
	boolean
	integer
	float
	text
)

// cell is one scalar of a frame.
type cell struct {
	bits uint64 // of the bool, int64 or float64, or the start of the text
	size uint32 // of the text
	kind cellKind
}

// texts holds the texts of cells, one after the other.
type texts []byte

type column struct {
	name  string
	cells []cell
	// pending is where the column's scalar in the present instance may be, see frame.repeat.
	pending int
}

// frame collects the columns of instances that are objects.
type frame struct {
	columns []column
	index   map[string]int
	labels  map[string]int
	rows    int
	cells   int
	limit   int
	texts   texts
	pending []pending
}

// pending is a scalar that repeats over all rows of its instance.
type pending struct {
	column int
	cell   cell
}

// read takes the array of instances.
func (f *frame) read(s *jsontext.Scanner, key string) error {
	f.columns, f.rows, f.cells, f.texts = f.columns[:0], 0, 0, f.texts[:0]
	emptyMap(&f.index)
	f.limit = minCells + cellsPerByte*s.Len()
	instance := 0
	more, err := s.OpenArray()
	for more && err == nil {
		switch s.Peek() {
		case '{':
			err = f.object(s, key, instance)
		case '[':
			err = f.list(s, key, instance)
		default:
			err = invalid("%s[%d]: expected an object as in the first instance", key, instance)
		}
		if err == nil {
			more, err = s.NextElement()
		}
		instance++
	}
	if err == nil && len(f.columns) > 0 && f.rows > f.limit/len(f.columns) {
		return f.tooBig()
	}
	return err
}

// keepKeys is the largest map that is emptied for reuse. Emptying costs as much as the map was ever large, for every instance.
const keepKeys = 1 << 10

func emptyMap(m *map[string]int) {
	if *m == nil || len(*m) > keepKeys {
		*m = map[string]int{}
	}
	clear(*m)
}

func (f *frame) tooBig() error {
	return invalid("the instances make a table of more than %d cells: rows name too many different columns", f.limit)
}

// list takes an instance that is an array of objects: one row each.
func (f *frame) list(s *jsontext.Scanner, key string, instance int) error {
	more, err := s.OpenArray()
	for i := 0; more && err == nil; i++ {
		if s.Peek() != '{' {
			return invalid("%s[%d][%d]: expected an object as in the first instance", key, instance, i)
		}
		if err = f.row(s, key, instance); err == nil {
			more, err = s.NextElement()
		}
	}
	return err
}

// row takes one object of scalars.
func (f *frame) row(s *jsontext.Scanner, key string, instance int) error {
	more, err := s.OpenObject()
	for more && err == nil {
		var name []byte
		if name, err = s.Key(); err != nil {
			break
		}
		col := f.column(name)
		var c cell
		if c, err = f.single(s, key, instance, col); err != nil {
			break
		}
		if err = f.set(col, f.rows, c); err == nil {
			more, err = s.NextMember()
		}
	}
	f.rows++
	return err
}

// single takes a scalar, or an array or object that holds exactly one.
func (f *frame) single(s *jsontext.Scanner, key string, instance, col int) (c cell, err error) {
	open := s.Peek()
	if open != '[' && open != '{' {
		return f.texts.read(s)
	}
	var more bool
	if open == '[' {
		more, err = s.OpenArray()
	} else if more, err = s.OpenObject(); more && err == nil {
		_, err = s.Key()
	}
	if err != nil {
		return c, err
	}
	if inner := s.Peek(); more && inner != '[' && inner != '{' {
		if c, err = f.texts.read(s); err != nil {
			return c, err
		}
		if open == '[' {
			more, err = s.NextElement()
		} else {
			more, err = s.NextMember()
		}
		if err != nil || !more {
			return c, err
		}
	}
	return c, invalid("%s[%d]: column %q of a row object must hold one value", key, instance, f.columns[col].name)
}

// object takes an instance that is an object: one row of scalars, or columns that are arrays or objects of row labels.
func (f *frame) object(s *jsontext.Scanner, key string, instance int) error {
	f.pending = f.pending[:0]
	emptyMap(&f.labels)
	base, rows := f.rows, -1
	labelled := false
	more, err := s.OpenObject()
	for more && err == nil {
		var name []byte
		if name, err = s.Key(); err != nil {
			return err
		}
		col := f.column(name)
		f.columns[col].cells = f.columns[col].cells[:min(base, len(f.columns[col].cells))]
		switch s.Peek() {
		case '[':
			var n int
			if n, err = f.values(s, key, instance, col); err != nil {
				return err
			}
			if labelled || rows >= 0 && rows != n {
				return invalid("%s[%d]: column %q has %d values, the columns before it %d: all must have one length",
					key, instance, f.columns[col].name, n, max(rows, len(f.labels)))
			}
			rows = n
		case '{':
			if rows >= 0 {
				return invalid("%s[%d]: column %q is an object, the columns before it arrays", key, instance, f.columns[col].name)
			}
			labelled = true
			err = f.labelled(s, key, instance, col)
		default:
			var c cell
			c, err = f.texts.read(s)
			f.repeat(col, c)
		}
		if err == nil {
			more, err = s.NextMember()
		}
	}
	if err != nil {
		return err
	}
	if labelled {
		rows = len(f.labels)
	}
	if rows < 0 {
		rows = 1
	}
	for _, p := range f.pending {
		for r := range rows {
			if err := f.set(p.column, base+r, p.cell); err != nil {
				return err
			}
		}
	}
	f.rows += rows
	return nil
}

// repeat keeps a scalar for all rows of its instance: one for each column, the last, or the work would be rows times members.
func (f *frame) repeat(col int, c cell) {
	if at := f.columns[col].pending; at < len(f.pending) && f.pending[at].column == col {
		f.pending[at].cell = c
		return
	}
	f.columns[col].pending = len(f.pending)
	f.pending = append(f.pending, pending{col, c})
}

// values takes a column that is an array of scalars and returns its length.
func (f *frame) values(s *jsontext.Scanner, key string, instance, col int) (n int, err error) {
	more, err := s.OpenArray()
	for more && err == nil {
		if c := s.Peek(); c == '[' || c == '{' {
			return n, invalid("%s[%d]: value %d of column %q is not a single value", key, instance, n, f.columns[col].name)
		}
		var c cell
		if c, err = f.texts.read(s); err != nil {
			return n, err
		}
		if err = f.set(col, f.rows+n, c); err == nil {
			n++
			more, err = s.NextElement()
		}
	}
	return n, err
}

// labelled takes a column that is an object of row labels. Rows are in the order in which their labels first appear.
func (f *frame) labelled(s *jsontext.Scanner, key string, instance, col int) error {
	more, err := s.OpenObject()
	for more && err == nil {
		var label []byte
		if label, err = s.Key(); err != nil {
			return err
		}
		if c := s.Peek(); c == '[' || c == '{' {
			return invalid("%s[%d]: row %q of column %q is not a single value", key, instance, label, f.columns[col].name)
		}
		row, ok := f.labels[string(label)]
		if !ok {
			row = len(f.labels)
			f.labels[string(label)] = row
		}
		var c cell
		if c, err = f.texts.read(s); err != nil {
			return err
		}
		if err = f.set(col, f.rows+row, c); err == nil {
			more, err = s.NextMember()
		}
	}
	return err
}

func (f *frame) column(name []byte) int {
	if i, ok := f.index[string(name)]; ok {
		return i
	}
	i := len(f.columns)
	if i < cap(f.columns) {
		f.columns = f.columns[:i+1]
		c := &f.columns[i]
		c.cells = c.cells[:0]
		if c.name != string(name) {
			c.name = string(name)
		}
	} else {
		f.columns = append(f.columns, column{name: string(name)})
	}
	f.index[f.columns[i].name] = i
	return i
}

// set puts a cell in a row; the rows between are missing.
func (f *frame) set(col, row int, c cell) error {
	cells := f.columns[col].cells
	if row < len(cells) {
		cells[row] = c
		return nil
	}
	f.cells += row + 1 - len(cells)
	if f.cells > f.limit {
		return f.tooBig()
	}
	for len(cells) < row {
		cells = append(cells, cell{})
	}
	f.columns[col].cells = append(cells, c)
	return nil
}

// build makes the columns into tensors: BYTES where there is text, BOOL or INT64 where all values are, else FP64 with NaN for gaps.
func (f *frame) build(req *tensor.Request) {
	req.Frame, req.ByName = true, true
	for i := range f.columns {
		c := &f.columns[i]
		var seen [text + 1]bool
		seen[missing] = len(c.cells) < f.rows
		for _, v := range c.cells {
			seen[v.kind] = true
		}
		t := req.Add()
		rows := int64(f.rows)
		switch gaps := seen[missing] || seen[null]; {
		case seen[text]:
			t.Reset(c.name, tensor.Bytes, rows)
			for _, v := range c.cells {
				f.texts.append(t, v)
			}
			for range f.rows - len(c.cells) {
				f.texts.append(t, cell{})
			}
		case seen[boolean] && !seen[integer] && !seen[float] && !gaps:
			t.Reset(c.name, tensor.Bool, rows)
			for r, v := range c.cells {
				t.Raw()[r] = byte(v.bits)
			}
		case !seen[float] && !gaps:
			t.Reset(c.name, tensor.Int64, rows)
			out := tensor.View[uint64](t)
			for r, v := range c.cells {
				out[r] = v.bits
			}
		default:
			t.Reset(c.name, tensor.FP64, rows)
			fillFloats(tensor.View[float64](t), c.cells)
		}
	}
}

func fillFloats(out []float64, cells []cell) {
	for r := range out {
		out[r] = math.NaN()
	}
	for r, v := range cells {
		switch v.kind {
		case boolean, integer:
			out[r] = float64(int64(v.bits))
		case float:
			out[r] = math.Float64frombits(v.bits)
		default:
		}
	}
}

// read takes one scalar.
func (x *texts) read(s *jsontext.Scanner) (cell, error) {
	switch s.Peek() {
	case '"':
		v, err := s.String()
		c := cell{kind: text, bits: uint64(len(*x)), size: uint32(len(v))}
		*x = append(*x, v...)
		return c, err
	case 't':
		return cell{kind: boolean, bits: 1}, s.Literal("true")
	case 'f':
		return cell{kind: boolean}, s.Literal("false")
	case 'n':
		return cell{kind: null}, s.Literal("null")
	}
	n, err := s.Number()
	if n.Kind == jsontext.Int {
		return cell{kind: integer, bits: uint64(n.Int)}, err
	}
	return cell{kind: float, bits: math.Float64bits(n.Float64())}, err
}

// append adds a cell to a Bytes tensor as Python would write it.
func (x *texts) append(t *tensor.Tensor, c cell) {
	var buf [32]byte
	switch c.kind {
	case missing:
		t.AppendString("")
		t.SetNull(t.Len()-1, tensor.NaN)
	case null:
		t.AppendString("")
		t.SetNull(t.Len()-1, tensor.None)
	case boolean:
		if c.bits != 0 {
			t.AppendString("True")
		} else {
			t.AppendString("False")
		}
	case integer:
		t.AppendBytes(strconv.AppendInt(buf[:0], int64(c.bits), 10))
	case float:
		t.AppendBytes(jsontext.AppendFloat(buf[:0], math.Float64frombits(c.bits)))
	case text:
		t.AppendBytes((*x)[c.bits : c.bits+uint64(c.size)])
	}
}
