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
	"math"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

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
	isEvent                     bool

	array jsontext.Array
	frame frame
}

// Decode reads one body. The request and its tensors belong to the Decoder until its next Decode; they do not alias body.
// Model, ID, Method and Outputs are left empty. An error is the caller's: a *protocol.Error with code Invalid.
//
// An array becomes one tensor, typed as NumPy types it: BOOL, INT64, FP64 or BYTES; null is NaN. Instances that are objects become
// the named columns of a frame.
func (d *Decoder) Decode(body []byte) (*tensor.Request, error) {
	d.req.Reset()
	d.isEvent = false
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

// IsEvent reports that the body of the last Decode looks like a structured CloudEvent, whose data are what is meant.
func (d *Decoder) IsEvent() bool { return d.isEvent }

// Check says what is wrong with a body that a model reads itself: it must be JSON, and its "instances" a list. The error is a
// *protocol.Error.
func Check(body []byte) error {
	if len(body) == 0 {
		return syntax(body, &jsontext.SyntaxError{Message: "Input is a zero-length, empty document"})
	}
	if !utf8.Valid(body) {
		return syntax(nil, &jsontext.SyntaxError{Message: "str is not valid UTF-8: surrogates not allowed"})
	}
	var d Decoder
	d.scan.Reset(bytes.TrimPrefix(body, []byte("\ufeff")))
	listErr, err := d.check()
	var bad *jsontext.SyntaxError
	if errors.As(err, &bad) {
		return syntax(body, bad)
	}
	return listErr
}

func (d *Decoder) check() (listErr, err error) {
	s := &d.scan
	if s.Peek() != '{' {
		if err = s.Skip(); err == nil {
			err = s.End()
		}
		return nil, err
	}
	more, err := s.OpenObject()
	for more && err == nil {
		var key []byte
		if key, err = s.Key(); err != nil {
			return nil, err
		}
		if string(key) == "instances" {
			listErr = d.expectList("instances")
		}
		if err = s.Skip(); err == nil {
			more, err = s.NextMember()
		}
	}
	if err == nil {
		err = s.End()
	}
	return listErr, err
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
			d.isEvent = d.isEvent || string(key) == "specversion"
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
	if err := d.walk(key, d.scalars); err != nil {
		return err
	}
	t := d.req.Add()
	d.shape = d.array.AppendShape(d.shape[:0])
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

func (d *Decoder) toFloat() {
	if d.isFloat {
		return
	}
	d.isFloat = true
	for i, w := range d.words {
		d.words[i] = math.Float64bits(float64(int64(w)))
	}
}

// scalars reads elements: a run of plain numbers, or one of any kind.
func (d *Decoder) scalars(c byte) (n int, err error) {
	if c == '-' || c-'0' <= 9 {
		kind := jsontext.EitherWords
		if d.isFloat {
			kind = jsontext.FloatWords
		}
		if d.words, n, d.isFloat = d.scan.Run(d.words, kind); n > 0 {
			d.sawNumber = true
			return n, nil
		}
	}
	return 1, d.scalar(c)
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
	d.req.Text = true
	err := d.walk(key, func(byte) (int, error) {
		x := d.frame.texts[:0]
		c, err := x.read(&d.scan)
		if err == nil {
			x.append(t, c)
		}
		d.frame.texts = x
		return 1, err
	})
	t.Shape = d.array.AppendShape(t.Shape[:0])
	return err
}

// walk reads nested arrays; a fault of shape names the member.
func (d *Decoder) walk(key string, scalar func(c byte) (int, error)) error {
	err := d.array.Walk(&d.scan, scalar)
	if err == nil {
		return nil
	}
	var bad *jsontext.ShapeError
	if errors.As(err, &bad) {
		return invalid("%s%s", key, bad)
	}
	return err
}
