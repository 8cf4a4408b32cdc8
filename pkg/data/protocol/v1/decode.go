// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1 reads and writes the V1 protocol: a JSON object with "instances" or "inputs" in, one with "predictions" out.
//
// Called by: data/serve.
// Next: data/tensor, the form that both directions share with the engines.
package v1

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// maxRank is the deepest array that becomes a tensor, as in NumPy.
const maxRank = 64

// errText stops the reading of numbers at the first string: the array is read again as text.
var errText = errors.New("the array holds text")

// Decoder reads request bodies. It owns the memory of the requests it returns, for reuse: keep Decoders in a pool, put one back
// when its request is answered. The zero Decoder is ready; it is for one goroutine at a time.
type Decoder struct {
	scan  jsontext.Scanner
	req   tensor.Request
	words []uint64 // elements of the array being read: int64 or, once isFloat, float64 bits
	shape []int64

	isFloat, sawBool, sawNumber bool
	dims, counts                [maxRank]int
	rank                        int

	frame frame
}

// Decode reads one body. The request and its tensors belong to the Decoder until its next Decode; they do not alias body.
// Model, ID, Method and Outputs are left empty. An error is the caller's: a *protocol.Error with code Invalid.
//
// An array becomes one tensor, typed as NumPy types it: BOOL, INT64, FP64 or BYTES; null is NaN. Instances that are objects become
// the named columns of a frame.
func (d *Decoder) Decode(body []byte) (*tensor.Request, error) {
	d.req.Reset()
	if len(body) == 0 {
		return nil, syntax(body, &jsontext.SyntaxError{Message: "Input is a zero-length, empty document"})
	}
	if !utf8.Valid(body) {
		return nil, syntax(nil, &jsontext.SyntaxError{Message: "str is not valid UTF-8: surrogates not allowed"})
	}
	text := bytes.TrimPrefix(body, []byte("\ufeff"))
	d.scan.Reset(text)
	err := d.document()
	if err == nil {
		return &d.req, nil
	}
	var bad *jsontext.SyntaxError
	if errors.As(err, &bad) {
		return nil, syntax(text, bad)
	}
	return nil, err
}

func syntax(text []byte, bad *jsontext.SyntaxError) error {
	line, column, char := jsontext.Position(text, bad.Offset)
	return protocol.Errorf(protocol.Invalid, "Unrecognized request format: %s: line %d column %d (char %d)",
		bad.Message, line, column, char)
}

func invalid(format string, args ...any) error {
	return protocol.Errorf(protocol.Invalid, format, args...)
}

// document reads the body's object. A fault of meaning is reported only when the whole text is valid JSON.
func (d *Decoder) document() error {
	s := &d.scan
	if s.Peek() != '{' {
		if err := s.Skip(); err != nil {
			return err
		}
		if err := s.End(); err != nil {
			return err
		}
		return invalid(`the body must be a JSON object with "instances" or "inputs"`)
	}
	var found, winner string
	var listErr, valueErr error
	more, err := s.OpenObject()
	for more && err == nil {
		var key []byte
		if key, err = s.Key(); err != nil {
			return err
		}
		switch string(key) {
		case "inputs":
			found = "inputs"
		case "instances":
			found = "instances"
		default:
			found = ""
		}
		switch {
		case found == "" || found == "instances" && winner == "inputs":
			if found != "" {
				listErr = d.expectList(found)
			}
			err = s.Skip()
		default:
			if winner = found; found == "instances" {
				listErr = d.expectList(found)
			}
			valueErr, err = d.value(found)
		}
		if err == nil {
			more, err = s.NextMember()
		}
	}
	if err == nil {
		err = s.End()
	}
	switch {
	case err != nil:
		return err
	case listErr != nil:
		return listErr
	case winner == "":
		return invalid(`the body has neither "instances" nor "inputs"`)
	}
	return valueErr
}

func (d *Decoder) expectList(key string) error {
	if d.scan.Peek() == '[' {
		return nil
	}
	return invalid("Expected %q to be a list", key)
}

// value reads the member that holds the data. bad is a fault of meaning, after which the value has been skipped; err one of syntax.
func (d *Decoder) value(key string) (bad, err error) {
	s := &d.scan
	d.req.Reset()
	if s.Peek() != '[' {
		return d.expectList(key), s.Skip()
	}
	start, depth := s.Offset(), s.Depth()
	isFrame, err := d.peekFrame()
	if err != nil {
		return nil, err
	}
	s.Seek(start, depth)
	if isFrame {
		err = d.frame.read(s, key)
		if err == nil {
			d.frame.build(&d.req)
			return nil, nil
		}
	} else {
		err = d.dense(key)
		if errors.Is(err, errText) {
			s.Seek(start, depth)
			err = d.text(key)
		}
		if err == nil {
			return nil, nil
		}
	}
	var own *protocol.Error
	if !errors.As(err, &own) {
		return nil, err
	}
	s.Seek(start, depth)
	return own, s.Skip()
}

// peekFrame looks at the first instance: an object, or an array whose first element is one, makes a frame.
func (d *Decoder) peekFrame() (bool, error) {
	s := &d.scan
	more, err := s.OpenArray()
	if err != nil || !more {
		return false, err
	}
	if s.Peek() == '[' {
		if more, err = s.OpenArray(); err != nil || !more {
			return false, err
		}
	}
	return s.Peek() == '{', nil
}

// dense reads an array of numbers, booleans and nulls of any rank.
func (d *Decoder) dense(key string) error {
	d.words = d.words[:0]
	d.isFloat, d.sawBool, d.sawNumber = false, false, false
	if err := d.array(key, d.scalar); err != nil {
		return err
	}
	t := d.req.Add()
	d.shape = d.shape[:0]
	for _, n := range d.dims[:d.rank] {
		d.shape = append(d.shape, int64(n))
	}
	switch {
	case d.sawBool && !d.sawNumber && !d.isFloat:
		t.Reset(key, tensor.Bool, d.shape...)
		raw := t.Raw()
		for i, w := range d.words {
			raw[i] = byte(w)
		}
		return nil
	case d.isFloat || len(d.words) == 0:
		return tensor.Use(t, key, tensor.FP64, d.shape, d.words)
	default:
		return tensor.Use(t, key, tensor.Int64, d.shape, d.words)
	}
}

// array walks over nested arrays, calls scalar for each innermost element, and leaves the shape in dims and rank.
func (d *Decoder) array(key string, scalar func(c byte) error) error {
	s := &d.scan
	d.rank = -1
	level := 0
	for {
		c := s.Peek()
		more := true
		switch c {
		case '[':
			if level == d.rank {
				return d.ragged(key, level, "a number as in the rows before it, got an array")
			}
			if level == maxRank {
				return invalid("%s: arrays nest deeper than %d", key, maxRank)
			}
			var err error
			if more, err = s.OpenArray(); err != nil {
				return err
			}
			d.counts[level] = 0
			level++
			if d.rank < 0 {
				d.dims[level-1] = -1 // set when the first array of this depth ends
			}
			if more {
				continue
			}
			if d.rank < 0 {
				d.rank = level
			}
			if level != d.rank {
				return d.ragged(key, level-1, "an array as in the rows before it, got an empty one")
			}
		case '{':
			return d.ragged(key, level, "a number or an array as in the first instance, got an object")
		default:
			if d.rank < 0 {
				d.rank = level
			}
			if level != d.rank {
				return d.ragged(key, level, "an array as in the rows before it, got a single value")
			}
			if err := scalar(c); err != nil {
				return err
			}
			d.counts[level-1]++
		}
		done, err := d.closeArrays(key, &level, more)
		if err != nil || done {
			return err
		}
	}
}

// closeArrays takes what follows an element: a comma, or the ends of the arrays around it. more is false when the innermost array
// has been taken already.
func (d *Decoder) closeArrays(key string, level *int, more bool) (done bool, err error) {
	for {
		if more {
			if more, err = d.scan.NextElement(); err != nil {
				return false, err
			}
			if more {
				return false, nil
			}
		}
		*level--
		l := *level
		if d.dims[l] < 0 {
			d.dims[l] = d.counts[l]
		} else if d.dims[l] != d.counts[l] {
			return false, d.ragged(key, l, fmt.Sprintf("%d values as in the rows before it, got %d", d.dims[l], d.counts[l]))
		}
		if l == 0 {
			return true, nil
		}
		d.counts[l-1]++
		more = true
	}
}

// ragged names the element at the given depth that does not fit.
func (d *Decoder) ragged(key string, level int, expected string) error {
	path := []byte(key)
	for _, i := range d.counts[:level] {
		path = append(strconv.AppendInt(append(path, '['), int64(i), 10), ']')
	}
	return invalid("%s: expected %s: all rows must have one shape", path, expected)
}

func (d *Decoder) toFloat() {
	if d.isFloat {
		return
	}
	d.isFloat = true
	for i, w := range d.words {
		d.words[i] = math.Float64bits(float64(int64(w)))
	}
}

// scalar reads one element that is not text.
func (d *Decoder) scalar(c byte) error {
	s := &d.scan
	switch c {
	case '"':
		return errText
	case 't':
		d.sawBool = true
		d.integer(1)
		return s.Literal("true")
	case 'f':
		d.sawBool = true
		d.integer(0)
		return s.Literal("false")
	case 'n':
		d.toFloat()
		d.words = append(d.words, math.Float64bits(math.NaN()))
		return s.Literal("null")
	}
	n, err := s.Number()
	if err != nil {
		return err
	}
	d.sawNumber = true
	if n.Kind == jsontext.Int {
		d.integer(n.Int)
		return nil
	}
	d.toFloat()
	d.words = append(d.words, math.Float64bits(n.Float64()))
	return nil
}

func (d *Decoder) integer(v int64) {
	if d.isFloat {
		d.words = append(d.words, math.Float64bits(float64(v)))
	} else {
		d.words = append(d.words, uint64(v))
	}
}

// text reads an array that holds a string: every element as text.
func (d *Decoder) text(key string) error {
	t := d.req.Add()
	t.Reset(key, tensor.Bytes)
	err := d.array(key, func(byte) error {
		c, err := readCell(&d.scan)
		if err == nil {
			appendCell(t, c)
		}
		return err
	})
	if err != nil {
		return err
	}
	t.Shape = t.Shape[:0]
	for _, n := range d.dims[:d.rank] {
		t.Shape = append(t.Shape, int64(n))
	}
	return nil
}
