// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
)

// memoryOf is how many bytes a model takes: what it says itself, or what its value refers to, each byte once. It is called before the model
// is used. A model of the owner's that does not say counts as none: others may be at it already.
func memoryOf(m engine.Model, custom bool) int64 {
	if s, ok := m.(engine.Sized); ok {
		return s.SizeBytes()
	}
	if custom {
		return 0
	}
	w := measure{seen: map[visited]bool{}, plain: map[reflect.Type]bool{}}
	w.value(reflect.ValueOf(m))
	return w.total()
}

// measure walks what a value refers to.
type measure struct {
	seen   map[visited]bool
	plain  map[reflect.Type]bool // types that refer to nothing
	blocks []block
	loose  int64 // what has no address: the inside of maps
}

type visited struct {
	at unsafe.Pointer
	t  reflect.Type
	n  int
}

type block struct{ from, to uintptr }

// total counts blocks that overlap once: many slices may lie in one array.
func (w *measure) total() int64 {
	slices.SortFunc(w.blocks, func(a, b block) int { return cmp.Compare(a.from, b.from) })
	sum, end := w.loose, uintptr(0)
	for _, b := range w.blocks {
		if b.to <= end {
			continue
		}
		sum += int64(b.to - max(b.from, end))
		end = b.to
	}
	return sum
}

// first notes a block of memory; false when it has been walked, or is none.
func (w *measure) first(at unsafe.Pointer, t reflect.Type, n, size int) bool {
	v := visited{at, t, n}
	if at == nil || size == 0 || w.seen[v] {
		return false
	}
	w.seen[v] = true
	w.blocks = append(w.blocks, block{uintptr(at), uintptr(at) + uintptr(size)})
	return true
}

// spare is memory for requests, which comes and goes.
var spare = reflect.TypeFor[sync.Pool]() //nolint:gochecknoglobals // a constant

// value walks what v refers to; v's own bytes have been counted.
func (w *measure) value(v reflect.Value) {
	if !v.IsValid() || w.isPlain(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		t := v.Type().Elem()
		if w.first(v.UnsafePointer(), t, 1, int(t.Size())) {
			w.value(v.Elem())
		}
	case reflect.Interface:
		if in := v.Elem(); in.IsValid() {
			if in.Kind() != reflect.Pointer {
				w.loose += int64(in.Type().Size())
			}
			w.value(in)
		}
	case reflect.Slice:
		t := v.Type().Elem()
		if w.first(v.UnsafePointer(), t, v.Len(), v.Cap()*int(t.Size())) && !w.isPlain(t) {
			for i := range v.Len() {
				w.value(v.Index(i))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.String:
		if s := v.String(); s != "" {
			w.first(unsafe.Pointer(unsafe.StringData(s)), v.Type(), len(s), len(s))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i))
		}
	case reflect.Map:
		w.entries(v)
	default: // functions and channels: code, and what is on its way
	}
}

func (w *measure) entries(v reflect.Value) {
	at := visited{v.UnsafePointer(), v.Type(), 0}
	if v.IsNil() || w.seen[at] {
		return
	}
	w.seen[at] = true
	t := v.Type()
	// Tables of a map are seven eighths full at most, and a byte tells what is in a place.
	w.loose += 48 + int64(v.Len())*(int64(t.Key().Size()+t.Elem().Size())+1)*8/7
	if w.isPlain(t.Key()) && w.isPlain(t.Elem()) {
		return
	}
	for all := v.MapRange(); all.Next(); {
		w.value(all.Key())
		w.value(all.Value())
	}
}

// isPlain reports whether values of the type refer to nothing that is to be counted.
func (w *measure) isPlain(t reflect.Type) bool {
	if plain, ok := w.plain[t]; ok {
		return plain
	}
	plain := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.String, reflect.Map:
	case reflect.Array:
		plain = w.isPlain(t.Elem())
	case reflect.Struct:
		plain = true
		for i := range t.NumField() {
			plain = plain && w.isPlain(t.Field(i).Type)
		}
		plain = plain || t == spare
	default:
		plain = true
	}
	w.plain[t] = plain
	return plain
}
