// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// AppendResponse adds the body for resp to dst: {"predictions": …} with nested arrays for one output and row objects for a frame
// or for several outputs. It fails on an output that JSON cannot hold.
func AppendResponse(dst []byte, resp *tensor.Response) ([]byte, error) {
	asRows := resp.Frame || len(resp.Outputs) > 1
	if err := fits(resp.Outputs, asRows); err != nil {
		return dst, err
	}
	dst = append(dst, `{"predictions":`...)
	var err error
	switch {
	case asRows:
		dst, err = appendRows(dst, resp.Outputs)
	case len(resp.Outputs) == 0:
		dst = append(dst, '[', ']')
	default:
		dst, err = appendNested(dst, resp.Outputs[0], 0, 0, resp.Outputs[0].Len())
	}
	if err != nil {
		return dst, protocol.Errorf(protocol.Invalid, "%s", err)
	}
	return append(dst, '}'), nil
}

// A body has more than its elements: brackets, and names and nulls in each row. No element of a small request need pay for them, so that they
// are bounded: mostAround bytes, and aroundElement more for each element.
const mostAround, aroundElement = 64 << 20, 8

// fits refuses a body that would be far larger than what is in it.
func fits(tensors []*tensor.Tensor, asRows bool) error {
	const brackets, null = 2, 4
	rows, elements, around := 0.0, 0.0, 0.0
	for _, t := range tensors {
		rows = max(rows, float64(t.Rows()))
		elements += float64(t.Len())
	}
	for _, t := range tensors {
		if asRows {
			around += rows*float64(len(t.Name)) + null*(rows-float64(t.Rows()))
		}
		lists := 1.0
		for _, n := range t.Shape {
			around += brackets * lists
			lists *= float64(n)
		}
	}
	if most := mostAround + aroundElement*elements; !(around <= most) {
		return protocol.Errorf(protocol.TooLarge, "the V1 body of %.0f elements would have %.0f bytes of names and brackets: expected %.0f at most; use fewer rows or another protocol",
			elements, around, most)
	}
	return nil
}

// appendNested adds the elements from ≤ i < to, which fill the dimensions of t from dim on.
func appendNested(dst []byte, t *tensor.Tensor, dim, from, to int) ([]byte, error) {
	switch len(t.Shape) - dim {
	case 0:
		return jsontext.AppendElements(dst, t, from, to)
	case 1:
		dst, err := jsontext.AppendElements(append(dst, '['), t, from, to)
		return append(dst, ']'), err
	}
	dst = append(dst, '[')
	n := int(t.Shape[dim])
	step := 0
	if n > 0 {
		step = (to - from) / n
	}
	var err error
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendNested(dst, t, dim+1, from, from+step); err != nil {
			return dst, err
		}
		from += step
	}
	return append(dst, ']'), nil
}

// appendRows adds one object per row, with a member per output.
func appendRows(dst []byte, outputs []*tensor.Tensor) ([]byte, error) {
	rows := 0
	for _, t := range outputs {
		rows = max(rows, t.Rows())
	}
	dst = append(dst, '[')
	for r := range rows {
		if r > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '{')
		for i, t := range outputs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontext.AppendString(dst, t.Name), ':')
			n := t.Rows()
			if r >= n {
				dst = append(dst, "null"...)
				continue
			}
			step := t.Len() / n
			var err error
			if dst, err = appendNested(dst, t, min(1, len(t.Shape)), r*step, (r+1)*step); err != nil {
				return dst, err
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']'), nil
}

// AppendError adds the body for err to dst and returns the HTTP status.
func AppendError(dst []byte, err error) (body []byte, status int) {
	e := protocol.From(err)
	dst = append(dst, `{"error":`...)
	dst = jsontext.AppendString(dst, strings.ToValidUTF8(e.Message, "\ufffd"))
	return append(dst, '}'), e.HTTPStatus()
}
