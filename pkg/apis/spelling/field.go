// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Bounds of a search: how many edits are a slip of the pen, how long a word is looked at, how deep a field is looked for elsewhere, and how
// many known fields are still a help.
const (
	maxEdits    = 2
	maxWord     = 64
	maxDepth    = 4
	maxFields   = 4000
	helpfulList = 16
)

// Closest is the candidate that a word was probably meant to be; empty where none is close. Case does not count, and of short words
// less may be wrong.
func Closest(word string, candidates []string) string {
	if len(word) > maxWord {
		return ""
	}
	lower := strings.ToLower(word)
	best, distance := "", min(maxEdits, len(word)/2)+1
	for _, candidate := range candidates {
		if len(candidate)-len(word) >= distance || len(word)-len(candidate) >= distance {
			continue
		}
		if d := Edits(strings.ToLower(candidate), lower); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// Field says what the field at keys, which t does not have, was probably meant to be: a field beside it, or the same field at another
// place of t; else it lists the fields that are known there. The text starts with "; " and ends a sentence.
func Field(t reflect.Type, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	parent := t
	for _, key := range keys[:len(keys)-1] {
		if parent = Step(parent, key); parent == nil {
			return ""
		}
	}
	last := keys[len(keys)-1]
	known := slices.Sorted(maps.Keys(fields(parent)))
	if best := Closest(last, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if elsewhere := find(t, keys); elsewhere != "" {
		return fmt.Sprintf("; did you mean %q?", elsewhere)
	}
	if 0 < len(known) && len(known) <= helpfulList {
		return "; known here: " + strings.Join(known, ", ")
	}
	return "; remove it or correct its name"
}

// SplitPath splits a path as Kubernetes writes it, "spec.containers[0].name", into its keys. A key can be empty, "spec.", but for one alone.
func SplitPath(path string) []string {
	var keys []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
			if path == "" || path[0] == '.' {
				keys = append(keys, "")
			}
		case '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return append(keys, path[1:])
			}
			keys = append(keys, strings.Trim(path[1:end], `"`))
			path = path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			keys = append(keys, path[:end])
			path = path[end:]
		}
	}
	return keys
}

// join writes keys as a path.
func join(keys []string) string {
	var b strings.Builder
	for i, key := range keys {
		switch {
		case key != "" && strings.Trim(key, "0123456789") == "":
			b.WriteString("[" + key + "]")
		case i > 0:
			b.WriteString("." + key)
		default:
			b.WriteString(key)
		}
	}
	return b.String()
}

// find looks for the last key at another place of t: below its parent first, then around each of its ancestors.
func find(t reflect.Type, keys []string) string {
	last := keys[len(keys)-1]
	if len(last) > maxWord {
		return ""
	}
	for up := len(keys) - 1; up >= 0; up-- {
		from := t
		for _, key := range keys[:up] {
			from = Step(from, key)
		}
		if below := search(from, last); below != "" {
			return join(append(slices.Clone(keys[:up]), below))
		}
	}
	return ""
}

// search is the nearest field of that name below a type, breadth first and within bounds; lists and maps are not entered, because the
// element is not known.
func search(t reflect.Type, name string) string {
	type place struct {
		at    string
		of    reflect.Type
		depth int
	}
	queue, looked := []place{{of: t}}, 0
	for len(queue) > 0 && looked < maxFields {
		here := queue[0]
		queue = queue[1:]
		all := fields(here.of)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			looked++
			at := strings.TrimPrefix(here.at+"."+key, ".")
			if strings.EqualFold(key, name) {
				return at
			}
			if here.depth+1 < maxDepth {
				queue = append(queue, place{at, all[key], here.depth + 1})
			}
		}
	}
	return ""
}

// Step is the type of a field, an element or a value of t, nil where t has none of that name.
func Step(t reflect.Type, key string) reflect.Type {
	t = plain(t)
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return fields(t)[key]
	case reflect.Map, reflect.Slice:
		return t.Elem()
	default:
		return nil
	}
}

func plain(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fields lists the JSON names of a struct's fields with those of the structs inlined in it.
func fields(t reflect.Type) map[string]reflect.Type {
	found := map[string]reflect.Type{}
	if t = plain(t); t == nil || t.Kind() != reflect.Struct {
		return found
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case strings.Contains(options, "inline") || (f.Anonymous && name == ""):
			maps.Copy(found, fields(f.Type))
		case name != "":
			found[name] = f.Type
		default:
			found[f.Name] = f.Type
		}
	}
	return found
}
