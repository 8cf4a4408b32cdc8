// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// object is a JSON object with its keys in order; arrays are []any and numbers json.Number.
type object []member

type member struct {
	key   string
	value any
}

func (o object) member(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// parse reads a text that is an object.
func parse(text []byte) (object, error) {
	v, err := parseAny(text)
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, errors.New("not an object")
	}
	return o, nil
}

func parseAny(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := value(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("content after the value")
	}
	return v, nil
}

func value(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := value(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	case json.Delim('{'):
		o := object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			v, err := value(dec)
			if err != nil {
				return nil, err
			}
			o = append(o, member{key.(string), v})
		}
		_, err = dec.Token()
		return o, err
	}
	return token, nil
}

// comparer compares JSON values: keys in order, numbers by value and kind.
type comparer struct {
	tolerance float64
	varies    []string // paths with this prefix hold made-up ids
	prefix    string
	unordered bool // for messages, whose map entries have no order
}

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func (c *comparer) compare(path string, want, got any) error {
	if slices.Contains(c.varies, c.prefix+path) {
		s, _ := got.(string)
		return made(path, s)
	}
	switch w := want.(type) {
	case object:
		g, ok := got.(object)
		if !ok {
			return different(path, want, got)
		}
		return c.compareObjects(path, w, g)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return different(path, want, got)
		}
		if path == "/models" {
			w, g = sorted(w), sorted(g)
		}
		for i := range w {
			if err := c.compare(fmt.Sprintf("%s/%d", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	case json.Number:
		g, ok := got.(json.Number)
		if !ok || !c.sameNumber(w.String(), g.String()) {
			return different(path, want, got)
		}
		return nil
	default:
		if want != got {
			return different(path, want, got)
		}
		return nil
	}
}

// made checks a value that differs each time: a time, or an identifier.
func made(path, value string) error {
	if strings.HasSuffix(path, "time") {
		if _, err := time.Parse(time.RFC3339Nano, value); err != nil {
			return fmt.Errorf("%s: want a time, got %q", path, value)
		}
		return nil
	}
	if !uuid4.MatchString(value) {
		return fmt.Errorf("%s: want a random UUID, got %v", path, value)
	}
	return nil
}

func (c *comparer) compareObjects(path string, want, got object) error {
	if c.unordered {
		byKey := func(a, b member) int { return strings.Compare(a.key, b.key) }
		want, got = slices.SortedFunc(slices.Values(want), byKey), slices.SortedFunc(slices.Values(got), byKey)
	}
	if len(want) != len(got) {
		return fmt.Errorf("%s: want keys %v, got %v", path, keys(want), keys(got))
	}
	inner := *c
	if want.member("datatype") == "FP32" {
		inner.tolerance = 1e-6
	}
	for i := range want {
		if want[i].key != got[i].key {
			return fmt.Errorf("%s: want keys %v, got %v", path, keys(want), keys(got))
		}
		if err := inner.compare(path+"/"+want[i].key, want[i].value, got[i].value); err != nil {
			return err
		}
	}
	return nil
}

func keys(o object) []string {
	var out []string
	for _, m := range o {
		out = append(out, m.key)
	}
	return out
}

func sorted(list []any) []any {
	return slices.SortedFunc(slices.Values(list), func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

func different(path string, want, got any) error {
	return fmt.Errorf("%s: want %s, got %s", path, clip(fmt.Append(nil, want)), clip(fmt.Append(nil, got)))
}

// sameNumber compares integers exactly and floats within the tolerance; a float is not an integer of the same value.
func (c *comparer) sameNumber(want, got string) bool {
	if want == got {
		return true
	}
	if !isFloat(want) || !isFloat(got) {
		return false
	}
	w, _ := strconv.ParseFloat(want, 64)
	g, _ := strconv.ParseFloat(got, 64)
	return c.near(w, g)
}

func (c *comparer) near(w, g float64) bool {
	if w == g || math.IsNaN(w) && math.IsNaN(g) {
		return true
	}
	return math.Abs(w-g) <= c.tolerance*math.Max(math.Abs(w), math.Abs(g))
}

func isFloat(text string) bool { return strings.ContainsAny(text, ".eE") }

// compareRaw compares the binary tensors that the JSON part announces.
func compareRaw(header, want, got []byte) error {
	if len(want) != len(got) {
		return fmt.Errorf("binary part: want %d bytes, got %d", len(want), len(got))
	}
	o, err := parse(header)
	if err != nil {
		return err
	}
	outputs, _ := o.member("outputs").([]any)
	for _, out := range outputs {
		out := out.(object)
		params, _ := out.member("parameters").(object)
		text, ok := params.member("binary_data_size").(json.Number)
		if !ok {
			continue
		}
		n, _ := strconv.Atoi(text.String())
		if n > len(want) {
			return fmt.Errorf("binary part: output %v is cut off", out.member("name"))
		}
		typ, _ := out.member("datatype").(string)
		if err := compareBytes(typ, want[:n], got[:n]); err != nil {
			return fmt.Errorf("output %v: %w", out.member("name"), err)
		}
		want, got = want[n:], got[n:]
	}
	return nil
}

// compareBytes compares little-endian elements: floats within their tolerance, all else exactly.
func compareBytes(typ string, want, got []byte) error {
	size, tolerance := 0, 0.0
	switch typ {
	case "FP32":
		size, tolerance = 4, 1e-6
	case "FP64":
		size, tolerance = 8, 1e-9
	}
	if size == 0 || len(want) != len(got) || len(want)%size != 0 {
		if !bytes.Equal(want, got) {
			return fmt.Errorf("want bytes %x, got %x", clip(want), clip(got))
		}
		return nil
	}
	c := comparer{tolerance: tolerance}
	for i := 0; i < len(want); i += size {
		w, g := element(want[i:], size), element(got[i:], size)
		if !c.near(w, g) {
			return fmt.Errorf("element %d: want %v, got %v", i/size, w, g)
		}
	}
	return nil
}

func element(b []byte, size int) float64 {
	if size == 4 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}
