// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Operation is one step of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch is what turns the object raw, as it was sent, into the object that before was changed to. Only what differs between before and
// after is in it, so that fields that this program does not know stay as they are.
func Patch(raw []byte, before, after any) ([]Operation, error) {
	var sent any
	if err := Object(raw, &sent); err != nil {
		return nil, err
	}
	was, err := plain(before)
	if err != nil {
		return nil, err
	}
	is, err := plain(after)
	if err != nil {
		return nil, err
	}
	var steps []Operation
	diff(&steps, "", sent, was, is)
	return steps, nil
}

// plain is an object as maps and slices.
func plain(object any) (any, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("write the object: %w", err)
	}
	var tree any
	err = Object(text, &tree)
	return tree, err
}

// diff adds the steps from was to is at a path where sent stands. sent differs from was only in what the program does not know and in
// spellings of the same value.
func diff(steps *[]Operation, path string, sent, was, is any) {
	if reflect.DeepEqual(was, is) {
		return
	}
	switch now := is.(type) {
	case map[string]any:
		old, ok := was.(map[string]any)
		base, there := sent.(map[string]any)
		if ok && there {
			diffMaps(steps, path, base, old, now)
			return
		}
	case []any:
		old, ok := was.([]any)
		base, there := sent.([]any)
		if ok && there && len(base) == len(old) && len(now) >= len(old) {
			for i := range now {
				at := path + "/" + strconv.Itoa(i)
				if i < len(old) {
					diff(steps, at, base[i], old[i], now[i])
				} else {
					*steps = append(*steps, Operation{Op: "add", Path: path + "/-", Value: value(now[i])})
				}
			}
			return
		}
	}
	*steps = append(*steps, Operation{Op: "replace", Path: path, Value: value(is)})
}

func diffMaps(steps *[]Operation, path string, sent, was, is map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(was)) {
		_, kept := is[key]
		if _, there := sent[key]; !kept && there {
			*steps = append(*steps, Operation{Op: "remove", Path: path + "/" + escape(key)})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		old, known := was[key]
		if known && reflect.DeepEqual(old, is[key]) {
			continue
		}
		at := path + "/" + escape(key)
		if here, there := sent[key]; there && here != nil && known {
			diff(steps, at, here, old, is[key])
			continue
		}
		*steps = append(*steps, Operation{Op: "add", Path: at, Value: value(is[key])})
	}
}

// value keeps a null in the patch.
func value(v any) any {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

// escape writes a key as a part of a path.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
