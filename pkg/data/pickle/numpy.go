// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"slices"
	"strings"
)

// subclasses are the array types whose elements are laid out as an ndarray's.
var subclasses = []string{"ndarray", "matrix", "memmap", "recarray", "NumpyMemmap"} //nolint:gochecknoglobals // a constant table

// reduceNumPy builds NumPy's values. ok is false when g is none of its constructors.
func (m *machine) reduceNumPy(g Global, args Tuple) (v any, ok bool, err error) {
	root, rest, _ := strings.Cut(g.Module, ".")
	if root != "numpy" {
		return nil, false, nil
	}
	core := strings.TrimPrefix(strings.TrimPrefix(rest, "_"), "core")
	switch {
	case g.Name == "dtype" && (rest == "" || core != rest):
		v, err = m.dtype(args)
	case core == ".multiarray" && g.Name == "_reconstruct":
		v, err = m.reconstruct(args)
	case core == ".multiarray" && g.Name == "scalar":
		v, err = m.scalar(args)
	case core == ".numeric" && g.Name == "_frombuffer":
		v, err = m.fromBuffer(args)
	case core == "" && rest != "" && g.Name == "_ufunc_reconstruct":
		v, err = m.ufunc(args)
	default:
		return nil, false, nil
	}
	return v, true, err
}

func (m *machine) dtype(args Tuple) (any, error) {
	if len(args) == 0 {
		return nil, m.damaged("a dtype of nothing")
	}
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	switch code := args[0].(type) {
	case string:
		d, err := parseDType(code)
		if err != nil {
			return nil, m.damaged("%v", err)
		}
		return d, nil
	case *DType:
		d := *code
		return &d, nil
	}
	return nil, m.damaged("a dtype is made from %s", Kind(args[0]))
}

// buildDType is dtype.__setstate__: (version, order, subarray, names, fields, size, alignment, flags[, metadata]).
func (m *machine) buildDType(d *DType, state any) error {
	t, ok := state.(Tuple)
	if !ok || len(t) < 7 {
		return m.damaged("a dtype's state is %s", Kind(state))
	}
	if order, ok := t[1].(string); ok && order != "" {
		d.BigEndian = order == ">"
	}
	if t[2] != nil {
		return m.buildSubarray(d, t[2])
	}
	if size, ok := t[5].(int64); ok && size >= 0 && (d.Kind == 'V' || d.Kind == 'S' || d.Kind == 'U') {
		if size > 1<<28 || d.Kind == 'U' && size%4 != 0 {
			return m.damaged("a dtype of %d bytes", size)
		}
		d.Size = int(size)
	}
	if t[3] == nil || t[4] == nil {
		return nil
	}
	fieldNames, ok1 := m.plainItems(t[3])
	fields, ok2 := t[4].(*Dict)
	if !ok1 || !ok2 || d.Kind != 'V' {
		return m.damaged("a structured dtype's columns are %s", Kind(t[4]))
	}
	if err := m.charge(int64(len(fieldNames)) * costObject); err != nil {
		return err
	}
	d.Fields = nil
	for _, n := range fieldNames {
		name, ok := n.(string)
		if !ok {
			return m.damaged("a column's name is %s", Kind(n))
		}
		v, _ := fields.Lookup(name)
		f, ok := v.(Tuple)
		if !ok || len(f) < 2 {
			return m.damaged("column %q of a dtype is missing", name)
		}
		inner, ok1 := f[0].(*DType)
		offset, ok2 := f[1].(int64)
		if !ok1 || !ok2 || inner == d || offset < 0 || offset > int64(d.Size) || int(offset)+inner.Size > d.Size {
			return m.damaged("column %q of a dtype lies outside it", name)
		}
		field := Field{Name: name, Offset: int(offset), DType: inner}
		if inner.element != nil {
			field.DType, field.Shape = inner.element, inner.dims
		}
		d.Fields = append(d.Fields, field)
	}
	return nil
}

// buildSubarray completes the dtype of a column whose elements are arrays: (dtype, shape).
func (m *machine) buildSubarray(d *DType, sub any) error {
	t, ok := sub.(Tuple)
	if !ok || len(t) != 2 {
		return m.damaged("a dtype of arrays is %s", Kind(sub))
	}
	element, ok := t[0].(*DType)
	if !ok || element == d || d.Kind != 'V' {
		return m.damaged("a dtype of arrays of %s", Kind(t[0]))
	}
	dims, err := m.shape(t[1])
	if err != nil {
		return err
	}
	n, err := elements(dims)
	if err != nil || n > 1<<28 || n*element.Size != d.Size {
		return m.damaged("a dtype of %d bytes for an array of shape %v", d.Size, dims)
	}
	d.element, d.dims = element, dims
	return nil
}

// reconstruct makes an empty array, whose state follows.
func (m *machine) reconstruct(args Tuple) (any, error) {
	if len(args) == 0 {
		return nil, m.damaged("an array of no type")
	}
	if err := m.arrayClass(args[0]); err != nil {
		return nil, err
	}
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	return &Array{DType: &DType{Kind: 'i', Size: 1}, Shape: []int{0}}, nil
}

func (m *machine) arrayClass(v any) error {
	g, ok := v.(Global)
	if !ok {
		return m.damaged("an array's class is %s", Kind(v))
	}
	if !within(g.Module, []string{"numpy"}) || !slices.Contains(subclasses, g.Name) {
		return m.refuse(g.String(), "it is no array type that is known here")
	}
	return nil
}

func (m *machine) shape(v any) ([]int, error) {
	if n, ok := v.(int64); ok {
		v = Tuple{n}
	}
	dims, ok := m.plainItems(v)
	if !ok {
		return nil, m.damaged("an array's shape is %s", Kind(v))
	}
	if len(dims) > maxDims {
		return nil, m.damaged("an array of %d dimensions", len(dims))
	}
	shape := make([]int, len(dims))
	for i, d := range dims {
		n, ok := Int(d)
		if !ok || n < 0 || n > 1<<48 {
			return nil, m.damaged("a dimension of an array is %s", Kind(d))
		}
		shape[i] = int(n)
	}
	if _, err := elements(shape); err != nil {
		return nil, m.damaged("%v", err)
	}
	return shape, nil
}

// buildArray is ndarray.__setstate__: (version, shape, dtype, fortran order, elements); the first is left out by very old writers.
func (m *machine) buildArray(a *Array, state any) error {
	t, ok := state.(Tuple)
	if ok && len(t) == 4 {
		t = append(Tuple{int64(0)}, t...)
	}
	if !ok || len(t) != 5 {
		return m.damaged("an array's state is %s", Kind(state))
	}
	shape, err := m.shape(t[1])
	if err != nil {
		return err
	}
	d, ok := t[2].(*DType)
	if !ok {
		return m.damaged("an array's dtype is %s", Kind(t[2]))
	}
	order, _ := Int(t[3])
	return m.fill(a, Array{DType: d, Shape: shape, Fortran: order != 0}, t[4])
}

// fill completes an array with its elements: bytes, a Python 2 string of bytes, or a list of objects.
func (m *machine) fill(a *Array, head Array, elements any) error {
	d := *head.DType // a later BUILD of the same dtype must not change this array
	head.DType = &d
	switch e := elements.(type) {
	case Bytes:
		head.Data = e
	case string:
		head.Data = []byte(e)
	case *List:
		if d.Kind != 'O' {
			return m.damaged("an array of %s holds objects", head.DType)
		}
		head.Objects = e.Items
		if err := head.rowMajor(m.source); err != nil {
			return err
		}
	default:
		return m.damaged("an array's elements are %s", Kind(elements))
	}
	if d.Kind == 'O' && head.Data != nil {
		return m.damaged("an array of objects holds bytes")
	}
	if err := head.check(); err != nil {
		return m.damaged("%v", err)
	}
	*a = head
	return nil
}

// fromBuffer is protocol 5's array: (buffer, dtype, shape, order).
func (m *machine) fromBuffer(args Tuple) (any, error) {
	if len(args) != 4 {
		return nil, m.damaged("an array is made from %d values, not 4", len(args))
	}
	d, ok := args[1].(*DType)
	if !ok {
		return nil, m.damaged("an array's dtype is %s", Kind(args[1]))
	}
	shape, err := m.shape(args[2])
	if err != nil {
		return nil, err
	}
	order, _ := args[3].(string)
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	a := &Array{}
	return a, m.fill(a, Array{DType: d, Shape: shape, Fortran: order == "F"}, args[0])
}

func (m *machine) scalar(args Tuple) (any, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, m.damaged("a NumPy scalar is made from %d values", len(args))
	}
	d, ok := args[0].(*DType)
	if !ok {
		return nil, m.damaged("a scalar's dtype is %s", Kind(args[0]))
	}
	if err := m.charge(costObject); err != nil {
		return nil, err
	}
	var data []byte
	if len(args) == 1 {
		data = make([]byte, min(d.Size, 64))
	} else {
		switch b := args[1].(type) {
		case Bytes:
			data = b
		case string:
			data = []byte(b)
		default:
			if d.Kind == 'O' {
				return &Scalar{DType: d, Value: b}, nil
			}
			return nil, m.damaged("a scalar's bytes are %s", Kind(b))
		}
	}
	if len(data) != d.Size {
		return nil, m.damaged("a scalar of %d bytes holds %d", d.Size, len(data))
	}
	copied := *d
	return &Scalar{DType: &copied, Value: copied.value(data)}, nil
}

// ufunc is the name of a universal function: (module, name).
func (m *machine) ufunc(args Tuple) (any, error) {
	if len(args) == 2 {
		module, ok1 := args[0].(string)
		name, ok2 := args[1].(string)
		g := Global{module, name}
		if ok1 && ok2 {
			if !within(module, []string{"numpy", "scipy"}) {
				return nil, m.refuse(g.String(), "it is no universal function of NumPy")
			}
			return g, m.allow(g)
		}
	}
	return nil, m.damaged("a universal function without its name")
}

// rowMajor reorders an array of objects that the file has column by column.
func (a *Array) rowMajor(s *source) error {
	if !a.Fortran || len(a.Shape) < 2 {
		a.Fortran = false
		return nil
	}
	if err := a.check(); err != nil {
		return s.damaged("%v", err)
	}
	if err := s.charge(int64(len(a.Objects)) * costSlot); err != nil {
		return err
	}
	out := make([]any, len(a.Objects))
	a.each(func(i, at int) { out[i] = a.Objects[at] })
	a.Objects, a.Fortran = out, false
	return nil
}
