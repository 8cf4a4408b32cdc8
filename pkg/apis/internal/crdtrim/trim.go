// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
)

const module = "github.com/kserve-go/kserve-go/"

// trim walks a schema along the Go type it was made of and keeps the descriptions of our own fields and types.
func trim(schema map[string]any, goType reflect.Type) {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	switch {
	case goType.Kind() == reflect.Slice && schema["items"] != nil:
		child(schema["items"], goType.Elem())
	case goType.Kind() == reflect.Map && schema["additionalProperties"] != nil:
		child(schema["additionalProperties"], goType.Elem())
	case goType.Kind() == reflect.Struct && ours(goType):
		fields := map[string]reflect.StructField{}
		collect(goType, fields)
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			property, _ := property.(map[string]any)
			field, ok := fields[name]
			if !ok {
				drop(property)
				continue
			}
			words := property["description"]
			trim(property, field.Type)
			if words != nil {
				property["description"] = words
			}
		}
	case goType.Kind() == reflect.Struct:
		drop(schema)
	}
}

// child trims the schema of an item; its description is that of the type, kept only where the type is ours.
func child(schema any, goType reflect.Type) {
	item, _ := schema.(map[string]any)
	trim(item, goType)
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	if !ours(goType) {
		delete(item, "description")
	}
}

func ours(goType reflect.Type) bool { return strings.HasPrefix(goType.PkgPath(), module) }

// collect gathers the fields of one of our structs by JSON name, those of embedded structs of ours included.
func collect(goType reflect.Type, fields map[string]reflect.StructField) {
	for field := range goType.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && ours(field.Type):
			collect(field.Type, fields)
		case name != "" && name != "-":
			fields[name] = field
		}
	}
}

// drop removes every description of a schema.
func drop(schema map[string]any) {
	delete(schema, "description")
	for _, key := range []string{"items", "additionalProperties"} {
		if item, ok := schema[key].(map[string]any); ok {
			drop(item)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		if property, ok := property.(map[string]any); ok {
			drop(property)
		}
	}
}

// What Kubernetes says a quantity is, and the same with an exponent that can be computed (see package quantity).
const (
	anyQuantity     = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	boundedQuantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?0*[0-9]{1,2}))?$`
)

// bound makes the API server refuse quantities that a program which decodes the object could not compute, and counts them.
func bound(node any) (found int) {
	switch node := node.(type) {
	case map[string]any:
		if node["pattern"] == anyQuantity {
			node["pattern"], node["maxLength"] = boundedQuantity, int64(quantity.MaxLength)
			found++
		}
		for _, v := range node {
			found += bound(v)
		}
	case []any:
		for _, v := range node {
			found += bound(v)
		}
	}
	return found
}
