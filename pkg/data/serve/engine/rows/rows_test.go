// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package rows_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/rows"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

var nan = math.NaN()

// schema is a model of three features, with names where there are any, changed by f.
func schema(f func(*rows.Schema), names ...string) *rows.Schema {
	s := rows.NewSchema(3, names)
	if f != nil {
		f(&s)
	}
	return &s
}

func array(t *tensor.Tensor) *tensor.Request { return &tensor.Request{Inputs: []*tensor.Tensor{t}} }

func frame(columns ...*tensor.Tensor) *tensor.Request {
	return &tensor.Request{Inputs: columns, Frame: true}
}

func byName(columns ...*tensor.Tensor) *tensor.Request {
	r := frame(columns...)
	r.ByName = true
	return r
}

func column(name string, v ...float64) *tensor.Tensor {
	return tensor.From(name, tensor.FP64, v, int64(len(v)))
}

func texts(name string, v ...string) *tensor.Tensor {
	return tensor.FromStrings(name, v, int64(len(v)))
}

// withNull makes one element of a column null.
func withNull(t *tensor.Tensor, at int) *tensor.Tensor {
	t.SetNull(at, tensor.None)
	return t
}

// coded gives a column of strings its own categories.
func coded(t *tensor.Tensor, list string) *tensor.Tensor {
	t.Parameters = tensor.Parameters{"categories": list}
	return t
}

func TestRead(t *testing.T) {
	fewer := func(s *rows.Schema) { s.Fewer = true }
	extra := func(s *rows.Schema) { s.Extra = true }
	exact := func(s *rows.Schema) { s.Exact = true }
	categories := func(s *rows.Schema) {
		s.Codes = []map[string]float64{nil, rows.Codes([]string{"red", "green"})}
		s.NumberCodes = []map[float64]float64{nil, nil, {10: 0, 20: 1}}
	}
	known := func(s *rows.Schema) { categories(s); s.Known = true }
	one := []float64{1, 2, 3}
	for name, c := range map[string]struct {
		schema *rows.Schema
		in     *tensor.Request
		rows   int
		cols   int
		want   []float64
		refuse string // part of the message
	}{
		"an array of float64": {
			schema: schema(nil), in: array(tensor.From("x", tensor.FP64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)), rows: 2, cols: 3, want: []float64{1, 2, 3, 4, 5, 6},
		},
		"an array of float32":        {schema: schema(nil), in: array(tensor.From("x", tensor.FP32, []float32{1, 2, 3}, 1, 3)), rows: 1, cols: 3, want: one},
		"an array of integers":       {schema: schema(nil), in: array(tensor.From("x", tensor.Int8, []int8{1, 2, 3}, 1, 3)), rows: 1, cols: 3, want: one},
		"an array of nulls":          {schema: schema(nil), in: array(nulls(1, 3)), rows: 1, cols: 3, want: []float64{nan, nan, nan}},
		"an array of no rows":        {schema: schema(nil), in: array(tensor.From("x", tensor.FP64, []float64{}, 0, 3)), rows: 0, cols: 3, want: []float64{}},
		"fewer columns, when asked":  {schema: schema(fewer), in: array(tensor.From("x", tensor.FP64, []float64{1, 2}, 1, 2)), rows: 1, cols: 2, want: []float64{1, 2}},
		"a frame without names":      {schema: schema(nil), in: frame(column("p", 1, 4), column("q", 2, 5), column("r", 3, 6)), rows: 2, cols: 3, want: []float64{1, 2, 3, 4, 5, 6}},
		"a frame by name":            {schema: schema(nil, "a", "b", "c"), in: frame(column("c", 3), column("a", 1), column("b", 2)), rows: 1, cols: 3, want: one},
		"a frame's missing column":   {schema: schema(nil, "a", "b", "c"), in: frame(column("c", 3), column("a", 1)), rows: 1, cols: 3, want: []float64{1, nan, 3}},
		"the first of two the same":  {schema: schema(extra, "a", "b", "c"), in: frame(column("a", 1), column("a", 9), column("b", 2), column("c", 3)), rows: 1, cols: 3, want: one},
		"a column too many":          {schema: schema(extra, "a", "b", "c"), in: frame(column("a", 1), column("x", 9), column("b", 2), column("c", 3)), rows: 1, cols: 3, want: one},
		"other names":                {schema: schema(extra, "a", "b", "c"), in: frame(column("x", 1), column("y", 2), column("z", 3)), rows: 1, cols: 3, want: one},
		"exactly the columns":        {schema: schema(exact, "a", "b", "c"), in: frame(column("a", 1), column("b", 2), column("c", 3)), rows: 1, cols: 3, want: one},
		"a null in a column":         {schema: schema(nil), in: frame(column("p", 1), withNull(column("q", 2), 0), column("r", 3)), rows: 1, cols: 3, want: []float64{1, nan, 3}},
		"a category":                 {schema: schema(categories), in: frame(column("p", 1), texts("q", "green"), column("r", 20)), rows: 1, cols: 3, want: []float64{1, 1, 1}},
		"categories without a code":  {schema: schema(categories), in: frame(column("p", 1), texts("q", "blue"), column("r", 30)), rows: 1, cols: 3, want: []float64{1, nan, nan}},
		"a category that is null":    {schema: schema(known), in: frame(column("p", 1), withNull(texts("q", ""), 0), column("r", nan)), rows: 1, cols: 3, want: []float64{1, nan, nan}},
		"categories of the request":  {schema: schema(nil), in: frame(coded(texts("p", "b"), `["a","b"]`), column("q", 2), column("r", 3)), rows: 1, cols: 3, want: one},
		"the model's categories win": {schema: schema(categories), in: frame(column("p", 1), coded(texts("q", "green"), `["green"]`), column("r", 20)), rows: 1, cols: 3, want: []float64{1, 1, 1}},

		"no input":                       {schema: schema(nil), in: &tensor.Request{}, refuse: "no input: expected rows of 3 features"},
		"one dimension":                  {schema: schema(nil), in: array(column("x", 1, 2, 3)), refuse: "expected 2 dimensions, [rows, 3], got shape [3]"},
		"too few columns":                {schema: schema(nil), in: array(tensor.From("x", tensor.FP64, []float64{1, 2}, 1, 2)), refuse: "expected 3 features a row, got 2"},
		"no column at all":               {schema: schema(fewer), in: array(tensor.From("x", tensor.FP64, []float64{}, 5, 0)), refuse: "expected 3 features a row, got 0"},
		"too many columns":               {schema: schema(fewer), in: array(tensor.From("x", tensor.FP64, []float64{1, 2, 3, 4}, 1, 4)), refuse: "expected 3 features a row, got 4"},
		"strings":                        {schema: schema(nil), in: array(tensor.FromStrings("x", []string{"1", "two", "3"}, 1, 3)), refuse: `got the string "1" in element 0`},
		"columns of different lengths":   {schema: schema(nil), in: frame(column("p", 1), column("q", 1, 2)), refuse: `column "q": expected 1 rows as in column "p", got 2`},
		"a frame with too few columns":   {schema: schema(nil), in: frame(column("p", 1)), refuse: "expected 3 columns, got 1"},
		"a name that is not known":       {schema: schema(nil, "a", "b", "c"), in: frame(column("a", 1), column("x", 2)), refuse: `does not know the columns ["x"]: its features are "a, b, c"`},
		"no name that is known":          {schema: schema(extra, "a", "b", "c"), in: frame(column("x", 1)), refuse: `does not know the columns ["x"]`},
		"other names, and names count":   {schema: schema(extra, "a", "b", "c"), in: byName(column("x", 1), column("y", 2), column("z", 3)), refuse: `does not know the columns ["x" "y" "z"]`},
		"columns in another order":       {schema: schema(exact, "a", "b", "c"), in: frame(column("b", 2), column("a", 1), column("c", 3)), refuse: "in this order"},
		"a string where numbers belong":  {schema: schema(nil), in: frame(column("p", 1), texts("q", "two"), column("r", 3)), refuse: `column "q": expected numbers, got the string "two" in row 0`},
		"a category that must be known":  {schema: schema(known), in: frame(column("p", 1), texts("q", "blue"), column("r", 20)), refuse: `the category "blue" in row 0 was not seen in training`},
		"a number that must be known":    {schema: schema(known), in: frame(column("p", 1), texts("q", "red"), column("r", 30)), refuse: `the category 30 in row 0 was not seen in training`},
		"categories that are no list":    {schema: schema(nil), in: frame(coded(texts("p", "b"), `{}`), column("q", 2), column("r", 3)), refuse: "no JSON list of strings"},
		"a frame of more than fits rows": {schema: wide(rows.MaxNumbers), in: frame(column("p", 1, 2)), refuse: "2 rows of 67108864 features"},
	} {
		t.Run(name, func(t *testing.T) {
			var b rows.Buffer
			// A buffer that was used before must not show.
			_, err := rows.Read(schema(nil), frame(column("p", 7, 7, 7), column("q", 7, 7, 7), column("r", 7, 7, 7)), &b)
			require.NoError(t, err)
			m, err := rows.Read(c.schema, c.in, &b)
			if c.refuse != "" {
				var e *protocol.Error
				require.ErrorAs(t, err, &e)
				require.Contains(t, []protocol.Code{protocol.Invalid, protocol.TooLarge}, e.Code)
				require.Contains(t, e.Message, c.refuse)
				return
			}
			require.NoError(t, err)
			require.Equal(t, [2]int{c.rows, c.cols}, [2]int{m.Rows, m.Cols})
			got := append([]float64{}, m.F64...)
			for _, v := range m.F32 {
				got = append(got, float64(v))
			}
			// InDelta takes NaN for NaN.
			require.InDeltaSlice(t, c.want, got, 0)
			require.Len(t, got, len(c.want))
		})
	}
}

// wide is a model of so many features without names.
func wide(features int) *rows.Schema {
	s := rows.NewSchema(features, nil)
	s.Fewer = true
	return &s
}

// nulls is an array of strings in which every element is null.
func nulls(shape ...int64) *tensor.Tensor {
	n, _ := tensor.Elements(shape)
	t := tensor.FromStrings("x", make([]string, n), shape...)
	for i := range n {
		t.SetNull(i, tensor.None)
	}
	return t
}

func TestEveryRowIsInOneBatchUntilTheClientIsGone(t *testing.T) {
	const all = 10_000
	m := trees.Matrix{Rows: all, Cols: 2, F32: make([]float32, 2*all)}
	for i := range m.F32 {
		m.F32[i] = float32(i)
	}
	for name, c := range map[string]struct {
		end  error // with which the context ends in the first batch
		code protocol.Code
	}{
		"to the end":               {},
		"until the client left":    {end: context.Canceled, code: protocol.Canceled},
		"until the time was over":  {end: context.DeadlineExceeded, code: protocol.Deadline},
		"until the model says so ": {end: errStop},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := &ending{Context: t.Context()}
			next := 0
			err := rows.Each(ctx, m, func(part trees.Matrix, from int) error {
				require.Equal(t, next, from)
				require.Len(t, part.F32, part.Rows*part.Cols)
				require.Equal(t, m.F32[2*from], part.F32[0])
				next += part.Rows
				if errors.Is(c.end, errStop) {
					return c.end
				}
				ctx.err = c.end
				return nil
			})
			switch {
			case c.end == nil:
				require.NoError(t, err)
				require.Equal(t, all, next)
				return
			case errors.Is(c.end, errStop):
				require.ErrorIs(t, err, errStop)
			default:
				var e *protocol.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.code, e.Code)
			}
			require.Less(t, next, all)
		})
	}
}

var errStop = errors.New("stop")

// ending is a context that ends when the test says so.
type ending struct {
	context.Context //nolint:containedctx // it is one
	err             error
}

// Err implements context.Context.
func (e *ending) Err() error { return e.err }

func TestAnswersThatAreTooLargeAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		shape []int64
		fits  bool
	}{
		"the most":                        {shape: []int64{rows.MaxNumbers / 4, 4}, fits: true},
		"one row more":                    {shape: []int64{rows.MaxNumbers/4 + 1, 4}},
		"more than an integer can count":  {shape: []int64{math.MaxInt64, 4}},
		"no rows of very many numbers":    {shape: []int64{0, math.MaxInt64}, fits: true},
		"three dimensions that are small": {shape: []int64{10, 3, 5}, fits: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := rows.Fits(c.shape...)
			if c.fits {
				require.NoError(t, err)
				return
			}
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, protocol.TooLarge, e.Code)
		})
	}
}

func TestReadingAnArrayDoesNotAllocate(t *testing.T) {
	s, in := schema(nil), array(tensor.From("x", tensor.Int32, []int32{1, 2, 3}, 1, 3))
	var b rows.Buffer
	once := func() {
		if _, err := rows.Read(s, in, &b); err != nil {
			t.Fatal(err)
		}
	}
	once()
	require.Zero(t, testing.AllocsPerRun(50, once))
}
