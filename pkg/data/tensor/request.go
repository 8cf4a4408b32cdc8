// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tensor is the one in-memory form of inference requests and responses: typed, row-major, contiguous arrays.
//
// Called by: data/protocol (decode and encode), data/serve and its engines.
// Next: data/serve/engine, which turns a Request into a Response.
package tensor

import (
	"fmt"
	"slices"
)

// Parameters are the free-form key-value pairs of the Open Inference Protocol: values are bool, int64, float64 or string.
type Parameters map[string]any

// Request is one decoded inference request, whatever the wire it came over.
type Request struct {
	ID         string
	Model      string
	Version    string
	Parameters Parameters

	// Method is the model's method to call; empty means the model's own default ("predict").
	// scikit-learn engines know predict, predict_proba, predict_log_proba, decision_function, transform, score_samples …
	Method string

	// Inputs are the arrays. When Frame is set they are the named columns of one data frame: all of shape [rows].
	Inputs []*Tensor
	Frame  bool

	// Text says that the elements of a Bytes input were text on the wire, a NumPy array of strings: no numeric model reads them as
	// numbers. Without it they are byte strings, an array of objects, which are read as numbers where they spell some.
	Text bool
	// ByName says that the frame's columns were keys of objects: a model that knows names goes by name alone, never by position.
	ByName bool

	// Outputs are the requested outputs, in order; empty means all.
	Outputs []Output

	free []*Tensor
}

// Reset empties the request and keeps its tensors for reuse by Add.
func (r *Request) Reset() {
	r.free = append(r.free, r.Inputs...)
	clear(r.Outputs)
	*r = Request{Inputs: r.Inputs[:0], Outputs: r.Outputs[:0], free: r.free}
}

// Input is the input, or the column of a frame, with this name; nil where there is none.
func (r *Request) Input(name string) *Tensor {
	for _, t := range r.Inputs {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Add appends an input and returns it; its contents are those of its last use until the caller calls Reset or SetRaw on it.
func (r *Request) Add() *Tensor {
	var t *Tensor
	if n := len(r.free); n > 0 {
		t, r.free = r.free[n-1], r.free[:n-1]
	} else {
		t = &Tensor{}
	}
	r.Inputs = append(r.Inputs, t)
	return t
}

// Output is a request for one named output.
type Output struct {
	Name       string
	Parameters Parameters
}

// Response is one inference response. It is reusable: Reset keeps its tensors' memory.
type Response struct {
	ID         string
	Model      string
	Version    string
	Parameters Parameters

	// Outputs are the arrays. When Frame is set they are the named columns of one data frame.
	Outputs []*Tensor
	Frame   bool
	// Absent is how many columns the rows of the request lacked, where the model took them as missing values. No wire carries it: it is
	// for the owner of the server, whose callers may not know.
	Absent int

	free []*Tensor
}

// Reset empties the response and keeps its tensors for reuse by Add.
func (r *Response) Reset() {
	r.free = append(r.free, r.Outputs...)
	free := r.free
	*r = Response{Outputs: r.Outputs[:0], free: free}
}

// Add appends an output of the given name, type and shape and returns it for writing; see Tensor.Reset.
func (r *Response) Add(name string, typ Type, shape ...int64) *Tensor {
	var t *Tensor
	if n := len(r.free); n > 0 {
		t, r.free = r.free[n-1], r.free[:n-1]
	} else {
		t = &Tensor{}
	}
	t.Reset(name, typ, shape...)
	r.Outputs = append(r.Outputs, t)
	return t
}

// check is the fault of parameters that somebody else made.
func (p Parameters) check() error {
	for name, v := range p {
		switch v.(type) {
		case bool, int64, float64, string:
		default:
			return fmt.Errorf("parameter %q is a %T: it may be a bool, an int64, a float64 or a string", name, v)
		}
	}
	return nil
}

// Check is the fault of an answer that somebody else made: of outputs one that is missing, has no datatype, or another number of elements than
// its shape says; or a parameter of another type than Parameters may have.
func (r *Response) Check() error {
	if err := r.Parameters.check(); err != nil {
		return err
	}
	for i, t := range r.Outputs {
		if t == nil {
			return fmt.Errorf("output %d is nil", i)
		}
		if t.Type != Bytes && t.Type.Size() == 0 {
			return fmt.Errorf("output %q has no datatype", t.Name)
		}
		if n, ok := Elements(t.Shape); !ok || n != t.Len() {
			return fmt.Errorf("output %q has %d elements and the shape %v", t.Name, t.Len(), slices.Clone(t.Shape))
		}
		if err := t.Parameters.check(); err != nil {
			return fmt.Errorf("output %q: %w", t.Name, err)
		}
	}
	return nil
}
