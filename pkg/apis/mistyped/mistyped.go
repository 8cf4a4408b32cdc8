// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mistyped finds the value of a document that a decoder cannot read, whatever the decoder says of its place, and says what is expected.
//
// Called by: pkg/cli/manifest; control/admit/review.
// Next: the person who wrote the document.
package mistyped

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Find returns the path of the value that decode, which failed with err, cannot read, and says in words of its own what is wrong with it.
// decode has to fail with the same error for as long as that value is in the document.
func Find(raw []byte, err error, decode func(raw []byte) error) (path, message string) {
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return "", err.Error()
	}
	// The decoder's own path leaves indexes out and types with a decoder of their own tell none: the culprit is the value that
	// alone, with nothing beside it, still gives this error.
	probe := decodeTree(raw)
	keys := culprit(probe, func() bool {
		rest, encodeErr := json.Marshal(probe)
		if encodeErr != nil {
			return false
		}
		e := decode(rest)
		return e != nil && e.Error() == err.Error()
	})
	path = joinPath(tree, keys)
	return path, problem(err, at(tree, keys))
}

// problem says what is wrong with a value.
func problem(err error, got any) string {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) && te.Type != nil {
		if text := overflow(te.Type, got); text != "" {
			return text
		}
		message := fmt.Sprintf("%s is expected, got %s", goKind(te.Type), show(got))
		if _, isBool := got.(bool); isBool && te.Type.Kind() == reflect.String {
			message += "; put it in quotes: YAML reads y, yes, on and true as true, n, no, off and false as false"
		} else if _, isNumber := got.(float64); isNumber && te.Type.Kind() == reflect.String {
			message += "; put it in quotes"
		}
		return message
	}
	switch text := err.Error(); {
	case strings.Contains(text, "quantities must match"), strings.Contains(text, "unable to parse quantity"):
		return show(got) + " is no quantity; write for example 500m, 2 or 1Gi"
	case strings.Contains(text, "time: invalid duration"), strings.Contains(text, "time: missing unit"), strings.Contains(text, "time: unknown unit"):
		return show(got) + " is no length of time; write for example 30s or 1m30s"
	case strings.Contains(text, "parsing time"):
		return show(got) + " is no point in time; write for example 2026-01-02T15:04:05Z"
	default:
		return fmt.Sprintf("%s cannot be read: %s", show(got), strings.TrimPrefix(text, "json: "))
	}
}

// overflow tells a whole number that the field has no room for.
func overflow(t reflect.Type, got any) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	number, ok := got.(float64)
	if !ok || number != math.Trunc(number) || !t.ConvertibleTo(reflect.TypeFor[int64]()) || t.Kind() < reflect.Int || t.Kind() > reflect.Int64 {
		return ""
	}
	most := int64(1)<<(t.Bits()-1) - 1
	return fmt.Sprintf("a whole number between %d and %d is expected, got %s", -most-1, most, show(got))
}

// culprit descends from v to the deepest value that gives the error when all beside its path is hidden. It halves what is in question,
// so that a long list costs few decodings; what is beside the path stays hidden in v.
func culprit(v any, fails func() bool) (path []string) {
	for {
		names, hide, back := children(v)
		each := func(do func(int), from, to int) {
			for i := from; i < to; i++ {
				do(i)
			}
		}
		low, high := 0, len(names)
		each(hide, low, high)
		if high == 0 || fails() {
			return path // it is about v itself
		}
		for high-low > 1 {
			middle := (low + high) / 2
			each(back, low, middle)
			inFirst := fails()
			each(hide, low, middle)
			if inFirst {
				high = middle
			} else {
				low = middle
			}
		}
		back(low)
		if !fails() {
			return path // it takes two
		}
		path = append(path, names[low])
		v = at(v, names[low:low+1])
	}
}

// children lists what is in v, with the means to hide each and to bring it back. A hidden element of a list is null: the others keep
// their index.
func children(v any) (names []string, hide, back func(int)) {
	switch v := v.(type) {
	case map[string]any:
		names, saved := slices.Sorted(maps.Keys(v)), maps.Clone(v)
		return names, func(i int) { delete(v, names[i]) }, func(i int) { v[names[i]] = saved[names[i]] }
	case []any:
		saved := slices.Clone(v)
		for i := range v {
			names = append(names, strconv.Itoa(i))
		}
		return names, func(i int) { v[i] = nil }, func(i int) { v[i] = saved[i] }
	}
	return nil, nil, nil
}

// decodeTree reads JSON with numbers as they are written.
func decodeTree(raw []byte) (tree any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&tree) != nil {
		return nil
	}
	return tree
}

func at(v any, keys []string) any {
	for _, k := range keys {
		switch c := v.(type) {
		case map[string]any:
			v = c[k]
		case []any:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		default:
			return nil
		}
	}
	return v
}

// Without is raw with the value at keys left out; an element of a list becomes null, so that the others keep their index.
func Without(raw []byte, keys []string) ([]byte, bool) {
	if len(keys) == 0 {
		return raw, false
	}
	tree := decodeTree(raw)
	last := keys[len(keys)-1]
	switch c := at(tree, keys[:len(keys)-1]).(type) {
	case map[string]any:
		if _, ok := c[last]; !ok {
			return raw, false
		}
		delete(c, last)
	case []any:
		i, err := strconv.Atoi(last)
		if err != nil || i < 0 || i >= len(c) {
			return raw, false
		}
		c[i] = nil
	default:
		return raw, false
	}
	out, err := json.Marshal(tree)
	return out, err == nil
}

// joinPath writes keys the way Kubernetes does.
func joinPath(tree any, keys []string) string {
	var b strings.Builder
	for i, k := range keys {
		_, inList := at(tree, keys[:i]).([]any)
		switch {
		case inList || strings.ContainsAny(k, "./[]"):
			b.WriteString("[" + k + "]")
		case i > 0:
			b.WriteString("." + k)
		default:
			b.WriteString(k)
		}
	}
	return b.String()
}

func goKind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, not negative,"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a text"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "an object with fields"
	}
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object with fields"
	case []any:
		return "a list"
	case string:
		if len(v) > 40 {
			v = v[:37] + "..."
		}
		return fmt.Sprintf("the text %q (quoted values are texts)", v)
	case float64:
		return "the number " + strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
