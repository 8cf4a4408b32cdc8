// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// joblibArrays reads the arrays that joblib keeps out of the pickle proper: from version 0.10 in the same stream, right after
// the opcode that completes a wrapper object; before that in files beside it.
type joblibArrays struct {
	side func(name string) (io.ReadCloser, error)
}

// wrapper reports the class name if g is one of joblib's wrappers, under any of the names the module has had.
func wrapper(g Global) string {
	switch g.Module {
	case "joblib.numpy_pickle", "joblib.numpy_pickle_compat", "sklearn.externals.joblib.numpy_pickle", "sklearn.externals.joblib.numpy_pickle_compat":
		if slices.Contains([]string{"NumpyArrayWrapper", "NDArrayWrapper", "ZNDArrayWrapper"}, g.Name) {
			return g.Name
		}
	}
	return ""
}

// buildWrapper replaces a wrapper on top of the stack by the array it stands for. Other objects stay.
func (m *machine) buildWrapper(o *Object) error {
	name := wrapper(o.Class)
	if name == "" {
		return nil
	}
	if m.wrappers == nil {
		return m.damaged("a joblib array inside a nested pickle")
	}
	if class, ok := o.Attr("subclass"); ok {
		if err := m.arrayClass(class); err != nil {
			return err
		}
	}
	var a *Array
	var err error
	switch name {
	case "NumpyArrayWrapper":
		a, err = m.inlineArray(o)
	case "NDArrayWrapper":
		a, err = m.sideArray(o)
	default:
		a, err = m.compressedSideArray(o)
	}
	if err != nil {
		return err
	}
	m.stack[len(m.stack)-1] = a
	return nil
}

// inlineArray reads the elements that follow in the stream.
func (m *machine) inlineArray(o *Object) (*Array, error) {
	dims, _ := o.Attr("shape")
	shape, err := m.shape(dims)
	if err != nil {
		return nil, err
	}
	dt, _ := o.Attr("dtype")
	d, ok := dt.(*DType)
	if !ok {
		return nil, m.damaged("a joblib array's dtype is %s", Kind(dt))
	}
	if d.Kind == 'O' {
		return m.nestedArray(shape)
	}
	if align, ok := o.Attr("numpy_array_alignment_bytes"); ok && align != nil {
		padding, err := m.readByte()
		if err != nil {
			return nil, err
		}
		if err := m.skip(int(padding)); err != nil {
			return nil, err
		}
	}
	order, _ := o.Attr("order")
	return m.rawArray(&Array{DType: d, Shape: shape, Fortran: order == "F"})
}

// rawArray reads the elements of head from the source.
func (m *machine) rawArray(head *Array) (*Array, error) {
	n, err := elements(head.Shape)
	if err != nil {
		return nil, m.damaged("%v", err)
	}
	size := head.DType.Size
	if size > 0 && n > (1<<62)/size {
		return nil, m.damaged("an array of shape %v and %d-byte elements", head.Shape, size)
	}
	data, err := m.take(uint64(n) * uint64(size))
	if err != nil {
		return nil, err
	}
	a := &Array{}
	return a, m.fill(a, *head, Bytes(data))
}

// nestedArray reads an array of objects, which joblib pickles on its own.
func (m *machine) nestedArray(shape []int) (*Array, error) {
	inner := &machine{source: m.source}
	v, err := inner.run()
	if err != nil {
		return nil, err
	}
	a, ok := v.(*Array)
	if !ok || a.DType.Kind != 'O' {
		return nil, m.damaged("an array of objects holds %s", Kind(v))
	}
	if !slices.Equal(a.Shape, shape) {
		return nil, m.damaged("an array of shape %v announced as %v", a.Shape, shape)
	}
	return a, nil
}

// open opens a file beside the pickle. Names that lead elsewhere are refused.
func (m *machine) open(o *Object) (io.ReadCloser, string, error) {
	v, _ := o.Attr("filename")
	name, ok := v.(string)
	if !ok || name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
		return nil, "", m.damaged("a joblib array is in a file named %q, which is no plain file name", v)
	}
	if m.wrappers.side == nil {
		return nil, name, m.damaged("an array is in the file %q, which is not there", name)
	}
	f, err := m.wrappers.side(name)
	if err != nil {
		return nil, name, &Damaged{Offset: m.offset, Reason: fmt.Sprintf("an array is in the file %q, which cannot be read", name), Cause: err}
	}
	return f, name, nil
}

// sideArray reads an array from the .npy file beside the pickle.
func (m *machine) sideArray(o *Object) (*Array, error) {
	f, name, err := m.open(o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	beside := &machine{source: newSource(f, -1, m.budget)}
	head, err := beside.npyHeader()
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	var a *Array
	if head.DType.Kind == 'O' {
		a, err = beside.nestedArray(head.Shape)
	} else {
		a, err = beside.rawArray(head)
	}
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	return a, nil
}

// compressedSideArray reads joblib 0.9's compressed array: the elements in a compressed file, the array's state in the pickle.
func (m *machine) compressedSideArray(o *Object) (*Array, error) {
	init, _ := o.Attr("init_args")
	state, _ := o.Attr("state")
	args, ok1 := init.(Tuple)
	head, ok2 := state.(Tuple)
	if !ok1 || !ok2 {
		return nil, m.damaged("a joblib array's state is %s", Kind(state))
	}
	v, err := m.reconstruct(args)
	if err != nil {
		return nil, err
	}
	f, name, err := m.open(o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, _, err := decompress(f, -1, m.budget)
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	data, err := newSource(r, -1, m.budget).rest()
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	a := v.(*Array) //nolint:forcetypeassert // what reconstruct makes
	return a, m.buildArray(a, append(append(Tuple(nil), head...), Bytes(data)))
}
