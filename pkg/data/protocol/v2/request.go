// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"math"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

const (
	paramContentType = "content_type"
	paramBinarySize  = "binary_data_size"
	paramBinary      = "binary_data"
	paramBinaryAll   = "binary_data_output"
)

// contentTypeBase64 is the value of the content_type parameter that declares BYTES to be bytes, not text: in JSON their elements are in
// base64, of an input as of an output that is asked for with it; in the binary form they may be anything.
const contentTypeBase64 = "base64"

// isBase64 reports whether parameters declare it.
func isBase64(params tensor.Parameters) bool {
	kind, _ := params[paramContentType].(string)
	return kind == contentTypeBase64
}

// members takes an object and calls member for each of its members; member takes the value.
func (d *Decoder) members(member func(key []byte) error) error {
	s := &d.scan
	more, err := s.OpenObject()
	for more && err == nil {
		var key []byte
		if key, err = s.Key(); err != nil {
			return err
		}
		s.Peek()
		if err = member(key); err == nil {
			more, err = s.NextMember()
		}
	}
	return err
}

// elements takes an array and calls element for each of its elements.
func (d *Decoder) elements(element func(i int) error) error {
	s := &d.scan
	more, err := s.OpenArray()
	for i := 0; more && err == nil; i++ {
		s.Peek()
		if err = element(i); err == nil {
			more, err = s.NextElement()
		}
	}
	return err
}

// expect checks the first byte of a value that is not null; a value of another kind is skipped and a problem.
func (d *Decoder) expect(first byte, typ, msg string) (ok bool, err error) {
	s := &d.scan
	if s.Peek() == first {
		return true, nil
	}
	from := s.Offset()
	err = s.Skip()
	if err == nil {
		d.problems.add(typ, msg, s.Text(from, s.Offset()))
	}
	return false, err
}

func (d *Decoder) expectString() (bool, error) {
	return d.expect('"', "string_type", "Input should be a valid string")
}

func (d *Decoder) expectList() (bool, error) {
	return d.expect('[', "list_type", "Input should be a valid list")
}

// request takes the body's object.
func (d *Decoder) request() error {
	s := &d.scan
	from := s.Offset()
	hasInputs := false
	err := d.members(func(key []byte) error {
		p := &d.problems
		switch string(key) {
		case "id":
			defer p.up(p.down(`"id"`))
			return d.id()
		case "parameters":
			defer p.up(p.down(`"parameters"`))
			if d.params == nil {
				d.params = tensor.Parameters{}
			}
			clear(d.params)
			var err error
			d.req.Parameters, err = d.parameters(d.params)
			return err
		case "inputs":
			defer p.up(p.down(`"inputs"`))
			hasInputs = true
			return d.inputList()
		case "outputs":
			defer p.up(p.down(`"outputs"`))
			return d.outputList()
		default:
			return s.Skip()
		}
	})
	if err == nil && !hasInputs {
		d.problems.missing("inputs", s.Text(from, s.Offset()))
	}
	return err
}

func (d *Decoder) id() error {
	s := &d.scan
	if s.Peek() == 'n' {
		d.req.ID = ""
		return s.Literal("null")
	}
	ok, err := d.expectString()
	if !ok || err != nil {
		return err
	}
	v, err := s.String()
	d.req.ID = string(v)
	return err
}

func (d *Decoder) inputList() error {
	if len(d.inputs) > 0 { // the key came twice: the last one counts
		outputs, id, params := d.req.Outputs, d.req.ID, d.req.Parameters
		d.req.Outputs = nil
		d.req.Reset()
		d.req.Outputs, d.req.ID, d.req.Parameters = outputs, id, params
		d.inputs = d.inputs[:0]
	}
	ok, err := d.expectList()
	if !ok || err != nil {
		return err
	}
	return d.elements(func(i int) error {
		defer d.problems.up(d.problems.index(i))
		if ok, err := d.expectObject(); !ok || err != nil {
			return err
		}
		return d.input()
	})
}

func (d *Decoder) expectObject() (bool, error) {
	return d.expect('{', "model_attributes_type", "Input should be a valid dictionary or object to extract fields from")
}

func (d *Decoder) outputList() error {
	s := &d.scan
	d.req.Outputs = d.req.Outputs[:0]
	if s.Peek() == 'n' {
		return s.Literal("null")
	}
	ok, err := d.expectList()
	if !ok || err != nil {
		return err
	}
	return d.elements(func(i int) error {
		defer d.problems.up(d.problems.index(i))
		if ok, err := d.expectObject(); !ok || err != nil {
			return err
		}
		return d.output()
	})
}

func (d *Decoder) output() error {
	s := &d.scan
	from := s.Offset()
	var out tensor.Output
	hasName := false
	err := d.members(func(key []byte) error {
		switch string(key) {
		case "name":
			defer d.problems.up(d.problems.down(`"name"`))
			hasName = true
			ok, err := d.expectString()
			if !ok || err != nil {
				return err
			}
			v, err := s.String()
			out.Name = string(v)
			return err
		case "parameters":
			defer d.problems.up(d.problems.down(`"parameters"`))
			var err error
			out.Parameters, err = d.parameters(tensor.Parameters{})
			return err
		default:
			return s.Skip()
		}
	})
	if err == nil && !hasName {
		d.problems.missing("name", s.Text(from, s.Offset()))
	}
	d.req.Outputs = append(d.req.Outputs, out)
	return err
}

// parameters takes an object of scalars into params, or null.
func (d *Decoder) parameters(params tensor.Parameters) (tensor.Parameters, error) {
	s := &d.scan
	if s.Peek() == 'n' {
		return nil, s.Literal("null")
	}
	ok, err := d.expect('{', "dict_type", "Input should be a valid dictionary")
	if !ok || err != nil {
		return nil, err
	}
	err = d.members(func(key []byte) error {
		name := parameterName(key)
		defer d.problems.up(d.problems.name(name))
		v, err := d.parameter()
		if v != nil {
			params[name] = v
		}
		return err
	})
	return params, err
}

// parameterName is key as a string, the protocol's own names without a copy.
func parameterName(key []byte) string {
	switch string(key) {
	case paramContentType:
		return paramContentType
	case paramBinaryAll:
		return paramBinaryAll
	case paramBinary:
		return paramBinary
	default:
		return string(key)
	}
}

// parameter takes one value; nil after a problem.
func (d *Decoder) parameter() (any, error) {
	s := &d.scan
	switch c := s.Peek(); c {
	case '"':
		v, err := s.String()
		return string(v), err
	case 't':
		return true, s.Literal("true")
	case 'f':
		return false, s.Literal("false")
	case 'n', '[', '{':
		from := s.Offset()
		if err := s.Skip(); err != nil {
			return nil, err
		}
		d.problems.union(s.Text(from, s.Offset()))
		return nil, nil
	default:
		n, err := s.Number()
		if n.Kind == jsontext.Int {
			return n.Int, err
		}
		return n.Float64(), err
	}
}

// tensorObject is one input's object while it is read.
type tensorObject struct {
	name, shape, datatype, data bool // members that are there

	typ   tensor.Type
	known bool // typ has been read
	bytes bool // the parameters say that BYTES are no text

	// Data are read at once when the name and the datatype came before them; else they wait for the object's end.
	waiting, decoded  bool
	dataAt, dataDepth int
	before            error // the fault that there was before the data: theirs goes with them when they are read again

	// The size of the binary data: none, null, wrong or a number.
	hasSize, nullSize, badSize bool
	size                       int64
}

// addInput starts an input: its tensor has the contents of its last use, and its name.
func (d *Decoder) addInput() (*tensor.Tensor, *input) {
	if n := len(d.inputs); n < cap(d.inputs) {
		d.inputs = d.inputs[:n+1]
		d.inputs[n] = input{shape: d.inputs[n].shape[:0]}
	} else {
		d.inputs = append(d.inputs, input{})
	}
	return d.req.Add(), &d.inputs[len(d.inputs)-1]
}

func (d *Decoder) input() error {
	s := &d.scan
	from := s.Offset()
	t, in := d.addInput()
	var o tensorObject
	name, params := t.Name, tensor.Parameters(nil)
	d.elem.set(t, "")
	err := d.members(func(key []byte) error {
		var err error
		switch string(key) {
		case "name":
			o.name = true
			defer d.problems.up(d.problems.down(`"name"`))
			name, err = d.reuse(name)
		case "shape":
			o.shape = true
			defer d.problems.up(d.problems.down(`"shape"`))
			in.shape, err = d.shape(in.shape[:0])
		case "datatype":
			defer d.problems.up(d.problems.down(`"datatype"`))
			err = d.datatype(&o)
		case "parameters":
			defer d.problems.up(d.problems.down(`"parameters"`))
			params, err = d.tensorParameters(&o)
		case "data":
			defer d.problems.up(d.problems.down(`"data"`))
			err = d.data(&o, name)
		default:
			err = s.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if !o.name {
		name = ""
	}
	end, depth := s.Offset(), s.Depth()
	text := s.Text(from, end)
	if o.waiting && o.datatype {
		s.Seek(o.dataAt, o.dataDepth)
		if err := d.readData(&o, name); err != nil {
			return err
		}
		s.Seek(end, depth)
	}
	d.complete(&o, name, text)
	o.bytes = isBase64(params)
	if o.bytes && o.data && o.decoded && o.typ == tensor.Bytes && d.bad == nil {
		d.decodeBase64(t, name)
	}
	if d.binary && d.bad == nil && !d.problems.found() {
		d.takeBinary(t, &o, name)
	}
	in.free = !d.binary || o.data
	t.Name, t.Parameters = name, params
	return nil
}

// complete reports the members that are missing.
func (d *Decoder) complete(o *tensorObject, name string, text []byte) {
	p := &d.problems
	if !o.name {
		p.missing("name", text)
	}
	if !o.shape {
		p.missing("shape", text)
	}
	if !o.datatype {
		p.missing("datatype", text)
	}
	switch {
	case o.data || d.binary && o.hasSize:
	case !d.binary:
		p.missing("data", text)
	case o.nullSize:
		d.fault(invalid("'%s' is not specified for input '%s' for model '%s'", paramBinarySize, name, d.options.Model))
	default:
		d.fault(invalid("'data' field is missing for input '%s' for model '%s'", name, d.options.Model))
	}
}

// reuse takes a string, which is old when it is equal.
func (d *Decoder) reuse(old string) (string, error) {
	ok, err := d.expectString()
	if !ok || err != nil {
		return "", err
	}
	v, err := d.scan.String()
	if string(v) == old {
		return old, err
	}
	return string(v), err
}

func (d *Decoder) datatype(o *tensorObject) error {
	o.datatype = true
	ok, err := d.expectString()
	if !ok || err != nil {
		return err
	}
	v, err := d.scan.String()
	typ := tensor.ParseType(string(v))
	if typ == tensor.BF16 {
		typ = tensor.Invalid // has no place in this protocol's JSON and binary forms
	}
	if o.known && o.typ != typ && o.decoded {
		o.waiting, o.decoded = true, false // a second datatype after the data: the last one counts
		d.bad = o.before
	}
	o.typ, o.known = typ, true
	return err
}

// shape takes the array of dimensions: integers, also as 2.0 and "2".
func (d *Decoder) shape(dst []int64) ([]int64, error) {
	ok, err := d.expectList()
	if !ok || err != nil {
		return dst, err
	}
	err = d.elements(func(i int) error {
		defer d.problems.up(d.problems.index(i))
		n, err := d.dimension()
		if len(dst) <= jsontext.MaxRank { // one more than allowed tells that there are too many
			dst = append(dst, n)
		}
		return err
	})
	return dst, err
}

func (d *Decoder) dimension() (int64, error) {
	s := &d.scan
	c := s.Peek()
	from := s.Offset()
	if c != '-' && (c < '0' || c > '9') {
		if c == '"' {
			v, err := s.String()
			if err != nil {
				return 0, err
			}
			if n, bad := strconv.ParseInt(string(v), 10, 64); bad == nil {
				return n, nil
			}
			d.problems.add("int_parsing", "Input should be a valid integer, unable to parse string as an integer", s.Text(from, s.Offset()))
			return 0, nil
		}
		err := s.Skip()
		if err == nil {
			d.problems.add("int_type", "Input should be a valid integer", s.Text(from, s.Offset()))
		}
		return 0, err
	}
	n, err := s.Number()
	switch {
	case err != nil:
		return 0, err
	case n.Kind == jsontext.Int:
		return n.Int, nil
	case n.Kind == jsontext.Float && n.Float != math.Trunc(n.Float):
		d.problems.add("int_from_float", "Input should be a valid integer, got a number with a fractional part", s.Text(from, s.Offset()))
		return 0, nil
	case n.Kind == jsontext.Float && math.Abs(n.Float) < 1<<62:
		return int64(n.Float), nil
	default:
		d.fault(invalid("dimension %s is too big", clip(s.Text(from, s.Offset()))))
		return 0, nil
	}
}

// tensorParameters takes an input's parameters; the size of its binary data is kept apart.
func (d *Decoder) tensorParameters(o *tensorObject) (tensor.Parameters, error) {
	s := &d.scan
	o.hasSize, o.nullSize = false, false
	if s.Peek() == 'n' {
		return nil, s.Literal("null")
	}
	ok, err := d.expect('{', "dict_type", "Input should be a valid dictionary")
	if !ok || err != nil {
		return nil, err
	}
	var params tensor.Parameters
	err = d.members(func(key []byte) error {
		if d.binary && string(key) == paramBinarySize {
			return d.binarySize(o)
		}
		name := parameterName(key)
		defer d.problems.up(d.problems.name(name))
		v, err := d.parameter()
		if v != nil && name != paramBinarySize {
			if params == nil {
				params = tensor.Parameters{}
			}
			params[name] = v
		}
		return err
	})
	return params, err
}

func (d *Decoder) binarySize(o *tensorObject) error {
	s := &d.scan
	switch c := s.Peek(); {
	case c == 'n':
		o.nullSize = true
		return s.Literal("null")
	case c == '-' || '0' <= c && c <= '9':
		n, err := s.Number()
		o.hasSize, o.size = true, n.Int
		o.badSize = n.Kind != jsontext.Int
		return err
	default:
		o.hasSize, o.badSize = true, true
		return s.Skip()
	}
}
