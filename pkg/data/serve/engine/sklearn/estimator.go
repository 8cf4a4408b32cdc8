// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"context"
	"unsafe"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// estimator is one fitted object: a model, a transformer, or several composed.
//
// To add one:
//  1. Write a builder, func(a *attrs) (estimator, error): read the attributes through a (each getter checks type and shape and
//     remembers the first fault), return a.err if it is set, then check everything that run relies on. run must not be able to
//     panic or to loop for ever, whatever the file says.
//  2. Register it in an add… function of registry.go under "package.Class"; the old and the new module paths are one there.
//  3. In run, first pass x through check (check.go), which refuses what the library refuses and yields rows of numbers; then
//     write the answer into tables made by c.numbers or c.classes. Take scratch memory from c (c.floats), never from make: it
//     is reused by the next request, so nothing made by c may be kept.
//  4. Parameters that change what the library computes and that are not served must be refused with a.unsupported, not ignored.
type estimator interface {
	// methods are the methods that run answers, the default first.
	methods() []string
	// run answers one method, always one of methods(), for the rows of x. It neither changes nor keeps x.
	run(c *call, method string, x *table) (*table, error)
	// input is what the estimator was fitted with.
	input() *fitted
}

// The methods, by the names the library gives them.
const (
	predict         = "predict"
	predictProba    = "predict_proba"
	predictLogProba = "predict_log_proba"
	decision        = "decision_function"
	transform       = "transform"
	inverse         = "inverse_transform"
	scoreSamples    = "score_samples"
)

// fitted is what an estimator remembers of the columns it was fitted with.
type fitted struct {
	class string   // the class's own name, for messages
	n     int      // n_features_in_; 0 when the file does not tell
	names []string // feature_names_in_
	texts bool     // it takes a list of texts
}

func (f *fitted) input() *fitted { return f }

// dtype is the element type of a table or column, as far as the library's own arithmetic tells types apart.
type dtype uint8

const (
	float64s dtype = iota
	float32s       // kept as float64s that are exact float32s
	integers
	bools
	objects // cells: strings and what else an object array holds
	labelled
)

// table is what flows between estimators: rows of numbers, columns of several types, or class labels.
type table struct {
	rows, cols int
	// vector marks a one-dimensional array; cols is 1.
	vector bool
	typ    dtype

	// num are the elements, row by row, when all columns share a numeric type.
	num []float64
	// columns are set instead of num when the columns have types of their own, or are objects.
	columns []column
	// names are the column names of a data frame; nil for an array.
	names []string
	// text marks an array of strings, which is never read as numbers; an array of objects is, where they spell numbers.
	text bool

	// labels and index are the elements of a table of type labelled: element i is labels[index[i]].
	labels []*labels // one for each column
	index  []int32

	// more are further results of a method that answers several arrays.
	more []*table
	// list marks a result that the library gives as a list or tuple even where it has one element.
	list bool
}

// column is one column of a table: element i is at off + i*stride of num or cells.
type column struct {
	typ         dtype
	num         []float64
	cells       []cell
	off, stride int
}

func (c *column) float(i int) float64 { return c.num[c.off+i*c.stride] }
func (c *column) cell(i int) cell {
	if c.typ == objects {
		return c.cells[c.off+i*c.stride]
	}
	return cell{kind: kindOf(c.typ), num: c.num[c.off+i*c.stride]}
}

// cell is one element of an object column.
type cell struct {
	kind cellKind
	num  float64
	text string // aliases the request
}

type cellKind uint8

const (
	textCell cellKind = iota
	floatCell
	integerCell
	boolCell
	noneCell
	nanCell
)

func kindOf(t dtype) cellKind {
	switch t {
	case integers:
		return integerCell
	case bools:
		return boolCell
	default:
		return floatCell
	}
}

// labels are the classes that an index chooses from, with the type the model was fitted with.
type labels struct {
	typ  tensor.Type
	num  []float64
	ints []int64
	text []string
}

func (l *labels) len() int { return max(len(l.num), len(l.ints), len(l.text)) }

// call is one request on its way through the estimators: the scratch memory lives as long as it.
type call struct {
	ctx context.Context //nolint:containedctx // a call is one request's state, made for it and dropped with it

	floatChunk []float64
	cellChunk  []cell
	indexChunk []int32
	tables     []*table
	usedTables int
	tooLarge   bool // the request ended by taking more than maxScratch
	gone       bool // it ended with its caller
	want       struct{ floats, cells, indexes int }
	keep       struct {
		floats  []float64
		cells   []cell
		indexes []int32
	}
}

// maxScratch bounds the elements of each kind that one request may take, 2 GiB of numbers: rows may be made far wider than the request
// has them, by each category or class that the model knows.
const maxScratch = 1 << 28

// admit unwinds to bounded before memory is taken that no machine has.
func (c *call) admit(want, n int) {
	if n < 0 || n > maxScratch-want {
		c.tooLarge = true
		panic("a request is too large")
	}
}

// bounded is deferred where a request enters: what admit ended is answered as too large. Other panics go on, with the place that they came from.
func (c *call) bounded(err *error, class string) {
	switch {
	case c.tooLarge:
		_ = recover()
		*err = protocol.Errorf(protocol.TooLarge, "%s needs more than %d numbers for this request; send fewer rows at once", class, maxScratch)
	case c.gone:
		_ = recover()
		*err = c.ctx.Err()
	}
}

// rowsAtOnce is how many rows are compared with all of training before the caller's patience is looked at.
const rowsAtOnce = 16

// patience ends the call, as bounded says, when nobody waits for it any more. Loops over rows that take long begin with it.
func (c *call) patience(row int) {
	if row%rowsAtOnce == rowsAtOnce-1 && c.ctx.Err() != nil {
		c.gone = true
		panic(c.ctx.Err())
	}
}

// chunk takes n elements from the front of *free, or makes a new, larger run when it is used up.
func chunk[T any](c *call, free *[]T, want *int, n int) []T {
	c.admit(*want, n)
	*want += n
	if n > len(*free) {
		*free = make([]T, max(n, min(2*(*want), 1<<16)))
	}
	out := (*free)[:n:n]
	*free = (*free)[n:]
	return out
}

// floats is scratch memory with undefined contents.
func (c *call) floats(n int) []float64 { return chunk(c, &c.floatChunk, &c.want.floats, n) }

// zeros is scratch memory of zeros.
func (c *call) zeros(n int) []float64 {
	out := c.floats(n)
	clear(out)
	return out
}

func (c *call) cells(n int) []cell    { return chunk(c, &c.cellChunk, &c.want.cells, n) }
func (c *call) indexes(n int) []int32 { return chunk(c, &c.indexChunk, &c.want.indexes, n) }

func (c *call) table() *table {
	if c.usedTables == len(c.tables) {
		c.tables = append(c.tables, &table{})
	}
	t := c.tables[c.usedTables]
	c.usedTables++
	*t = table{labels: t.labels[:0]}
	return t
}

// numbers makes a table of rows × cols numbers with undefined contents. typ is float64s or float32s, integers or bools.
func (c *call) numbers(rows, cols int, typ dtype) *table {
	t := c.table()
	t.rows, t.cols, t.typ, t.num = rows, cols, typ, c.floats(rows*cols)
	return t
}

// column1 makes a one-dimensional table of numbers.
func (c *call) column1(rows int, typ dtype) *table {
	t := c.numbers(rows, 1, typ)
	t.vector = true
	return t
}

// classes makes a one-dimensional table of labels, whose index the caller fills.
func (c *call) classes(rows int, l *labels) *table {
	t := c.table()
	t.rows, t.cols, t.vector, t.typ = rows, 1, true, labelled
	t.labels = append(t.labels, l)
	t.index = c.indexes(rows)
	return t
}

// row is row i of a table of numbers.
func (t *table) row(i int) []float64 { return t.num[i*t.cols : (i+1)*t.cols : (i+1)*t.cols] }

// column is column j, whichever form the table has.
func (t *table) column(j int) column {
	if t.columns != nil {
		return t.columns[j]
	}
	return column{typ: t.typ, num: t.num, off: j, stride: t.cols}
}

// textOf is b as a string that aliases it.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
