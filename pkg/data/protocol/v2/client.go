// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"bytes"
	"errors"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// This file is the client's side: requests are written and answers read.

// AppendRequest adds the REST body for req to dst. Inputs are JSON where it can hold them exactly, and binary where it cannot or when
// binary is set, which asks for binary outputs too. jsonLength is 0 for a body that is all JSON; else the value of the header named
// HeaderLength, and the content type is application/octet-stream.
func AppendRequest(dst []byte, req *tensor.Request, binary bool) (body []byte, jsonLength int, err error) {
	start := len(dst)
	dst = append(dst, '{')
	if req.ID != "" {
		dst = append(jsontext.AppendString(append(dst, `"id":`...), req.ID), ',')
	}
	if req.Model != "" {
		dst = append(jsontext.AppendString(append(dst, `"model_name":`...), req.Model), ',')
	}
	params := requestParameters(req, binary)
	if len(params) > 0 {
		dst = append(appendParameters(append(dst, `"parameters":`...), params, -1), ',')
	}
	dst = append(dst, `"inputs":[`...)
	anyBinary := false
	for i, t := range req.Inputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		raw := binary || !holds(t)
		anyBinary = anyBinary || raw
		if dst, err = appendOutput(dst, t, form{raw: raw, leaveNulls: true}); err != nil {
			return dst, 0, protocol.Errorf(protocol.Invalid, "%s", err)
		}
	}
	dst = append(dst, ']')
	for i, o := range req.Outputs {
		if i == 0 {
			dst = append(dst, `,"outputs":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"name":`...), o.Name)
		if len(o.Parameters) > 0 {
			dst = appendParameters(append(dst, `,"parameters":`...), o.Parameters, -1)
		}
		dst = append(dst, '}')
	}
	if len(req.Outputs) > 0 {
		dst = append(dst, ']')
	}
	dst = append(dst, '}')
	if !anyBinary {
		return dst, 0, nil
	}
	jsonLength = len(dst) - start
	for _, t := range req.Inputs {
		if binary || !holds(t) {
			dst = AppendRaw(dst, t)
		}
	}
	return dst, jsonLength, nil
}

// requestParameters are req's, with what the protocol says by a parameter: that the inputs are a frame's columns, and that outputs may
// be binary.
func requestParameters(req *tensor.Request, binary bool) tensor.Parameters {
	params := req.Parameters
	add := func(name string, v any) {
		if _, ok := params[name]; ok {
			return
		}
		if params = maps.Clone(params); params == nil {
			params = tensor.Parameters{}
		}
		params[name] = v
	}
	if req.Frame {
		add(paramContentType, contentTypeFrame)
	}
	if binary && len(req.Outputs) == 0 {
		add(paramBinaryAll, true)
	}
	return params
}

// holds reports whether JSON can hold the elements of t exactly.
func holds(t *tensor.Tensor) bool {
	switch t.Type {
	case tensor.FP16, tensor.BF16:
		return false
	case tensor.FP32:
		for _, v := range tensor.View[float32](t) {
			if v-v != 0 {
				return false
			}
		}
	case tensor.FP64:
		for _, v := range tensor.View[float64](t) {
			if v-v != 0 {
				return false
			}
		}
	case tensor.Bytes:
		for i := range t.Len() {
			if !utf8.Valid(t.Bytes(i)) {
				return false
			}
		}
	default:
	}
	return true
}

// DecodeResponse reads the REST body of an answer; headerLength is its header named HeaderLength, "" when absent. The answer belongs to
// the Decoder until its next use; binary tensors are used in place, so body must not change before that. The error says what the
// answer lacks; it is for the server that gave it, whatever its code.
func (d *Decoder) DecodeResponse(body []byte, headerLength string) (*tensor.Response, error) {
	d.start(Options{KeepTextShape: true})
	text := body
	if headerLength != "" {
		n, err := strconv.Atoi(strings.TrimSpace(headerLength))
		if err != nil || n < 0 || n > len(body) {
			return nil, invalid("the answer's header %s is %q, and the body has %d bytes", HeaderLength, headerLength, len(body))
		}
		text, d.binary, d.rest = body[:n], true, body[n:]
	}
	if !utf8.Valid(text) {
		return nil, invalid("the answer is not UTF-8 text")
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	d.reset(text)
	resp := &tensor.Response{}
	err := d.answer(resp)
	var bad *jsontext.SyntaxError
	switch {
	case errors.As(err, &bad):
		line, column, _ := jsontext.Position(text, bad.Offset)
		return nil, invalid("the answer is no JSON: %s: line %d column %d", bad.Message, line, column)
	case err != nil:
		return nil, err
	case d.problems.found():
		return nil, invalid("the answer is not of the protocol's form: %s", d.problems.first)
	case d.bad == nil && len(d.rest) > 0:
		return nil, invalid("%d bytes of the answer are left over after its last binary output", len(d.rest))
	}
	resp.ID = d.req.ID
	return resp, d.outputs(resp)
}

// outputs makes what was read like inputs the outputs of resp.
func (d *Decoder) outputs(resp *tensor.Response) error {
	if d.bad == nil && len(d.req.Inputs) == 0 {
		return nil // an answer may have none
	}
	req, err := d.finish()
	if err != nil {
		return err
	}
	resp.Outputs = append(resp.Outputs, req.Inputs...)
	return nil
}

func (d *Decoder) answer(resp *tensor.Response) error {
	s := &d.scan
	if s.Peek() != '{' {
		if err := s.Skip(); err != nil {
			return err
		}
		return invalid(`the answer is no JSON object with "outputs"`)
	}
	found := false
	err := d.members(func(key []byte) (err error) {
		p := &d.problems
		switch string(key) {
		case "id":
			defer p.up(p.down(`"id"`))
			return d.id()
		case "model_name":
			defer p.up(p.down(`"model_name"`))
			resp.Model, err = d.optional()
		case "model_version":
			defer p.up(p.down(`"model_version"`))
			resp.Version, err = d.optional()
		case "parameters":
			defer p.up(p.down(`"parameters"`))
			resp.Parameters, err = d.parameters(tensor.Parameters{})
		case "outputs":
			defer p.up(p.down(`"outputs"`))
			found = true
			return d.inputList()
		default:
			return s.Skip()
		}
		return err
	})
	if err == nil {
		err = s.End()
	}
	if err == nil && !found {
		return invalid(`the answer has no "outputs"`)
	}
	return err
}

// optional takes a string, or null for none.
func (d *Decoder) optional() (string, error) {
	s := &d.scan
	if s.Peek() == 'n' {
		return "", s.Literal("null")
	}
	ok, err := d.expectString()
	if !ok || err != nil {
		return "", err
	}
	v, err := s.String()
	return string(v), err
}

// EncodeRequest is req as a gRPC message. Its inputs are raw, or typed contents where a frame's columns can be: not every server reads a
// frame from raw ones. The message reads req's memory, so req must not be reused before the message has been sent.
func EncodeRequest(req *tensor.Request) (*inferencev2.ModelInferRequest, error) {
	params, err := toParameters(requestParameters(req, false), protocol.Invalid)
	if err != nil {
		return nil, err
	}
	raw := !req.Frame
	for _, t := range req.Inputs {
		raw = raw || !holds(t) && t.Type != tensor.FP32 && t.Type != tensor.FP64
	}
	msg := &inferencev2.ModelInferRequest{ModelName: req.Model, ModelVersion: req.Version, Id: req.ID, Parameters: params}
	for _, t := range req.Inputs {
		in := &inferencev2.ModelInferRequest_InferInputTensor{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape}
		if in.Parameters, err = toParameters(t.Parameters, protocol.Invalid); err != nil {
			return nil, err
		}
		switch {
		case raw && t.Type == tensor.Bytes:
			msg.RawInputContents = append(msg.RawInputContents, AppendRaw(make([]byte, 0, RawSize(t)), t))
		case raw:
			msg.RawInputContents = append(msg.RawInputContents, t.Raw())
		default:
			if in.Contents, err = contents(t); err != nil {
				return nil, err
			}
		}
		msg.Inputs = append(msg.Inputs, in)
	}
	for _, o := range req.Outputs {
		out := &inferencev2.ModelInferRequest_InferRequestedOutputTensor{Name: o.Name}
		if out.Parameters, err = toParameters(o.Parameters, protocol.Invalid); err != nil {
			return nil, err
		}
		msg.Outputs = append(msg.Outputs, out)
	}
	return msg, nil
}

// DecodeResponseMessage reads a gRPC answer. It belongs to the Decoder until its next use and reads elements where they are in the
// message. The error is for the server that gave the answer, whatever its code.
func (d *Decoder) DecodeResponseMessage(in *inferencev2.ModelInferResponse) (*tensor.Response, error) {
	resp := &tensor.Response{
		ID: in.GetId(), Model: in.GetModelName(), Version: in.GetModelVersion(), Parameters: fromParameters(in.GetParameters()),
	}
	if len(in.GetOutputs()) == 0 {
		return resp, nil
	}
	// The outputs of an answer have the form of a request's inputs.
	msg := &inferencev2.ModelInferRequest{
		ModelName: in.GetModelName(), RawInputContents: in.GetRawOutputContents(),
		Inputs: make([]*inferencev2.ModelInferRequest_InferInputTensor, len(in.GetOutputs())),
	}
	for i, t := range in.GetOutputs() {
		msg.Inputs[i] = &inferencev2.ModelInferRequest_InferInputTensor{
			Name: t.GetName(), Datatype: t.GetDatatype(), Shape: t.GetShape(), Parameters: t.GetParameters(), Contents: t.GetContents(),
		}
	}
	req, err := d.DecodeMessage(msg)
	if err != nil {
		return nil, err
	}
	for _, t := range req.Inputs {
		delete(t.Parameters, paramBinarySize)
	}
	resp.Outputs = append(resp.Outputs, req.Inputs...)
	return resp, nil
}
