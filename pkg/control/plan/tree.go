// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Tree is a struct as JSON has it, in the types that objects without a Go type are made of, and shares no maps or lists with it. It is what writing
// JSON and reading it again gives, for a fraction of the time.
func Tree(pointer any) (map[string]any, error) {
	v := reflect.ValueOf(pointer)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%T is no pointer to a struct", pointer)
	}
	grown, err := grow(v.Elem(), value.TypeReflectEntryOf(v.Elem().Type()))
	if err != nil {
		return nil, fmt.Errorf("read %T: %w", pointer, err)
	}
	tree, ok := grown.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%T is no object in JSON", pointer)
	}
	return tree, nil
}

// grow is about any value; entry is what is known of its type.
func grow(v reflect.Value, entry *value.TypeReflectCacheEntry) (any, error) {
	if entry.CanConvertToUnstructured() {
		return entry.ToUnstructured(v)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return grow(v.Elem(), value.TypeReflectEntryOf(v.Elem().Type()))
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return nil, fmt.Errorf("%d is too big", v.Uint())
		}
		return int64(v.Uint()), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.Struct:
		return growStruct(v, entry)
	case reflect.Map:
		return growMap(v)
	case reflect.Slice:
		return growSlice(v)
	default:
		return nil, fmt.Errorf("%s has no place in JSON", v.Type())
	}
}

func growStruct(v reflect.Value, entry *value.TypeReflectCacheEntry) (any, error) {
	tree := map[string]any{}
	for _, field := range entry.OrderedFields() {
		f := field.GetFrom(v)
		if field.CanOmit(f) {
			continue
		}
		grown, err := grow(f, field.TypeEntry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.JsonName, err)
		}
		tree[field.JsonName] = grown
	}
	return tree, nil
}

func growMap(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	tree := make(map[string]any, v.Len())
	if texts, ok := v.Interface().(map[string]string); ok { // most are
		for key, text := range texts {
			tree[key] = text
		}
		return tree, nil
	}
	if v.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s has no place in JSON", v.Type())
	}
	entry := value.TypeReflectEntryOf(v.Type().Elem())
	for fields := v.MapRange(); fields.Next(); {
		grown, err := grow(fields.Value(), entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields.Key(), err)
		}
		tree[fields.Key().String()] = grown
	}
	return tree, nil
}

func growSlice(v reflect.Value) (any, error) {
	if v.IsNil() {
		return nil, nil
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return base64.StdEncoding.EncodeToString(v.Bytes()), nil
	}
	entry := value.TypeReflectEntryOf(v.Type().Elem())
	items := make([]any, v.Len())
	for i := range items {
		grown, err := grow(v.Index(i), entry)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		items[i] = grown
	}
	return items, nil
}
