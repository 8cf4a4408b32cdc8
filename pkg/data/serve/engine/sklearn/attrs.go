// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// attrs reads the attributes of one object. The first fault stays in err; getters answer zero values from then on.
type attrs struct {
	*loader
	o       *pickle.Object
	path    string
	version version // of the library that wrote the object; zero where the file does not tell
	err     error
}

func newAttrs(l *loader, o *pickle.Object, path string) *attrs {
	a := &attrs{loader: l, o: o, path: path}
	if v, ok := o.Attr("_sklearn_version"); ok {
		s, _ := pickle.Text(v)
		a.version = parseVersion(s)
	}
	return a
}

// inner reads an object that is no estimator of its own: a tree, a loss.
func (a *attrs) inner(name string) *attrs {
	o, ok := a.must(name).(*pickle.Object)
	if !ok {
		a.bad(name, "an object")
		return &attrs{loader: a.loader, o: &pickle.Object{}, path: a.path + "." + name, err: a.err}
	}
	i := newAttrs(a.loader, o, a.path+"."+name)
	if i.version == (version{}) {
		i.version = a.version
	}
	return i
}

// fail records a fault at an attribute.
func (a *attrs) fail(name, format string, args ...any) {
	if a.err == nil {
		a.err = &engine.BadModel{Where: a.path + "." + name, Reason: fmt.Sprintf(format, args...)}
	}
}

// bad records that an attribute is not what was expected.
func (a *attrs) bad(name, expected string) {
	v, _ := a.o.Attr(name)
	a.fail(name, "expected %s, got %s", expected, pickle.Kind(v))
}

// unsupported records that a parameter has a value that is not served.
func (a *attrs) unsupported(format string, args ...any) {
	if a.err == nil {
		a.err = &engine.Unsupported{Class: a.o.Class.String(), Reason: fmt.Sprintf(format, args...)}
	}
}

// has reports whether an attribute is there and not None.
func (a *attrs) has(name string) bool {
	v, ok := a.o.Attr(name)
	return ok && v != nil
}

// first is the first of several names that the attribute has had over the library's versions; the last if none is there.
func (a *attrs) first(names ...string) string {
	for _, n := range names {
		if _, ok := a.o.Attr(n); ok {
			return n
		}
	}
	return names[len(names)-1]
}

// value is an attribute, nil where it is not there.
func (a *attrs) value(name string) any {
	v, _ := a.o.Attr(name)
	return v
}

// must is an attribute that a fitted estimator has.
func (a *attrs) must(name string) any {
	v, ok := a.o.Attr(name)
	if !ok && a.err == nil {
		a.err = &engine.BadModel{Where: a.path, Reason: fmt.Sprintf("%s has no attribute %s: the estimator was never fitted", a.o.Class, name)}
	}
	return v
}

// text is a str attribute.
func (a *attrs) text(name string) string {
	s, ok := pickle.Text(a.must(name))
	if !ok {
		a.bad(name, "a str")
	}
	return s
}

// textOr is a str attribute or, where there is none, a default.
func (a *attrs) textOr(name, otherwise string) string {
	if s, ok := pickle.Text(a.value(name)); ok {
		return s
	}
	return otherwise
}

// flag is a bool attribute or, where there is none, a default.
func (a *attrs) flag(name string, otherwise bool) bool {
	switch v := pickle.Unwrap(a.value(name)).(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case nil:
		return otherwise
	}
	a.bad(name, "a bool")
	return otherwise
}

// number is a numeric attribute.
func (a *attrs) number(name string) float64 {
	f, ok := pickle.Float(a.must(name))
	if !ok {
		a.bad(name, "a number")
	}
	return f
}

// numberOr is a numeric attribute or, where there is none, a default.
func (a *attrs) numberOr(name string, otherwise float64) float64 {
	if f, ok := pickle.Float(a.value(name)); ok {
		return f
	}
	return otherwise
}

// count is an integer attribute from 0 to 2^31.
func (a *attrs) count(name string) int {
	n, ok := pickle.Int(a.must(name))
	if !ok {
		// Some versions keep counts as floats.
		if f, isFloat := pickle.Float(a.value(name)); isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<31 {
			n, ok = int64(f), true
		}
	}
	if !ok || n < 0 || n > 1<<31 {
		a.bad(name, "a count")
		return 0
	}
	return int(n)
}

// array is an array attribute.
func (a *attrs) array(name string) *pickle.Array {
	return a.asArray(name, a.must(name))
}

func (a *attrs) asArray(name string, v any) *pickle.Array {
	if arr, ok := v.(*pickle.Array); ok && arr.DType != nil {
		return arr
	}
	a.fail(name, "expected an array, got %s", pickle.Kind(v))
	return &pickle.Array{DType: &pickle.DType{Kind: 'f', Size: 8}, Shape: []int{0}}
}

// vector is a one-dimensional array of numbers, of any length.
func (a *attrs) vector(name string) []float64 {
	arr := a.array(name)
	if a.err != nil {
		return nil
	}
	return a.toVector(name, arr)
}

func (a *attrs) toVector(name string, arr *pickle.Array) []float64 {
	if len(arr.Shape) != 1 {
		a.fail(name, "expected an array of one dimension, got shape %v", arr.Shape)
		return nil
	}
	v, err := arr.Float64s()
	if err != nil {
		a.fail(name, "%v", err)
	}
	return v
}

// vectorOf is a one-dimensional array of n numbers. A single number stands for an array of one.
func (a *attrs) vectorOf(name string, n int) []float64 {
	if f, ok := pickle.Float(a.value(name)); ok && n == 1 {
		return []float64{f}
	}
	v := a.vector(name)
	if a.err == nil && len(v) != n {
		a.fail(name, "expected %d numbers, got %d", n, len(v))
	}
	return v
}

// matrix is a two-dimensional array of numbers, row by row.
type matrix struct {
	rows, cols int
	v          []float64
	single     bool // the array is of float32
}

func (m matrix) row(i int) []float64 { return m.v[i*m.cols : (i+1)*m.cols] }

// matrix is a two-dimensional array of numbers.
func (a *attrs) matrix(name string) matrix {
	arr := a.array(name)
	if a.err != nil {
		return matrix{}
	}
	return a.toMatrix(name, arr)
}

func (a *attrs) toMatrix(name string, arr *pickle.Array) matrix {
	if len(arr.Shape) != 2 {
		a.fail(name, "expected an array of two dimensions, got shape %v", arr.Shape)
		return matrix{}
	}
	v, err := arr.Float64s()
	if err != nil {
		a.fail(name, "%v", err)
		return matrix{}
	}
	return matrix{rows: arr.Shape[0], cols: arr.Shape[1], v: v, single: arr.DType.Kind == 'f' && arr.DType.Size == 4}
}

// matrixOf is a rows × cols array of numbers; -1 leaves a dimension free.
func (a *attrs) matrixOf(name string, rows, cols int) matrix {
	m := a.matrix(name)
	if a.err == nil && (rows >= 0 && m.rows != rows || cols >= 0 && m.cols != cols) {
		a.fail(name, "expected shape [%s %s], got [%d %d]", free(rows), free(cols), m.rows, m.cols)
	}
	return m
}

func free(n int) string {
	if n < 0 {
		return "any"
	}
	return fmt.Sprint(n)
}

// items are the elements of a list, tuple or object array.
func (a *attrs) items(name string) []any {
	items, ok := pickle.Items(a.must(name))
	if !ok {
		a.bad(name, "a list")
	}
	return items
}

// child builds the estimator that an attribute holds.
func (a *attrs) child(name string) estimator {
	return a.estimator(name, a.must(name))
}

// estimator builds the estimator that is v.
func (a *attrs) estimator(name string, v any) estimator {
	if a.err != nil {
		return nil
	}
	o, ok := v.(*pickle.Object)
	if !ok {
		a.fail(name, "expected an estimator, got %s", pickle.Kind(v))
		return nil
	}
	est, err := a.build(o, a.path+"."+name)
	if err != nil {
		a.err = err
	}
	return est
}

// fitted reads what the estimator remembers of its columns. 0 columns means that this version does not say.
func (a *attrs) fitted() fitted {
	f := fitted{class: a.o.Class.Name}
	for _, name := range []string{"n_features_in_", "n_features_"} {
		if a.has(name) {
			f.n = a.count(name)
			break
		}
	}
	if a.has("feature_names_in_") {
		names, err := a.array("feature_names_in_").Strings()
		if err != nil {
			a.fail("feature_names_in_", "%v", err)
		}
		f.names = names
		if f.n != 0 && len(names) != f.n && a.err == nil {
			a.fail("feature_names_in_", "%d names for %d columns", len(names), f.n)
		}
	}
	return f
}

// columns settles the number of columns: what the estimator's arrays say must be what it remembers.
func (a *attrs) columns(f *fitted, n int, name string) {
	if f.n == 0 {
		f.n = n
	}
	if f.n != n {
		a.fail(name, "it is for %d columns, and the estimator was fitted with %d", n, f.n)
	}
}

// classes is classes_ of a classifier with one output.
func (a *attrs) classes(name string) *labels {
	return a.toLabels(name, a.must(name))
}

func (a *attrs) toLabels(name string, v any) *labels {
	if items, ok := v.(*pickle.List); ok { // kept as a list by a few estimators
		v = &pickle.Array{DType: &pickle.DType{Kind: 'O', Size: 8}, Shape: []int{len(items.Items)}, Objects: items.Items}
	}
	arr := a.asArray(name, v)
	if a.err != nil {
		return &labels{}
	}
	if len(arr.Shape) != 1 || arr.Len() == 0 {
		a.fail(name, "expected a list of classes, got shape %v", arr.Shape)
		return &labels{}
	}
	l, err := newLabels(arr)
	if err != nil {
		a.fail(name, "%v", err)
		return &labels{}
	}
	return l
}

// newLabels keeps the type of an array of classes.
func newLabels(arr *pickle.Array) (*labels, error) {
	l := &labels{}
	var err error
	integer := map[string]tensor.Type{
		"i8": tensor.Int64, "i4": tensor.Int32, "i2": tensor.Int16, "i1": tensor.Int8,
		"u8": tensor.Uint64, "u4": tensor.Uint32, "u2": tensor.Uint16, "u1": tensor.Uint8, "b1": tensor.Bool,
	}
	switch d := arr.DType; d.Kind {
	case 'i', 'u', 'b':
		l.typ = integer[fmt.Sprintf("%c%d", d.Kind, d.Size)]
		l.ints, err = arr.Int64s()
	case 'f':
		l.typ = tensor.FP64
		if d.Size == 4 {
			l.typ = tensor.FP32
		}
		l.num, err = arr.Float64s()
	case 'U', 'S':
		l.typ = tensor.Bytes
		l.text, err = arr.Strings()
	case 'O':
		return objectLabels(arr)
	default:
		err = fmt.Errorf("classes of dtype %s", d)
	}
	return l, err
}

// objectLabels are classes in an object array: all strings, or all of one kind of number.
func objectLabels(arr *pickle.Array) (*labels, error) {
	if text, err := arr.Strings(); err == nil {
		return &labels{typ: tensor.Bytes, text: text}, nil
	}
	values, err := arr.Values()
	if err != nil {
		return nil, err
	}
	allBool := true
	for _, v := range values {
		if _, ok := pickle.Bool(v); !ok {
			allBool = false
		}
	}
	if ints, err := arr.Int64s(); err == nil {
		if allBool {
			return &labels{typ: tensor.Bool, ints: ints}, nil
		}
		return &labels{typ: tensor.Int64, ints: ints}, nil
	}
	num, err := arr.Float64s()
	return &labels{typ: tensor.FP64, num: num}, err
}

// asNumber is v as a number.
func (a *attrs) asNumber(name string, v any) float64 {
	f, ok := pickle.Float(v)
	if !ok {
		a.fail(name, "expected a number, got %s", pickle.Kind(v))
	}
	return f
}
