// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rows turns a decoded request into rows of numeric features: arrays as they are, data frames by column name.
//
// Called by: data/serve/engine/{xgboost,lightgbm}.
// Next: data/trees, which walks the rows.
package rows

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// Schema is what a model asks of its input.
type Schema struct {
	// Features is the number of columns.
	Features int
	// Names are the columns' names; empty when the model has none, and then a frame's columns go by position.
	Names []string
	// Places are the positions of the names: see NewSchema.
	Places map[string]int
	// Fewer says that an array may have fewer columns: the others are missing.
	Fewer bool
	// Exact says that a model with names takes their columns only, all of them and in their order.
	Exact bool
	// Extra says that a frame's columns of other names are left out, and that a frame none of whose columns is known goes by position.
	Extra bool
	// Codes are the numbers of the categories of a feature, by feature and text; a nil map, or none, says that the model keeps no
	// categories of the feature.
	Codes []map[string]float64
	// NumberCodes are the same for categories that are numbers themselves; without a map a number stands for itself.
	NumberCodes []map[float64]float64
	// Known says that a category without a code is an error; otherwise it is a missing value.
	Known bool
}

// NewSchema is the schema of a model with so many features, of these names.
func NewSchema(features int, names []string) Schema {
	s := Schema{Features: features, Names: names, Places: make(map[string]int, len(names))}
	for i, name := range names {
		s.Places[name] = i
	}
	return s
}

// Buffer is memory that Read may use for the rows; keep it while they are used.
type Buffer struct {
	data   []float64
	places []int
}

// Buffers are those of requests that are done, for others. It is safe for concurrent use.
type Buffers struct{ pool sync.Pool }

// Take returns one that nobody uses.
func (b *Buffers) Take() *Buffer {
	if used, ok := b.pool.Get().(*Buffer); ok {
		return used
	}
	return &Buffer{}
}

// Give takes one back.
func (b *Buffers) Give(used *Buffer) { b.pool.Put(used) }

// MaxNumbers bounds the numbers of one frame as rows, and of one answer. Both may grow beyond the request: a frame's missing columns are
// filled up, and a row may be answered with a number for each class, tree or feature.
const MaxNumbers = 1 << 26

// Fits refuses an answer of too many numbers before memory is taken for it.
func Fits(answer ...int64) error {
	if n, ok := tensor.Elements(answer); !ok || n > MaxNumbers {
		return protocol.Errorf(protocol.TooLarge, "the answer would have the shape %v: expected %d numbers at most; send fewer rows at once", slices.Clone(answer), MaxNumbers) // the copy keeps the caller's shape off the heap
	}
	return nil
}

// batch is how many rows are predicted between two looks at the context. A matrix of fewer is one batch.
const batch = 4096

// Each calls predict for the rows of m, a batch from row from on at a time, until ctx ends: a prediction of very many rows must not
// outlive its client.
func Each(ctx context.Context, m trees.Matrix, predict func(part trees.Matrix, from int) error) error {
	return each(ctx, m, batch, predict)
}

// EachOne is Each for work that takes long, row by row.
func EachOne(ctx context.Context, m trees.Matrix, explain func(part trees.Matrix, from int) error) error {
	return each(ctx, m, 1, explain)
}

// Blocks is EachOne of a function that fills width numbers a row. take gets them, from row from on, before they are filled anew.
func Blocks(ctx context.Context, m trees.Matrix, width int, fill func(part trees.Matrix, block []float64) error, take func(from int, block []float64)) error {
	var block []float64
	return EachOne(ctx, m, func(part trees.Matrix, from int) error {
		block = slices.Grow(block[:0], part.Rows*width)[:part.Rows*width]
		if err := fill(part, block); err != nil {
			return err
		}
		take(from, block)
		return nil
	})
}

func each(ctx context.Context, m trees.Matrix, batch int, predict func(part trees.Matrix, from int) error) error {
	for from := 0; from < m.Rows; from += batch {
		if err := ctx.Err(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return protocol.Errorf(protocol.Deadline, "the deadline passed after %d of %d rows were predicted", from, m.Rows)
			}
			return protocol.Wrap(err, protocol.Canceled, "the client went away after %d of %d rows were predicted", from, m.Rows)
		}
		if err := predict(m.Part(from, min(from+batch, m.Rows)), from); err != nil {
			return err
		}
	}
	return nil
}

// Read makes rows of a request. They alias the request's memory or the buffer's.
func Read(s *Schema, in *tensor.Request, b *Buffer) (trees.Matrix, error) {
	if len(in.Inputs) == 0 {
		return trees.Matrix{}, protocol.Errorf(protocol.Invalid, "the request has no input: expected rows of %d features", s.Features)
	}
	if in.Frame {
		return s.frame(in, b)
	}
	return s.array(in.Inputs[0], b)
}

func (s *Schema) array(t *tensor.Tensor, b *Buffer) (trees.Matrix, error) {
	if len(t.Shape) != 2 {
		return trees.Matrix{}, protocol.Errorf(protocol.Invalid, "input %q: expected 2 dimensions, [rows, %d], got shape %v", t.Name, s.Features, t.Shape)
	}
	m := trees.Matrix{Rows: int(t.Shape[0]), Cols: int(t.Shape[1])}
	if m.Cols > s.Features || m.Cols < s.Features && (!s.Fewer || m.Cols == 0) {
		return m, protocol.Errorf(protocol.Invalid, "input %q: expected %d features a row, got %d", t.Name, s.Features, m.Cols)
	}
	switch t.Type {
	case tensor.FP32:
		m.F32 = tensor.View[float32](t)
	case tensor.FP64:
		m.F64 = tensor.View[float64](t)
	case tensor.Bytes:
		return m, s.texts(t, b, &m)
	default:
		var ok bool
		if b.data, ok = t.AppendFloat64s(b.data[:0]); !ok {
			return m, protocol.Errorf(protocol.Invalid, "input %q: expected numbers, got %s", t.Name, t.Type)
		}
		m.F64 = b.data
	}
	if len(m.F32)+len(m.F64) != m.Rows*m.Cols {
		return m, protocol.Errorf(protocol.Invalid, "input %q: shape %v needs %d elements, got %d", t.Name, t.Shape, m.Rows*m.Cols, len(m.F32)+len(m.F64))
	}
	return m, nil
}

// texts takes an array of strings only when nothing is in it: null is a missing value.
func (s *Schema) texts(t *tensor.Tensor, b *Buffer, m *trees.Matrix) error {
	b.data = b.data[:0]
	for i := range t.Len() {
		if t.Null(i) == tensor.Present {
			return protocol.Errorf(protocol.Invalid, "input %q: expected numbers, got the string %.40q in element %d", t.Name, t.Bytes(i), i)
		}
		b.data = append(b.data, math.NaN())
	}
	if len(b.data) != m.Rows*m.Cols {
		return protocol.Errorf(protocol.Invalid, "input %q: shape %v needs %d elements, got %d", t.Name, t.Shape, m.Rows*m.Cols, len(b.data))
	}
	m.F64 = b.data
	return nil
}

func (s *Schema) frame(in *tensor.Request, b *Buffer) (trees.Matrix, error) {
	columns := in.Inputs
	rows := columns[0].Len()
	for _, c := range columns {
		if c.Len() != rows {
			return trees.Matrix{}, protocol.Errorf(protocol.Invalid, "column %q: expected %d rows as in column %q, got %d", c.Name, rows, columns[0].Name, c.Len())
		}
	}
	if n, ok := tensor.Elements([]int64{int64(rows), int64(s.Features)}); !ok || n > MaxNumbers {
		return trees.Matrix{}, protocol.Errorf(protocol.TooLarge, "the frame has %d rows of %d features: expected %d numbers at most; send fewer rows at once",
			rows, s.Features, MaxNumbers)
	}
	if err := s.place(columns, in.ByName, b); err != nil {
		return trees.Matrix{}, err
	}
	if need := rows * s.Features; cap(b.data) < need {
		b.data = make([]float64, need)
	} else {
		b.data = b.data[:need]
	}
	m := trees.Matrix{Rows: rows, Cols: s.Features, F64: b.data}
	for f, c := range b.places {
		if c < 0 {
			for r := range rows {
				m.F64[r*m.Cols+f] = math.NaN()
			}
			continue
		}
		if err := s.column(&m, f, columns[c]); err != nil {
			return m, err
		}
	}
	return m, nil
}

// place finds the column of every feature; -1 is none.
func (s *Schema) place(columns []*tensor.Tensor, byName bool, b *Buffer) error {
	b.places = b.places[:0]
	for range s.Features {
		b.places = append(b.places, -1)
	}
	byPosition := len(s.Names) == 0
	found := 0
	if !byPosition {
		for i, c := range columns {
			if f, ok := s.Places[c.Name]; ok && b.places[f] < 0 {
				b.places[f] = i
				found++
			}
		}
		if found == 0 && s.Extra && !byName && len(columns) == s.Features {
			byPosition = true
		}
	}
	if byPosition {
		if len(columns) > s.Features || len(columns) < s.Features && !s.Fewer {
			return protocol.Errorf(protocol.Invalid, "expected %d columns, got %d", s.Features, len(columns))
		}
		for i := range columns {
			b.places[i] = i
		}
		return nil
	}
	if found == 0 || found < len(columns) && !s.Extra {
		return s.unknown(columns)
	}
	if s.Exact {
		for f, c := range b.places {
			if c != f {
				return protocol.Errorf(protocol.Invalid, "expected the columns %.500q in this order, got %.500q", s.Names, names(columns))
			}
		}
	}
	return nil
}

func names(columns []*tensor.Tensor) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}

func (s *Schema) unknown(columns []*tensor.Tensor) error {
	var names []string
	for _, c := range columns {
		if _, ok := s.Places[c.Name]; ok {
			continue
		}
		if names = append(names, c.Name); len(names) == 5 {
			break
		}
	}
	return protocol.Errorf(protocol.Invalid, "the model does not know the columns %q: its features are %.500q", names, strings.Join(s.Names, ", "))
}

// column writes one column of the frame.
func (s *Schema) column(m *trees.Matrix, f int, c *tensor.Tensor) error {
	if c.Type != tensor.Bytes {
		return s.numbers(m, f, c)
	}
	codes, err := s.coder(f, c)
	if err != nil {
		return err
	}
	for r := range m.Rows {
		v := math.NaN()
		if c.Null(r) == tensor.Present {
			text := c.Bytes(r)
			if codes == nil {
				return protocol.Errorf(protocol.Invalid, "column %q: expected numbers, got the string %.40q in row %d", c.Name, text, r)
			}
			code, ok := codes[string(text)]
			switch {
			case ok:
				v = code
			case s.Known:
				return protocol.Errorf(protocol.Invalid, "column %q: the category %.40q in row %d was not seen in training", c.Name, text, r)
			}
		}
		m.F64[r*m.Cols+f] = v
	}
	return nil
}

// coder finds what gives the strings of a column their codes: the model, else the column's own parameter "categories", a JSON list of
// the categories in the order of their codes. It is nil when nothing does.
func (s *Schema) coder(f int, c *tensor.Tensor) (map[string]float64, error) {
	if f < len(s.Codes) && s.Codes[f] != nil {
		return s.Codes[f], nil
	}
	given, ok := c.Parameters["categories"].(string)
	if !ok {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(given), &list); err != nil {
		return nil, protocol.Errorf(protocol.Invalid, "column %q: the parameter categories is no JSON list of strings", c.Name)
	}
	return Codes(list), nil
}

// Codes numbers categories in their order.
func Codes(list []string) map[string]float64 {
	codes := make(map[string]float64, len(list))
	for i, text := range list {
		codes[text] = float64(i)
	}
	return codes
}

func (s *Schema) numbers(m *trees.Matrix, f int, c *tensor.Tensor) error {
	var codes map[float64]float64
	if f < len(s.NumberCodes) {
		codes = s.NumberCodes[f]
	}
	for r := range m.Rows {
		v := c.Float64(r)
		if c.Null(r) != tensor.Present {
			v = math.NaN()
		}
		if codes != nil && v == v {
			code, ok := codes[v]
			if !ok && s.Known {
				return protocol.Errorf(protocol.Invalid, "column %q: the category %v in row %d was not seen in training", c.Name, v, r)
			}
			if v = code; !ok {
				v = math.NaN()
			}
		}
		m.F64[r*m.Cols+f] = v
	}
	return nil
}
