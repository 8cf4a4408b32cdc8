// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"fmt"
	"math/big"
)

// A value read from a pickle is one of:
//
//	nil                          None
//	bool, int64, *big.Int        bool and int
//	float64, string              float and str; Python 2's str is a string of its raw bytes
//	Bytes                        bytes and bytearray
//	*List, Tuple, *Dict, *Set    the containers; OrderedDict, defaultdict and Counter are a *Dict
//	Global                       a class or function, by name only
//	*Object                      an instance: its class, arguments and state, none of them interpreted
//	*Array, *DType, *Scalar      NumPy's array, dtype and scalar
//
// Values may be shared and may form cycles: who walks them keeps its own limits.

// Bytes is a Python bytes or bytearray.
type Bytes []byte

// List is a Python list.
type List struct{ Items []any }

// Tuple is a Python tuple.
type Tuple []any

// Set is a Python set or frozenset, in file order.
type Set struct{ Items []any }

// Global is the name of a class or function. Nothing is ever looked up under it.
type Global struct{ Module, Name string }

func (g Global) String() string { return g.Module + "." + g.Name }

// Object is an instance of a class: what the file says about it and nothing more.
type Object struct {
	Class Global
	// Args are what its constructor would have been called with.
	Args Tuple
	// State is what its __setstate__ would have been given: mostly a *Dict of attributes.
	State any
	// Dict and List are the items of a subclass of dict or list.
	Dict *Dict
	List *List

	built bool
	attrs *Dict
}

// Attrs are the instance attributes: an empty dict where the state has another form.
func (o *Object) Attrs() *Dict {
	if o.attrs == nil {
		o.attrs = attributes(o.State)
	}
	return o.attrs
}

// attributes finds the attributes in a state: a dict, or the pair of a dict and the slots' dict.
func attributes(state any) *Dict {
	switch s := state.(type) {
	case *Dict:
		return s
	case Tuple:
		if len(s) != 2 {
			break
		}
		all := &Dict{}
		for _, part := range s {
			if d, ok := part.(*Dict); ok {
				all.Keys = append(all.Keys, d.Keys...)
				all.Values = append(all.Values, d.Values...)
			}
		}
		return all
	}
	return &Dict{}
}

// Attr is one attribute; ok is false when the instance has none of that name.
func (o *Object) Attr(name string) (value any, ok bool) { return o.Attrs().Lookup(name) }

// Dict is a Python dict in insertion order. A key set twice is there twice; Lookup finds the last.
type Dict struct {
	Keys, Values []any

	index   map[string]int
	indexed int
}

// Lookup is the value of a string key.
func (d *Dict) Lookup(key string) (value any, ok bool) {
	if len(d.Keys) <= 8 {
		for i := len(d.Keys) - 1; i >= 0; i-- {
			if s, is := Text(d.Keys[i]); is && s == key {
				return d.Values[i], true
			}
		}
		return nil, false
	}
	if d.index == nil {
		d.index = make(map[string]int, len(d.Keys))
	}
	for ; d.indexed < len(d.Keys); d.indexed++ {
		if s, is := Text(d.Keys[d.indexed]); is {
			d.index[s] = d.indexed
		}
	}
	i, ok := d.index[key]
	if !ok {
		return nil, false
	}
	return d.Values[i], true
}

// Len is the number of entries.
func (d *Dict) Len() int { return len(d.Keys) }

func (d *Dict) set(key, value any) {
	d.Keys = append(d.Keys, key)
	d.Values = append(d.Values, value)
}

// Scalar is a NumPy scalar: a Go value and the dtype it had.
type Scalar struct {
	DType *DType
	Value any
}

// Unwrap is the plain value of a NumPy scalar or of an array without dimensions; other values are themselves.
func Unwrap(v any) any {
	switch s := v.(type) {
	case *Scalar:
		return s.Value
	case *Array:
		if len(s.Shape) == 0 && s.Len() == 1 {
			if values, err := s.Values(); err == nil {
				return values[0]
			}
		}
	}
	return v
}

// Text is v as a string: a str, or a NumPy string scalar.
func Text(v any) (string, bool) {
	s, ok := Unwrap(v).(string)
	return s, ok
}

// Int is v as an integer: an int, a bool, or a NumPy integer.
func Int(v any) (int64, bool) {
	switch n := Unwrap(v).(type) {
	case int64:
		return n, true
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// Float is v as a float64: any number or NumPy scalar of one.
func Float(v any) (float64, bool) {
	switch n := Unwrap(v).(type) {
	case float64:
		return n, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(n).Float64()
		return f, true
	default:
		i, ok := Int(n)
		return float64(i), ok
	}
}

// Bool is v as a truth value: a bool, or a NumPy bool.
func Bool(v any) (value, ok bool) {
	value, ok = Unwrap(v).(bool)
	return value, ok
}

// Items are the elements of a list, a tuple, a set or an array of objects.
func Items(v any) ([]any, bool) {
	switch s := v.(type) {
	case *List:
		return s.Items, true
	case Tuple:
		return s, true
	case *Set:
		return s.Items, true
	case *Array:
		values, err := s.Values()
		return values, err == nil
	case *Object:
		if s.List != nil {
			return s.List.Items, true
		}
	}
	return nil, false
}

// Kind names the kind of a value for a message: "a list", "an instance of sklearn.svm.SVC".
func Kind(v any) string {
	switch s := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a str"
	case Bytes:
		return "bytes"
	case *List:
		return "a list"
	case Tuple:
		return "a tuple"
	case *Dict:
		return "a dict"
	case *Set:
		return "a set"
	case Global:
		return "the name " + s.String()
	case *Object:
		return "an instance of " + s.Class.String()
	case *Array:
		return fmt.Sprintf("an array of shape %v", s.Shape)
	case *DType:
		return "a dtype"
	case *Scalar:
		return "a NumPy scalar"
	default:
		return fmt.Sprintf("%T", v)
	}
}
