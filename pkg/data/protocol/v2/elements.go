// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// data takes an input's data: now, or at the end of the input's object when what is needed comes after them.
func (d *Decoder) data(o *tensorObject, name string) error {
	s := &d.scan
	if o.decoded { // the data came twice: the last ones count
		d.bad = o.before
	}
	o.waiting, o.decoded = false, false
	o.data = !d.binary || s.Peek() != 'n'
	if !o.data {
		return s.Literal("null")
	}
	ok, err := d.expectList()
	if !ok || err != nil {
		return err
	}
	o.dataAt, o.dataDepth = s.Offset(), s.Depth()
	if o.known && o.name {
		return d.readData(o, name)
	}
	o.waiting = true
	return s.Skip()
}

// readData takes the array of elements at the position.
func (d *Decoder) readData(o *tensorObject, name string) error {
	s := &d.scan
	o.decoded, o.before = true, d.bad
	start, depth := s.Offset(), s.Depth()
	t := d.elem.tensor
	d.elem.begin(o.typ, name)
	if o.typ == tensor.Invalid {
		d.fault(badDatatype(d.binary))
		t.Reset(name, tensor.Bytes)
		return s.Skip()
	}
	err := d.array.Walk(s, func(c byte) (int, error) { return d.elem.scalars(s, c) })
	if err == nil {
		d.elem.end()
		return nil
	}
	var shape *jsontext.ShapeError
	var own *protocol.Error
	switch {
	case errors.As(err, &shape):
		d.fault(invalid("input %q: data%s", name, shape))
	case errors.As(err, &own):
		d.fault(own)
	default:
		return err
	}
	t.Reset(name, tensor.Bytes)
	s.Seek(start, depth)
	return s.Skip()
}

func badDatatype(binary bool) error {
	if binary {
		return invalid("invalid datatype None in the input")
	}
	return invalid("invalid datatype in the input: expected BOOL, UINT8 to UINT64, INT8 to INT64, FP16, FP32, FP64 or BYTES")
}

// element turns JSON scalars into the elements of one tensor.
type element struct {
	tensor *tensor.Tensor
	typ    tensor.Type
	name   string
	words  []uint64 // for fixed-width types: the bits of a float64 for floats, else of an integer
}

func (e *element) set(t *tensor.Tensor, name string) { e.tensor, e.name = t, name }

func (e *element) begin(typ tensor.Type, name string) {
	e.typ, e.name, e.words = typ, name, e.words[:0]
	if typ == tensor.Bytes {
		e.tensor.Reset(name, typ)
	}
}

// end makes the words the tensor's elements, flat.
func (e *element) end() {
	t := e.tensor
	if e.typ == tensor.Bytes {
		t.Shape = append(t.Shape[:0], int64(t.Len()))
		return
	}
	t.Reset(e.name, e.typ, int64(len(e.words)))
	switch size := e.typ.Size(); {
	case size == 1:
		narrow(t.Raw(), e.words)
	case size == 2:
		narrow(tensor.View[uint16](t), e.words)
	case e.typ == tensor.FP32:
		out := tensor.View[float32](t)
		for i, w := range e.words {
			out[i] = float32(math.Float64frombits(w))
		}
	case size == 4:
		narrow(tensor.View[uint32](t), e.words)
	default:
		copy(tensor.View[uint64](t), e.words)
	}
}

func narrow[E uint8 | uint16 | uint32](out []E, words []uint64) {
	for i, w := range words {
		out[i] = E(w)
	}
}

// scalars takes elements: a run of plain numbers, or one of any kind.
func (e *element) scalars(s *jsontext.Scanner, c byte) (n int, err error) {
	if e.typ == tensor.FP64 || e.typ == tensor.FP32 {
		e.words, n, _ = s.Run(e.words, jsontext.FloatWords)
	} else if e.typ.IsInteger() {
		old := len(e.words)
		e.words, n, _ = s.Run(e.words, jsontext.IntWords)
		for _, w := range e.words[old:] {
			if _, ok := e.integral(jsontext.Number{Int: int64(w)}); !ok {
				return 0, invalid("input %q: %d is out of range for %s", e.name, int64(w), e.typ)
			}
		}
	}
	if n > 0 {
		return n, nil
	}
	return 1, e.scalar(s, c)
}

// scalar takes one element. Numbers may also come as strings, as NumPy takes them.
func (e *element) scalar(s *jsontext.Scanner, c byte) error {
	switch {
	case e.typ == tensor.Bytes:
		if c != '"' {
			return e.wrong(s, "a string")
		}
		v, err := s.String()
		e.tensor.AppendBytes(v)
		return err
	case e.typ == tensor.FP16:
		return errHalf(e.name)
	case e.typ == tensor.Bool:
		return e.boolean(s, c)
	case e.typ.IsFloat():
		return e.float(s, c)
	default:
		return e.integer(s, c)
	}
}

func errHalf(name string) error {
	return invalid("Sending FP16 data via JSON is not supported. Please use the binary data format for input %s", name)
}

func (e *element) boolean(s *jsontext.Scanner, c byte) error {
	switch c {
	case 't':
		e.words = append(e.words, 1)
		return s.Literal("true")
	case 'f':
		e.words = append(e.words, 0)
		return s.Literal("false")
	case 'n', '"':
		return e.wrong(s, "true or false")
	}
	n, err := s.Number()
	w := uint64(0)
	if n.Float64() != 0 {
		w = 1
	}
	e.words = append(e.words, w)
	return err
}

func (e *element) float(s *jsontext.Scanner, c byte) error {
	f := math.NaN()
	var err error
	switch c {
	case 't', 'f':
		f, err = readBool(s, c)
	case 'n':
		err = s.Literal("null")
	case '"':
		var v []byte
		if v, err = s.String(); err != nil {
			return err
		}
		var bad error
		if f, bad = strconv.ParseFloat(strings.TrimSpace(string(v)), 64); bad != nil && !math.IsInf(f, 0) || hexFloat(v) {
			return invalid("input %q: %q is not a number (datatype %s)", e.name, clip(v), e.typ)
		}
	default:
		from := s.Offset()
		var n jsontext.Number
		if n, err = s.Number(); err != nil {
			return err
		}
		f = n.Float64()
		if n.Overflow || e.typ == tensor.FP32 && overflows(f) {
			return invalid("input %q: %s is out of range for %s", e.name, clip(s.Text(from, s.Offset())), e.typ)
		}
	}
	e.words = append(e.words, math.Float64bits(f))
	return err
}

// hexFloat reports whether v is in a form that Go's parser takes and Python's does not.
func hexFloat(v []byte) bool {
	return strings.ContainsAny(string(v), "xXpP_")
}

func overflows(f float64) bool {
	return math.IsInf(float64(float32(f)), 0) && !math.IsInf(f, 0)
}

func readBool(s *jsontext.Scanner, c byte) (float64, error) {
	if c == 't' {
		return 1, s.Literal("true")
	}
	return 0, s.Literal("false")
}

func (e *element) integer(s *jsontext.Scanner, c byte) error {
	var n jsontext.Number
	var err error
	from := s.Offset()
	switch c {
	case 't', 'f':
		var f float64
		f, err = readBool(s, c)
		n.Int = int64(f)
	case 'n':
		return e.wrong(s, "an integer")
	case '"':
		var v []byte
		if v, err = s.String(); err != nil {
			return err
		}
		text := strings.TrimSpace(string(v))
		if i, bad := strconv.ParseInt(text, 10, 64); bad == nil {
			n.Int = i
		} else if u, bad := strconv.ParseUint(text, 10, 64); bad == nil {
			n.Kind, n.Uint = jsontext.Uint, u
		} else {
			return invalid("input %q: %q is not an integer (datatype %s)", e.name, clip(v), e.typ)
		}
	default:
		if n, err = s.Number(); err != nil {
			return err
		}
	}
	w, ok := e.integral(n)
	if !ok {
		if n.Kind == jsontext.Float && n.Float != math.Trunc(n.Float) {
			return invalid("input %q: %s is not an integer (datatype %s)", e.name, clip(s.Text(from, s.Offset())), e.typ)
		}
		return invalid("input %q: %s is out of range for %s", e.name, clip(s.Text(from, s.Offset())), e.typ)
	}
	e.words = append(e.words, w)
	return err
}

// integral is n as the bits of an integer of the element's type.
func (e *element) integral(n jsontext.Number) (uint64, bool) {
	if n.Kind == jsontext.Float {
		f := n.Float
		switch {
		case f != math.Trunc(f):
			return 0, false
		case f >= -(1<<63) && f < 1<<63:
			n = jsontext.Number{Int: int64(f)}
		case f >= 0 && f < 1<<64:
			n = jsontext.Number{Kind: jsontext.Uint, Uint: uint64(f)}
		default:
			return 0, false
		}
	}
	bits := uint(e.typ.Size()) * 8
	signed := e.typ >= tensor.Int8
	switch {
	case n.Kind == jsontext.Uint:
		return n.Uint, e.typ == tensor.Uint64
	case n.Kind != jsontext.Int:
		return 0, false
	case signed:
		return uint64(n.Int), n.Int>>(bits-1) == 0 || n.Int>>(bits-1) == -1
	default:
		return uint64(n.Int), n.Int >= 0 && (bits == 64 || n.Int>>bits == 0)
	}
}

// wrong is the error for the scalar at the position.
func (e *element) wrong(s *jsontext.Scanner, expected string) error {
	from := s.Offset()
	if err := s.Skip(); err != nil {
		return err
	}
	return invalid("input %q: expected %s for datatype %s, got %s", e.name, expected, e.typ, clip(s.Text(from, s.Offset())))
}

// clip keeps a value from the request short enough for a message.
func clip(v []byte) []byte {
	const most = 64
	if len(v) > most {
		return append(append([]byte{}, v[:most]...), "..."...)
	}
	return v
}

// takeBinary takes an input's bytes from the rest of the body.
func (d *Decoder) takeBinary(t *tensor.Tensor, o *tensorObject, name string) {
	if !o.hasSize {
		return
	}
	switch {
	case o.badSize:
		d.fault(invalid("input %q: %s must be an integer", name, paramBinarySize))
		return
	case o.size < 0 || o.size > int64(len(d.rest)):
		d.fault(invalid("input %q: %s is %d, and %d bytes are left in the body", name, paramBinarySize, o.size, len(d.rest)))
		return
	}
	raw := d.rest[:o.size]
	d.rest = d.rest[o.size:]
	if o.data {
		return
	}
	if o.typ == tensor.Invalid {
		d.fault(badDatatype(true))
		return
	}
	if err := setRaw(t, name, o.typ, raw); err != nil {
		d.fault(err)
		return
	}
	if o.typ == tensor.Bytes && !o.bytes {
		for i := range t.Len() {
			if !utf8.Valid(t.Bytes(i)) {
				d.fault(invalid("input %q: BYTES element %d is not UTF-8 text: declare bytes that are none with the input's parameter %s: %q",
					name, i, paramContentType, contentTypeBase64))
				return
			}
		}
	}
}

// decodeBase64 makes the elements of t, which are base64, the bytes that they stand for.
func (d *Decoder) decodeBase64(t *tensor.Tensor, name string) {
	var all []byte
	ends := make([]int, 0, t.Len())
	for i := range t.Len() {
		var err error
		if all, err = base64.StdEncoding.AppendDecode(all, t.Bytes(i)); err != nil {
			d.fault(invalid("input %q: BYTES element %d: expected base64, as the parameter %s says, got %q", name, i, paramContentType, clip(t.Bytes(i))))
			return
		}
		ends = append(ends, len(all))
	}
	t.Reset(name, tensor.Bytes)
	from := 0
	for _, to := range ends {
		t.AppendBytes(all[from:to])
		from = to
	}
	t.Shape = append(t.Shape[:0], int64(len(ends)))
}

// hasOtherBools reports whether raw has bytes that are neither 0 nor 1. They are true; Go has no such bools, so they are not used in place.
func hasOtherBools(raw []byte) bool {
	for _, b := range raw {
		if b > 1 {
			return true
		}
	}
	return false
}

// setRaw makes raw the elements of t, flat: in place for fixed-width types.
func setRaw(t *tensor.Tensor, name string, typ tensor.Type, raw []byte) error {
	if typ != tensor.Bytes {
		size := typ.Size()
		if len(raw)%size != 0 {
			return invalid("input %q: %d bytes are no whole number of %s elements of %d bytes", name, len(raw), typ, size)
		}
		n := [1]int64{int64(len(raw) / size)}
		if typ == tensor.Bool && hasOtherBools(raw) {
			t.Reset(name, typ, n[0])
			for i, b := range raw {
				t.Raw()[i] = min(b, 1)
			}
			return nil
		}
		return t.SetRaw(name, typ, n[:], raw)
	}
	t.Reset(name, typ)
	for at := 0; at < len(raw); {
		rest := raw[at:]
		if len(rest) < 4 {
			return invalid("input %q: BYTES element %d is cut off: %d bytes are left for its length", name, t.Len(), len(rest))
		}
		n := binary.LittleEndian.Uint32(rest)
		if uint64(n) > uint64(len(rest)-4) {
			return invalid("input %q: BYTES element %d has length %d, and %d bytes are left", name, t.Len(), n, len(rest)-4)
		}
		t.AppendBytes(rest[4 : 4+n])
		at += 4 + int(n)
	}
	t.Shape = append(t.Shape[:0], int64(t.Len()))
	return nil
}
