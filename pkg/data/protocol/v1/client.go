// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// This file is the client's side: requests are written and answers read.

// outputName is what an answer without a name of its own is called, as in V2.
const outputName = "output-0"

// AppendRequest adds the body for req to dst: {"instances": …} with nested arrays for one input and row objects for a frame or for
// several inputs. It fails on an input that JSON cannot hold.
func AppendRequest(dst []byte, req *tensor.Request) ([]byte, error) {
	asRows := req.Frame || len(req.Inputs) > 1
	if err := fits(req.Inputs, asRows); err != nil {
		return dst, err
	}
	dst = append(dst, `{"instances":`...)
	var err error
	switch {
	case asRows:
		dst, err = appendRows(dst, req.Inputs)
	case len(req.Inputs) == 0:
		dst = append(dst, '[', ']')
	case len(req.Inputs[0].Shape) == 0:
		return dst, protocol.Errorf(protocol.Invalid, "input %q: a single value is no list of instances, which the V1 protocol sends", req.Inputs[0].Name)
	default:
		dst, err = appendNested(dst, req.Inputs[0], 0, 0, req.Inputs[0].Len())
	}
	if err != nil {
		return dst, protocol.Errorf(protocol.Invalid, "%s", err)
	}
	return append(dst, '}'), nil
}

// DecodeResponse reads an answer's body. The tensors of its predictions belong to the Decoder until its next use and do not alias body.
// The error says what the answer lacks; it is for the server that gave it, whatever its code.
func (d *Decoder) DecodeResponse(body []byte) (*tensor.Response, error) {
	if !utf8.Valid(body) {
		return nil, invalid("the answer is not UTF-8 text")
	}
	d.req.Reset()
	text := bytes.TrimPrefix(body, []byte("\ufeff"))
	d.scan.Reset(text)
	err := d.answer()
	var bad *jsontext.SyntaxError
	if errors.As(err, &bad) {
		line, column, _ := jsontext.Position(text, bad.Offset)
		return nil, invalid("the answer is no JSON: %s: line %d column %d", bad.Message, line, column)
	}
	if err != nil {
		return nil, err
	}
	if !d.req.Frame {
		for _, t := range d.req.Inputs {
			t.Name = outputName
		}
	}
	return &tensor.Response{Outputs: d.req.Inputs, Frame: d.req.Frame}, nil
}

func (d *Decoder) answer() error {
	s := &d.scan
	if s.Peek() != '{' {
		if err := s.Skip(); err != nil {
			return err
		}
		return invalid(`the answer is no JSON object with "predictions"`)
	}
	found := false
	var fault error
	more, err := s.OpenObject()
	for more && err == nil {
		var key []byte
		if key, err = s.Key(); err != nil {
			return err
		}
		if string(key) == "predictions" {
			found = true
			fault, err = d.value("predictions")
		} else {
			err = s.Skip()
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
	case !found:
		return invalid(`the answer has no "predictions"`)
	default:
		return fault
	}
}
