// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DType is a NumPy dtype.
type DType struct {
	// Kind is NumPy's letter: f float, i int, u unsigned, b bool, U str, S bytes, O object, V structured or void, c complex, M and m times.
	Kind byte
	// Size is the width of an element in bytes.
	Size      int
	BigEndian bool
	// Fields are the columns of a structured dtype.
	Fields []Field

	// element and dims are of a column whose elements are arrays, until it becomes a Field.
	element *DType
	dims    []int
}

// Field is one column of a structured dtype.
type Field struct {
	Name   string
	Offset int
	DType  *DType
	// Shape is of a field that is itself an array; empty otherwise.
	Shape []int
}

// String is NumPy's short form: "<f8".
func (d *DType) String() string {
	order := "<"
	switch {
	case d.Kind == 'O':
		return "|O"
	case d.BigEndian:
		order = ">"
	case d.Size <= 1 || d.Kind == 'S' || d.Kind == 'V':
		order = "|"
	}
	size := d.Size
	if d.Kind == 'U' {
		size /= 4
	}
	return order + string(rune(d.Kind)) + strconv.Itoa(size)
}

func (d *DType) order() binary.ByteOrder {
	if d.BigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// parseDType reads NumPy's short form: "f8", "<i4", "|S5", "U10", "O8", "V56", "M8[ns]".
func parseDType(text string) (*DType, error) {
	d := &DType{}
	s := text
	if s != "" && strings.ContainsRune("<>|=", rune(s[0])) {
		d.BigEndian = s[0] == '>'
		s = s[1:]
	}
	if s == "?" || s == "bool" {
		return &DType{Kind: 'b', Size: 1}, nil
	}
	if s == "" {
		return nil, fmt.Errorf("dtype %q is unknown", text)
	}
	d.Kind = s[0]
	s, _, _ = strings.Cut(s[1:], "[")
	n := 0
	if s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 || n > 1<<28 {
			return nil, fmt.Errorf("dtype %q is unknown", text)
		}
	}
	d.Size = n
	good := false
	switch d.Kind {
	case 'f':
		good = n == 2 || n == 4 || n == 8 || n == 16
	case 'i', 'u':
		good = n == 1 || n == 2 || n == 4 || n == 8
	case 'b':
		good = n == 1
	case 'c':
		good = n == 8 || n == 16 || n == 32
	case 'M', 'm':
		good = n == 8
	case 'O':
		d.Size, good = 8, true
	case 'U':
		d.Size, good = n*4, true
	case 'S', 'V':
		good = true
	}
	if !good {
		return nil, fmt.Errorf("dtype %q is unknown", text)
	}
	return d, nil
}

// Array is a NumPy array.
type Array struct {
	DType   *DType
	Shape   []int
	Fortran bool
	// Data are the elements as the file has them; nil for an array of objects.
	Data []byte
	// Objects are the elements of an array of objects, row by row.
	Objects []any
}

const maxDims = 64

// elements is the product of the dimensions.
func elements(shape []int) (int, error) {
	if len(shape) > maxDims {
		return 0, fmt.Errorf("an array of %d dimensions", len(shape))
	}
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/8/d {
			return 0, fmt.Errorf("impossible array shape %v", shape)
		}
		n *= d
	}
	return n, nil
}

// Len is the number of elements.
func (a *Array) Len() int {
	n, err := elements(a.Shape)
	if err != nil {
		return 0
	}
	return n
}

// check holds the invariant that every accessor relies on: the elements are all there.
func (a *Array) check() error {
	n, err := elements(a.Shape)
	if err != nil {
		return err
	}
	if a.DType == nil {
		return fmt.Errorf("an array without a dtype")
	}
	if a.DType.Kind == 'O' {
		if len(a.Objects) != n {
			return fmt.Errorf("an array of shape %v holds %d objects", a.Shape, len(a.Objects))
		}
		return nil
	}
	if a.DType.Size == 0 && n > 1<<12 {
		return fmt.Errorf("an array of %d elements of no size", n)
	}
	if a.DType.Size > 0 && n > math.MaxInt/a.DType.Size || n*a.DType.Size != len(a.Data) {
		return fmt.Errorf("an array of shape %v and %d-byte elements holds %d bytes", a.Shape, a.DType.Size, len(a.Data))
	}
	return nil
}

// each calls f with the position in memory of every element, in row-major order.
func (a *Array) each(f func(i, at int)) {
	n := a.Len()
	if !a.Fortran || len(a.Shape) < 2 {
		for i := range n {
			f(i, i)
		}
		return
	}
	strides := make([]int, len(a.Shape))
	step := 1
	for k, d := range a.Shape {
		strides[k], step = step, step*d
	}
	index := make([]int, len(a.Shape))
	at := 0
	for i := range n {
		f(i, at)
		for k := len(index) - 1; k >= 0; k-- {
			index[k]++
			at += strides[k]
			if index[k] < a.Shape[k] {
				break
			}
			at -= strides[k] * index[k]
			index[k] = 0
		}
	}
}

// number reads one element as a float64 and, exactly, as an int64 where it is an integer.
func (d *DType) number(b []byte) (f float64, i int64) {
	o := d.order()
	switch d.Kind {
	case 'f':
		switch d.Size {
		case 8:
			f = math.Float64frombits(o.Uint64(b))
		case 4:
			f = float64(math.Float32frombits(o.Uint32(b)))
		case 2:
			f = half(o.Uint16(b))
		}
		return f, int64(f)
	case 'b':
		if b[0] != 0 {
			return 1, 1
		}
		return 0, 0
	case 'u':
		var u uint64
		switch d.Size {
		case 8:
			u = o.Uint64(b)
		case 4:
			u = uint64(o.Uint32(b))
		case 2:
			u = uint64(o.Uint16(b))
		default:
			u = uint64(b[0])
		}
		return float64(u), int64(u)
	default:
		switch d.Size {
		case 8:
			i = int64(o.Uint64(b))
		case 4:
			i = int64(int32(o.Uint32(b)))
		case 2:
			i = int64(int16(o.Uint16(b)))
		default:
			i = int64(int8(b[0]))
		}
		return float64(i), i
	}
}

func half(bits uint16) float64 {
	exp, frac := int(bits>>10)&0x1f, float64(bits&0x3ff)
	var v float64
	switch exp {
	case 0x1f:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	case 0:
		v = math.Ldexp(frac, -24)
	default:
		v = math.Ldexp(frac+1024, exp-25)
	}
	if bits&0x8000 != 0 {
		v = -v
	}
	return v
}

// IsNumeric reports whether the elements are real numbers or bools.
func (d *DType) IsNumeric() bool {
	return d.Kind == 'i' || d.Kind == 'u' || d.Kind == 'b' || d.Kind == 'f' && d.Size <= 8
}

// Float64s are the elements as float64, row by row. Elements of other kinds than numbers are an error.
func (a *Array) Float64s() ([]float64, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	out := make([]float64, a.Len())
	if a.DType.Kind == 'O' {
		for i, v := range a.Objects {
			f, ok := Float(v)
			if !ok {
				return nil, fmt.Errorf("numbers expected, element %d is %s", i, Kind(v))
			}
			out[i] = f
		}
		return out, nil
	}
	if !a.DType.IsNumeric() {
		return nil, fmt.Errorf("numbers expected, the array's dtype is %s", a.DType)
	}
	size := a.DType.Size
	a.each(func(i, at int) { out[i], _ = a.DType.number(a.Data[at*size:]) })
	return out, nil
}

// Int64s are the elements as int64, row by row. Elements that are no integers are an error.
func (a *Array) Int64s() ([]int64, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	out := make([]int64, a.Len())
	if a.DType.Kind == 'O' {
		for i, v := range a.Objects {
			n, ok := Int(v)
			if !ok {
				return nil, fmt.Errorf("integers expected, element %d is %s", i, Kind(v))
			}
			out[i] = n
		}
		return out, nil
	}
	if !a.DType.IsNumeric() || a.DType.Kind == 'f' {
		return nil, fmt.Errorf("integers expected, the array's dtype is %s", a.DType)
	}
	size := a.DType.Size
	a.each(func(i, at int) { _, out[i] = a.DType.number(a.Data[at*size:]) })
	return out, nil
}

// Strings are the elements of an array of str, bytes or objects that are strings, row by row.
func (a *Array) Strings() ([]string, error) {
	values, err := a.Values()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(values))
	for i, v := range values {
		switch s := Unwrap(v).(type) {
		case string:
			out[i] = s
		case Bytes:
			out[i] = string(s)
		default:
			return nil, fmt.Errorf("strings expected, element %d is %s", i, Kind(v))
		}
	}
	return out, nil
}

// Values are the elements as plain values, row by row.
func (a *Array) Values() ([]any, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.DType.Kind == 'O' {
		return a.Objects, nil
	}
	out := make([]any, a.Len())
	size := a.DType.Size
	a.each(func(i, at int) { out[i] = a.DType.value(a.Data[at*size : at*size+size]) })
	return out, nil
}

// value reads one element. Kinds that models do not compute with stay bytes.
func (d *DType) value(b []byte) any {
	switch {
	case d.Kind == 'U':
		return ucs4(b, d.order())
	case d.Kind == 'S':
		return Bytes(strings.TrimRight(string(b), "\x00"))
	case d.Kind == 'b':
		return b[0] != 0
	case d.Kind == 'f' && d.Size <= 8:
		f, _ := d.number(b)
		return f
	case d.Kind == 'u' && d.Size == 8:
		if u := d.order().Uint64(b); u > math.MaxInt64 {
			return new(big.Int).SetUint64(u)
		}
		fallthrough
	case d.Kind == 'i', d.Kind == 'u':
		_, i := d.number(b)
		return i
	default:
		return Bytes(b)
	}
}

func ucs4(b []byte, o binary.ByteOrder) string {
	out := make([]byte, 0, len(b)/4)
	end := len(b) / 4
	for end > 0 && o.Uint32(b[(end-1)*4:]) == 0 {
		end--
	}
	for i := range end {
		out = utf8.AppendRune(out, rune(o.Uint32(b[i*4:])))
	}
	return string(out)
}

// Field is one column of a structured array as an array of its own, row-major.
func (a *Array) Field(name string) (*Array, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	for _, f := range a.DType.Fields {
		if f.Name != name {
			continue
		}
		per, err := elements(f.Shape)
		if err != nil {
			return nil, err
		}
		width := per * f.DType.Size
		out := &Array{DType: f.DType, Shape: append(append([]int{}, a.Shape...), f.Shape...), Data: make([]byte, a.Len()*width)}
		size := a.DType.Size
		a.each(func(i, at int) {
			from := at*size + f.Offset
			copy(out.Data[i*width:(i+1)*width], a.Data[from:from+width])
		})
		return out, nil
	}
	return nil, fmt.Errorf("the array has no column %q", name)
}
