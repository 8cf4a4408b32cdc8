// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quantity keeps quantities of resources within bounds in which their arithmetic ends.
//
// The parser of Kubernetes takes any exponent: it computes 1e999999999 digit by digit, for hours and in gigabytes. What strangers write
// has to be looked at by its text, before any type with a resource.Quantity in it is decoded.
//
// Called by: apis/serving/v1beta1, control/{admit/review,settings}, cli/manifest.
// Next: k8s.io/apimachinery/pkg/api/resource.
package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// Bounds far beyond what a quantity can hold: Kubernetes lets nothing exceed 2^63-1 and rounds up to a billionth.
const (
	MaxLength   = 100
	MaxExponent = 99
)

// Parse reads a quantity such as 500m, 1Gi or 1e3.
func Parse(text string) (resource.Quantity, error) {
	if err := bounded(text); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text) //nolint:wrapcheck // the caller knows the place and shows the text
}

var (
	errLong     = fmt.Errorf("is longer than the %d characters that a quantity may have", MaxLength)
	errExponent = fmt.Errorf("has an exponent beyond %d, which no quantity can hold", MaxExponent)
)

// bounded looks only at the size: whether a text is a quantity at all is for the parser to say.
func bounded(text string) error {
	if len(text) > MaxLength {
		return errLong
	}
	i := strings.LastIndexAny(text, "eE")
	if i < 0 || i == len(text)-1 {
		return nil
	}
	exponent, err := strconv.Atoi(text[i+1:])
	if errors.Is(err, strconv.ErrRange) || exponent > MaxExponent || exponent < -MaxExponent {
		return errExponent
	}
	return nil
}

// Unbounded finds a quantity of a JSON document that must not be decoded into t, and says in words what is wrong with it. The path is
// written as Kubernetes does, "spec.predictor.containers[0].resources.limits.memory"; it is empty where there is none.
func Unbounded(raw []byte, t reflect.Type) (path, message string) {
	if !suspicious(raw) {
		return "", ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return "", "" // the decoder will say so
	}
	return search("", tree, t)
}

// suspicious reports whether a document may hold such a quantity: it costs one look at each byte, where nearly all documents have none.
func suspicious(raw []byte) bool {
	digits := 0 // of the number that ends here
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9' || c == '.':
			if digits++; digits > MaxLength/2 {
				return true
			}
			continue
		case (c == 'e' || c == 'E') && digits > 0:
			rest := bytes.TrimLeft(raw[i+1:min(len(raw), i+2+len("+999"))], "+-")
			if len(rest) > 2 && isDigit(rest[0]) && isDigit(rest[1]) && isDigit(rest[2]) {
				return true
			}
		case c == '\\' && i+1 < len(raw) && raw[i+1] == 'u': // any character may be written so
			return true
		}
		digits = 0
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// search walks a document beside the type it would be decoded into.
func search(path string, v any, t reflect.Type) (at, message string) {
	if t == nil {
		return "", ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[resource.Quantity]() {
		return path, judge(v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			place := path + "." + key
			if strings.ContainsAny(key, "./[]") {
				place = path + "[" + key + "]"
			}
			if at, message = search(strings.TrimPrefix(place, "."), v[key], spelling.Step(t, key)); message != "" {
				return at, message
			}
		}
	case []any:
		for i := range v {
			if at, message = search(path+"["+strconv.Itoa(i)+"]", v[i], spelling.Step(t, strconv.Itoa(i))); message != "" {
				return at, message
			}
		}
	}
	return "", ""
}

// judge says what is wrong with a value that stands where a quantity does.
func judge(v any) string {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case json.Number:
		text = v.String()
	default:
		return "" // the decoder will say so
	}
	err := bounded(text)
	if err == nil {
		return ""
	}
	if len(text) > MaxLength {
		text = text[:MaxLength/2] + "…"
	}
	return strconv.Quote(text) + " " + err.Error()
}
