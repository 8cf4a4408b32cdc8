// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// verdict says how an object that is there compares with the one that is wanted.
type verdict int

const (
	same verdict = iota
	differs
	// unsure: everything wanted is there and ours, but a value that is ours as a whole has more in it than we said. The API server's
	// defaults look like that, and so does a part that is no longer wanted.
	unsure
)

// walk compares what is wanted with what is there, led by the fields that the API server says we own (the fieldsV1 of our entry):
// each leaf we own has the wanted value, nothing we own is unwanted, nothing wanted is owned by someone else. Fields of others are
// not looked at.
type walk struct {
	rule
	unsure bool
}

// compare decides on the value at one place. The owned fields are those below the place; a leaf is an empty map.
func (w *walk) compare(want, have any, owned map[string]any) bool {
	if len(owned) == 0 || len(owned) == 1 && owned["."] != nil {
		return w.whole(want, have)
	}
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		return ok && w.fields(want, have, owned)
	case []any:
		have, ok := have.([]any)
		return ok && w.items(want, have, owned)
	default:
		return false
	}
}

// fields compares an object field by field.
func (w *walk) fields(want, have, owned map[string]any) bool {
	count := 0
	for key, below := range owned {
		name, ok := strings.CutPrefix(key, "f:")
		if !ok {
			if key == "." {
				continue
			}
			return false
		}
		value, wanted := want[name]
		there, exists := have[name]
		inner, isMap := below.(map[string]any)
		if !wanted || !exists || !isMap {
			return false
		}
		count++
		if m, empty := value.(map[string]any); empty && len(m) == 0 && len(inner) == 0 && slices.Contains(w.open, name) {
			continue
		}
		if !w.compare(value, there, inner) {
			return false
		}
	}
	for _, name := range w.open {
		// Applied empty over what was there, such a field is gone, and so is our record of it.
		_, isOwned := owned["f:"+name]
		if m, isMap := want[name].(map[string]any); isMap && len(m) == 0 && !isOwned {
			count++
		}
	}
	return count == len(want)
}

// items compares a list whose items have a key of their own, or that is a set. Items of others may stand between ours; ours have the
// wanted order.
func (w *walk) items(want, have []any, owned map[string]any) bool {
	places := make([]int, len(want))
	for i := range places {
		places[i] = -1
	}
	for key, below := range owned {
		if key == "." {
			continue
		}
		inner, isMap := below.(map[string]any)
		if !isMap {
			return false
		}
		match, ok := itemKey(key)
		if !ok {
			return false
		}
		at := slices.IndexFunc(have, func(item any) bool { return match(item, false) })
		wanted := slices.IndexFunc(want, func(item any) bool { return match(item, true) })
		if at < 0 || wanted < 0 || places[wanted] >= 0 {
			return false
		}
		places[wanted] = at
		if strings.HasPrefix(key, "k:") && !w.item(want[wanted], have[at], inner) {
			return false
		}
	}
	return !slices.Contains(places, -1) && slices.IsSorted(places)
}

// item compares one item. The fields of its key may be left out of what is wanted where the API server has a default for them.
func (w *walk) item(want, have any, owned map[string]any) bool {
	wanted, ok := want.(map[string]any)
	there, isMap := have.(map[string]any)
	if !ok || !isMap {
		return false
	}
	if len(owned) == 0 {
		return w.whole(want, have)
	}
	for key := range owned {
		name, _ := strings.CutPrefix(key, "f:")
		if _, ok := wanted[name]; !ok && key == "f:protocol" {
			// The one key field with a default that objects here leave out; who owns the item owns it.
			clone := make(map[string]any, len(wanted)+1)
			for k, v := range wanted {
				clone[k] = v
			}
			clone[name] = there[name]
			return w.fields(clone, there, owned)
		}
	}
	return w.fields(wanted, there, owned)
}

// itemKey reads the name that managed fields give an item of a list: k:{fields of its key}, v:value of a set, i:index. The result tells
// whether an item is meant; a lenient look takes an item that lacks a field of the key.
func itemKey(key string) (match func(item any, lenient bool) bool, ok bool) {
	kind, text, found := strings.Cut(key, ":")
	if !found {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, false
	}
	switch kind {
	case "k":
		fields, isMap := value.(map[string]any)
		if !isMap {
			return nil, false
		}
		return func(item any, lenient bool) bool {
			there, isMap := item.(map[string]any)
			if !isMap {
				return false
			}
			for name, v := range fields {
				got, has := there[name]
				if !has && lenient && name == "protocol" {
					continue
				}
				if !has || !scalar(got, v) {
					return false
				}
			}
			return true
		}, true
	case "v":
		return func(item any, _ bool) bool { return scalar(item, value) }, true
	default:
		return nil, false
	}
}

// whole compares a value that is owned as one: a scalar, a list or an object without inner owners.
func (w *walk) whole(want, have any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range want {
			there, exists := have[name]
			if !exists || !w.whole(value, there) {
				return false
			}
		}
		if len(have) > len(want) && !w.onlyDefaults(want, have) {
			w.unsure = true
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok || len(want) != len(have) {
			return false
		}
		for i := range want {
			if !w.whole(want[i], have[i]) {
				return false
			}
		}
		return true
	default:
		return scalar(have, want)
	}
}

// onlyDefaults says that what an object has beyond what is wanted is what the API server puts there when nothing is said.
func (w *walk) onlyDefaults(want, have map[string]any) bool {
	for name, value := range have {
		if _, wanted := want[name]; wanted {
			continue
		}
		if usual, ok := w.defaults[name]; !ok || !scalar(usual, value) {
			return false
		}
	}
	return true
}

// scalar compares texts, truths and numbers of whatever Go type.
func scalar(a, b any) bool {
	if reflect.TypeOf(a) == reflect.TypeOf(b) {
		switch a.(type) {
		case string, bool, int64, float64, json.Number, nil:
			return a == b
		}
		return false
	}
	x, ok := number(a)
	y, also := number(b)
	return ok && also && x == y
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case int32:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// judge compares two objects in the parts that are kept up: the whole object but its status, or one of its fields.
func judge(want, have map[string]any, fieldsV1 []byte, r rule) verdict {
	if r.never {
		return same
	}
	var owned map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(fieldsV1), &owned); err != nil {
		return differs
	}
	w := &walk{rule: r}
	for _, part := range r.parts {
		value, wanted := want[part]
		below, isOwned := owned["f:"+part].(map[string]any)
		switch {
		case !wanted && !isOwned:
			continue
		case wanted != isOwned:
			return differs
		}
		if part == "metadata" {
			value = metadata(value)
			if m, ok := value.(map[string]any); ok && len(m) == 0 && len(below) == 0 {
				continue
			}
		}
		if !w.compare(value, have[part], below) {
			return differs
		}
	}
	if w.unsure {
		return unsure
	}
	return same
}

// metadata leaves out what names the object: nobody owns it.
func metadata(value any) any {
	all, ok := value.(map[string]any)
	if !ok {
		return value
	}
	rest := make(map[string]any, len(all))
	for name, v := range all {
		if name != "name" && name != "namespace" {
			rest[name] = v
		}
	}
	return rest
}
