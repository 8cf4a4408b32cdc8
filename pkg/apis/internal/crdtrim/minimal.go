// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const (
	preserve = "x-kubernetes-preserve-unknown-fields"
	mapKeys  = "x-kubernetes-list-map-keys"
)

// open is a schema that takes any object.
func open() map[string]any { return map[string]any{"type": "object", preserve: true} }

// minimal takes the status's schema away, and of the spec's leaves the project's own fields with their rules: a field that is not known
// is kept, and what is inside a field of another type is not looked at. Both are one value for who owns fields.
func minimal(root map[string]any, goType reflect.Type) {
	fields := map[string]reflect.StructField{}
	collect(goType, fields)
	properties, _ := root["properties"].(map[string]any)
	var l lightener
	l.read(properties["spec"])
	for _, name := range []string{"spec", "status"} {
		schema, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		if name == "status" {
			schema = open()
		} else {
			schema = l.light(schema, fields[name].Type)
		}
		schema["x-kubernetes-map-type"] = "atomic"
		properties[name] = schema
	}
}

// lightener knows the text of all rules, which need the fields that they name.
type lightener struct{ rules strings.Builder }

// read collects the rules of a schema.
func (l *lightener) read(value any) {
	switch value := value.(type) {
	case map[string]any:
		if rule, ok := value["rule"].(string); ok {
			l.rules.WriteString(rule + "\n")
		}
		for _, part := range value {
			l.read(part)
		}
	case []any:
		for _, part := range value {
			l.read(part)
		}
	}
}

// says reports whether a schema refuses anything but a wrong type, or a rule needs the field.
func (l *lightener) says(name string, schema map[string]any) bool {
	plain := map[string]bool{"type": true, preserve: true, "x-kubernetes-list-type": true, mapKeys: true, "format": true, "x-kubernetes-map-type": true}
	if schema["x-kubernetes-list-type"] == "set" {
		return true
	}
	for key, value := range schema {
		items, isSchema := value.(map[string]any)
		if !plain[key] && (!isSchema || key == "properties" && len(items) > 0 || key == "items" && l.says("", items)) {
			return true
		}
	}
	return name != "" && regexp.MustCompile(`\.`+regexp.QuoteMeta(name)+`\b`).MatchString(l.rules.String())
}

// light is a schema without descriptions, and without what is inside types that are not the project's own.
func (l *lightener) light(schema map[string]any, goType reflect.Type) map[string]any {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	out := maps.Clone(schema)
	delete(out, "description")
	items, isList := schema["items"].(map[string]any)
	values, isMap := schema["additionalProperties"].(map[string]any)
	switch {
	case isList && goType.Kind() == reflect.Slice:
		element := l.light(items, goType.Elem())
		out["items"] = element
		keys(schema, items, element)
	case isMap && goType.Kind() == reflect.Map:
		out["additionalProperties"] = l.light(values, goType.Elem())
	case schema["type"] != "object":
	case goType.Kind() == reflect.Struct && ours(goType):
		fields := map[string]reflect.StructField{}
		collect(goType, fields)
		known := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property, isObject := property.(map[string]any)
			if field, ok := fields[name]; ok && isObject {
				if kept := l.light(property, field.Type); l.says(name, kept) {
					known[name] = kept
				}
			}
		}
		if out[preserve] = true; len(known) == 0 {
			delete(out, "properties")
		} else {
			out["properties"] = known
		}
	default:
		return open()
	}
	return out
}

// keys gives the elements of a list that are told apart by fields these fields.
func keys(list, items, element map[string]any) {
	names, _ := list[mapKeys].([]any)
	if len(names) == 0 {
		return
	}
	known, _ := element["properties"].(map[string]any)
	if known == nil {
		known = map[string]any{}
	}
	properties, _ := items["properties"].(map[string]any)
	required, _ := element["required"].([]any)
	for _, name := range names {
		key, _ := name.(string)
		property, ok := properties[key].(map[string]any)
		if !ok {
			continue
		}
		drop(property)
		known[key] = property
		if property["default"] == nil && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	element["properties"] = known
	if len(required) > 0 {
		element["required"] = required
	}
}
