// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// lay lays the fields of an overlay over those of a base as a strategic merge does, where it takes no more than to choose between the two,
// which is what it takes for nearly every service. It says no, and has changed nothing that counts, where both say something of a field that
// has to be merged in itself. The result shares memory with both.
func lay[T any](base *T, overlay T) bool {
	return layFields(reflect.ValueOf(base).Elem(), reflect.ValueOf(overlay))
}

//nolint:gochecknoglobals // nobody writes to them
var (
	amounts = reflect.TypeFor[corev1.ResourceList]()
	amount  = reflect.TypeFor[resource.Quantity]()

	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

func layFields(base, overlay reflect.Value) bool {
	t := base.Type()
	for i := range t.NumField() {
		b, o := base.Field(i), overlay.Field(i)
		switch {
		case isUnsaid(o):
		case isUnsaid(b):
			b.Set(o)
		case !layBoth(b, o, t.Field(i).Tag.Get("patchStrategy") != ""):
			return false
		}
	}
	return true
}

// layBoth is about a field that both have.
func layBoth(base, overlay reflect.Value, byKey bool) bool {
	switch base.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		base.Set(overlay)
		return true
	case reflect.Pointer:
		if k := base.Type().Elem().Kind(); k == reflect.Struct {
			return false
		}
		base.Set(overlay)
		return true
	case reflect.Slice:
		if byKey {
			return false
		}
		base.Set(overlay)
		return true
	case reflect.Map:
		return layMap(base, overlay)
	case reflect.Struct:
		return layFields(base, overlay)
	default:
		return false
	}
}

// layMap adds up two maps whose values are of one piece.
func layMap(base, overlay reflect.Value) bool {
	if base.Type() != amounts && base.Type().Elem().Kind() != reflect.String {
		return false
	}
	sum := reflect.MakeMapWithSize(base.Type(), base.Len()+overlay.Len())
	for _, m := range []reflect.Value{base, overlay} {
		for entries := m.MapRange(); entries.Next(); {
			if strings.HasPrefix(entries.Key().String(), "$") {
				return false // a merge has such words for itself
			}
			sum.SetMapIndex(entries.Key(), entries.Value())
		}
	}
	base.Set(sum)
	return true
}

// mergeFields lays everything that an overlay says over a base: structs and maps are merged at every depth, all else is replaced. What the base
// pointed to stays as it was; the result shares memory with both.
func mergeFields(base, overlay reflect.Value) {
	for i := range base.NumField() {
		b, o := base.Field(i), overlay.Field(i)
		switch kind := b.Kind(); {
		case isUnsaid(o), isEmptyText(o): // what is an empty text is as good as unsaid, as everywhere in a service
		case kind == reflect.Struct && !hasOwnForm(b.Type()):
			mergeFields(b, o)
		case isUnsaid(b):
			b.Set(o)
		case kind == reflect.Pointer && b.Type().Elem().Kind() == reflect.Struct && !hasOwnForm(b.Type().Elem()):
			both := reflect.New(b.Type().Elem())
			both.Elem().Set(b.Elem())
			mergeFields(both.Elem(), o.Elem())
			b.Set(both)
		case kind == reflect.Map:
			sum := reflect.MakeMapWithSize(b.Type(), b.Len()+o.Len())
			for _, m := range []reflect.Value{b, o} {
				for entries := m.MapRange(); entries.Next(); {
					sum.SetMapIndex(entries.Key(), entries.Value())
				}
			}
			b.Set(sum)
		case o.Kind() != reflect.Struct || !o.IsZero():
			b.Set(o)
		}
	}
}

// hasOwnForm says that a struct is one value in JSON, such as a quantity or a time.
func hasOwnForm(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

func isEmptyText(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.String && v.Elem().Len() == 0
}

// isUnsaid says that JSON would leave out a field.
func isUnsaid(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}

// eachText calls f with every text in a value, at any depth, and puts what it returns in the place of it, where that is another. Keys of maps
// are no texts. What is read only need not be settable as long as nothing changes.
func eachText(v reflect.Value, f func(string) (string, error)) error {
	switch v.Kind() {
	case reflect.String:
		before := v.String()
		after, err := f(before)
		if err != nil {
			return err
		}
		if after != before {
			v.SetString(after)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return eachText(v.Elem(), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := eachText(v.Index(i), f); err != nil {
				return err
			}
		}
	case reflect.Map:
		return eachValue(v, f)
	case reflect.Struct:
		if v.Type() == amount {
			return nil
		}
		for i := range v.NumField() {
			if err := eachText(v.Field(i), f); err != nil {
				return err
			}
		}
	default: // no texts
	}
	return nil
}

// eachValue is eachText for a map of texts; there are no other maps with texts in what it is called for.
func eachValue(m reflect.Value, f func(string) (string, error)) error {
	if m.Type().Elem().Kind() != reflect.String {
		return nil
	}
	for entries := m.MapRange(); entries.Next(); {
		before := entries.Value().String()
		after, err := f(before)
		if err != nil {
			return err
		}
		if after != before {
			m.SetMapIndex(entries.Key(), reflect.ValueOf(after).Convert(m.Type().Elem()))
		}
	}
	return nil
}
