// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unsafe"
)

// jsonReader reads XGBoost's JSON, which also knows the words NaN and Infinity.
type jsonReader struct {
	data  []byte
	at    int
	depth int
}

func (r *jsonReader) where() string { return offset(r.at) }

func (r *jsonReader) fail(format string, args ...any) error { return bad(r.where(), format, args...) }

// next skips white space and returns the byte at the cursor, 0 at the end.
func (r *jsonReader) next() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *jsonReader) peek() (kind, error) {
	switch c := r.next(); {
	case c == '{':
		return objectValue, nil
	case c == '[':
		return arrayValue, nil
	case c == '"':
		return textValue, nil
	case c == 't', c == 'f', c == 'n':
		return wordValue, nil
	case c == '-', c >= '0' && c <= '9', c == 'N', c == 'I':
		return numberValue, nil
	case r.at >= len(r.data):
		return invalidValue, r.fail("the JSON ends in the middle of a value")
	default:
		return invalidValue, r.fail("%q starts no JSON value", c)
	}
}

func (r *jsonReader) open(c byte, what string) error {
	if r.next() != c {
		if _, err := r.peek(); err != nil {
			return err
		}
		return r.fail("expected %s", what)
	}
	if r.depth++; r.depth > maxDepth {
		return r.fail("values nest deeper than %d", maxDepth)
	}
	r.at++
	return nil
}

// items calls item between the bytes that open and close a container.
func (r *jsonReader) items(closing byte, item func(i int) error) error {
	defer func() { r.depth-- }()
	if r.next() == closing {
		r.at++
		return nil
	}
	for i := 0; ; i++ {
		if err := item(i); err != nil {
			return err
		}
		switch c := r.next(); {
		case c == ',':
			r.at++
		case c == closing:
			r.at++
			return nil
		case r.at >= len(r.data):
			return r.fail("the JSON ends inside a container")
		default:
			return r.fail("expected ',' or '%c', got %q", closing, c)
		}
	}
}

func (r *jsonReader) object(field func(key string) error) error {
	if err := r.open('{', "an object"); err != nil {
		return err
	}
	return r.items('}', func(int) error {
		key, err := r.text()
		if err != nil {
			return err
		}
		if r.next() != ':' {
			return r.fail("expected ':' after the key %q", key)
		}
		r.at++
		return field(key)
	})
}

func (r *jsonReader) array(item func(i int) error) error {
	if err := r.open('[', "an array"); err != nil {
		return err
	}
	return r.items(']', item)
}

func (r *jsonReader) text() (string, error) {
	if r.next() != '"' {
		if _, err := r.peek(); err != nil {
			return "", err
		}
		return "", r.fail("expected a string")
	}
	start, plain := r.at, true
	for i := start + 1; i < len(r.data); i++ {
		switch r.data[i] {
		case '\\':
			plain = false
			i++
		case '"':
			r.at = i + 1
			if plain {
				return string(r.data[start+1 : i]), nil
			}
			var s string
			if err := json.Unmarshal(r.data[start:i+1], &s); err != nil {
				return "", bad(offset(start), "a string has a wrong escape")
			}
			return s, nil
		}
	}
	return "", r.fail("a string has no end")
}

// token is the bytes of a number or word at the cursor, and moves past them.
func (r *jsonReader) token() []byte {
	r.next()
	start := r.at
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ',', ']', '}', ' ', '\t', '\n', '\r', ':', '"', '[', '{':
			return r.data[start:r.at]
		}
		r.at++
	}
	return r.data[start:r.at]
}

// view is b as a string, without a copy: strconv keeps it only in errors, which are not used.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func (r *jsonReader) number(bits int) (float64, error) {
	start := r.at
	b := r.token()
	if len(b) > 0 && b[0] != '+' && b[0] != '.' && len(b) < 64 && !bytes.ContainsAny(b, "_xXpP") {
		if v, err := strconv.ParseFloat(view(b), bits); err == nil {
			return v, nil
		} else if math.IsInf(v, 0) {
			return v, nil
		}
	}
	switch string(b) {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	if len(b) > 20 {
		b = b[:20]
	}
	return 0, bad(offset(start), "expected a number, got %q", b)
}

func (r *jsonReader) floats(dst []float32) ([]float32, error) {
	err := r.array(func(int) error {
		v, err := r.number(32)
		dst = append(dst, float32(v))
		return err
	})
	return dst, err
}

func (r *jsonReader) ints(dst []int64) ([]int64, error) {
	err := r.array(func(int) error {
		v, err := r.number(64)
		if err == nil && (v != math.Trunc(v) || math.Abs(v) > 1<<53) {
			return r.fail("expected an integer, got %v", v)
		}
		dst = append(dst, int64(v))
		return err
	})
	return dst, err
}

// skip passes over one value of any kind without recursion.
func (r *jsonReader) skip() error {
	depth := r.depth
	for {
		k, err := r.peek()
		if err != nil {
			return err
		}
		switch k {
		case objectValue, arrayValue:
			if depth++; depth > maxDepth {
				return r.fail("values nest deeper than %d", maxDepth)
			}
			r.at++
			if c := r.next(); c == '}' || c == ']' {
				break
			}
			if k == objectValue {
				if err := r.key(); err != nil {
					return err
				}
			}
			continue
		case textValue:
			_, err = r.text()
		default:
			r.token()
		}
		if err != nil {
			return err
		}
		if done, err := r.after(&depth); done || err != nil {
			return err
		}
	}
}

func (r *jsonReader) key() error {
	if _, err := r.text(); err != nil {
		return err
	}
	if r.next() != ':' {
		return r.fail("expected ':' after a key")
	}
	r.at++
	return nil
}

// after closes the containers that end behind a skipped value; done says that the outermost value is complete.
func (r *jsonReader) after(depth *int) (done bool, err error) {
	for *depth > r.depth {
		switch r.next() {
		case ',':
			r.at++
			// A key follows in an object; a string in an array looks the same until the colon.
			if r.next() == '"' {
				if _, err := r.text(); err != nil {
					return false, err
				}
				if r.next() == ':' {
					r.at++
					return false, nil
				}
				continue
			}
			return false, nil
		case '}', ']':
			r.at++
			*depth--
		default:
			return false, r.fail("expected ',' or the end of a container")
		}
	}
	return true, nil
}
