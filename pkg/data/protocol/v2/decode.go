// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v2 reads and writes the Open Inference Protocol: REST with JSON and with binary tensors, and gRPC messages.
//
// Called by: data/serve.
// Next: data/tensor, the form that both directions share with the engines.
package v2

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// HeaderLength is the HTTP header, on requests and responses, with the length of the JSON part of a body that has binary tensors.
const HeaderLength = "Inference-Header-Content-Length"

// Options say how a REST body is to be read.
type Options struct {
	// Model is the name in the path; it is only for messages.
	Model string
	// ContentType is the request's header of that name, and HeaderLength the one of the constant's name; "" when absent.
	ContentType, HeaderLength string
	// KeepTextShape keeps the declared shape of BYTES inputs. Without it they are lists, of shape [n], as the bundled
	// runtimes of the reference read them.
	KeepTextShape bool
}

// Decoder reads REST bodies and gRPC messages. It owns the requests that it returns, for reuse: keep Decoders in a pool, put one
// back when its request is answered. The zero Decoder is ready; it is for one goroutine at a time.
type Decoder struct {
	scan    jsontext.Scanner
	array   jsontext.Array
	elem    element
	req     tensor.Request
	inputs  []input
	options Options
	params  tensor.Parameters // of the request, for reuse

	binary   bool
	rest     []byte // binary tensors not yet taken
	problems problems
	bad      error // the first fault of meaning
}

// input is what an input's object says besides its elements.
type input struct {
	shape []int64
	free  bool // the shape may have one -1
}

// Decode reads one REST body. The request belongs to the Decoder until its next Decode; binary tensors are used in place, so body
// must not change or be reused before that. Model and Method are left empty, and ID when the body has none.
//
// An error is the caller's mistake. It is a *SchemaError for a body that is not of the protocol's form, which comes before any
// question about the model, else a *protocol.Error.
func (d *Decoder) Decode(body []byte, options Options) (*tensor.Request, error) {
	d.start(options)
	if len(body) == 0 {
		return nil, missingBody()
	}
	if protocol.IsJSON(options.ContentType) {
		return d.json(body)
	}
	if options.HeaderLength == "" {
		return nil, errNoLength()
	}
	n, err := strconv.Atoi(strings.Trim(options.HeaderLength, " \t"))
	switch {
	case err != nil || n < 0:
		return nil, invalid("header %s must be the number of bytes of the JSON part, got %q", HeaderLength, options.HeaderLength)
	case n > len(body):
		return nil, invalid("header %s says %d bytes, the body has %d", HeaderLength, n, len(body))
	}
	d.binary, d.rest = true, body[n:]
	return d.header(body[:n])
}

func (d *Decoder) start(options Options) {
	d.req.Reset()
	d.inputs, d.options = d.inputs[:0], options
	d.binary, d.rest, d.bad = false, nil, nil
	d.problems.reset()
}

func errNoLength() error {
	return invalid("received byte inputs, but the'%s' header is missing.", strings.ToLower(HeaderLength))
}

func invalid(format string, args ...any) error {
	return protocol.Errorf(protocol.Invalid, format, args...)
}

// json reads a body that is JSON as a whole.
func (d *Decoder) json(body []byte) (*tensor.Request, error) {
	if !utf8.Valid(body) {
		return nil, unreadableBody()
	}
	text := bytes.TrimPrefix(body, []byte("\ufeff"))
	d.reset(text)
	s := &d.scan
	c := s.Peek()
	from := s.Offset()
	var err error
	if c == '{' {
		err = d.request()
	} else {
		err = s.Skip()
	}
	to := s.Offset()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		var bad *jsontext.SyntaxError
		if errors.As(err, &bad) {
			return nil, badJSON(text, bad)
		}
		return nil, err
	}
	switch c {
	case '{':
	case '"':
		return nil, errNoLength()
	case 'n':
		return nil, missingBody()
	default:
		d.problems.add("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", text[from:to])
	}
	if d.problems.found() {
		d.problems.whole(text[from:to])
		return nil, d.problems.err()
	}
	return d.finish()
}

// header reads the JSON part of a body with binary tensors.
func (d *Decoder) header(text []byte) (*tensor.Request, error) {
	if len(text) == 0 {
		return nil, unrecognized(text, &jsontext.SyntaxError{Message: "Input is a zero-length, empty document"})
	}
	if !utf8.Valid(text) {
		return nil, unrecognized(nil, &jsontext.SyntaxError{Message: "str is not valid UTF-8: surrogates not allowed"})
	}
	d.reset(text)
	s := &d.scan
	isObject := s.Peek() == '{'
	var err error
	if isObject {
		err = d.request()
	} else {
		err = s.Skip()
	}
	if err == nil {
		err = s.End()
	}
	if err != nil {
		var bad *jsontext.SyntaxError
		if errors.As(err, &bad) {
			return nil, unrecognized(text, bad)
		}
		return nil, err
	}
	switch {
	case !isObject:
		return nil, invalid("the JSON part must be an object")
	case d.problems.found():
		return nil, invalid("%s", d.problems.first)
	case d.bad == nil && len(d.rest) > 0:
		return nil, invalid("%d bytes are left over after the last binary input: the sizes do not add up", len(d.rest))
	}
	return d.finish()
}

func (d *Decoder) reset(text []byte) {
	d.scan.Reset(text)
	d.scan.Literals = true
}

func unrecognized(text []byte, bad *jsontext.SyntaxError) error {
	line, column, char := jsontext.Position(text, bad.Offset)
	return invalid("Unrecognized request format: %s: line %d column %d (char %d)", bad.Message, line, column, char)
}

// fault keeps the first fault of meaning: it counts only when the whole body is of the right form.
func (d *Decoder) fault(err error) {
	if d.bad == nil {
		d.bad = err
	}
}
