// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// AppendResponse adds the REST body for resp, the answer to req, to dst: the outputs that req asks for, in its order, each as JSON or
// binary. jsonLength is 0 for a body that is all JSON; else the value of the header named HeaderLength, and the content type is
// application/octet-stream. resp.ID must have been set.
func AppendResponse(dst []byte, req *tensor.Request, resp *tensor.Response) (body []byte, jsonLength int, err error) {
	body, jsonLength, err = appendJSON(dst, req, resp)
	if err != nil || jsonLength == 0 {
		return body, 0, err
	}
	for t := range binaryOutputs(req, resp) {
		body = AppendRaw(body, t)
	}
	return body, jsonLength, nil
}

// inPlace is the size from which on an output's elements are written from where they are.
const inPlace = 32 << 10

// Parts is an answer in pieces: Head, then Rest. JSONLength is as AppendResponse returns it.
type Parts struct {
	Head       []byte
	Rest       [][]byte
	JSONLength int
}

// AppendParts is AppendResponse for answers that may be large: Head is appended to dst and ends where the first large binary output begins, and Rest,
// which is appended to rest, is what follows. The elements are not copied: Rest aliases resp.
func AppendParts(dst []byte, rest [][]byte, req *tensor.Request, resp *tensor.Response) (p Parts, err error) {
	p.Rest = rest
	p.Head, p.JSONLength, err = appendJSON(dst, req, resp)
	if err != nil || p.JSONLength == 0 {
		p.JSONLength = 0
		return p, err
	}
	for t := range binaryOutputs(req, resp) {
		switch {
		case len(p.Rest) == 0 && RawSize(t) < inPlace:
			p.Head = AppendRaw(p.Head, t)
		case t.Type == tensor.Bytes:
			p.Rest = append(p.Rest, AppendRaw(nil, t))
		default:
			p.Rest = append(p.Rest, t.Raw())
		}
	}
	return p, nil
}

// binaryOutputs are the outputs behind the JSON part, in their order.
func binaryOutputs(req *tensor.Request, resp *tensor.Response) iter.Seq[*tensor.Tensor] {
	return func(yield func(*tensor.Tensor) bool) {
		all := len(req.Outputs) == 0 && truthy(req.Parameters[paramBinaryAll])
		n := len(req.Outputs)
		if n == 0 {
			n = len(resp.Outputs)
		}
		for i := range n {
			if t, raw := pick(req, resp, i, all); raw && !yield(t) {
				return
			}
		}
	}
}

// appendJSON adds the JSON part. jsonLength is 0 where there is nothing behind it.
func appendJSON(dst []byte, req *tensor.Request, resp *tensor.Response) (body []byte, jsonLength int, err error) {
	asked := len(req.Outputs)
	if err := checkAsked(req, resp); err != nil {
		return dst, 0, err
	}
	all := asked == 0 && truthy(req.Parameters[paramBinaryAll])
	anyBinary := all && len(resp.Outputs) > 0
	for _, o := range req.Outputs {
		anyBinary = anyBinary || truthy(o.Parameters[paramBinary])
	}
	start := len(dst)
	if anyBinary {
		dst = append(jsontext.AppendString(append(dst, `{"id":`...), resp.ID), `,"model_name":`...)
		dst = append(appendVersion(jsontext.AppendString(dst, resp.Model), resp.Version), `,"outputs":[`...)
	} else {
		dst = appendVersion(jsontext.AppendString(append(dst, `{"model_name":`...), resp.Model), resp.Version)
		dst = jsontext.AppendString(append(dst, `,"id":`...), resp.ID)
		dst = append(appendParameters(append(dst, `,"parameters":`...), resp.Parameters, -1), `,"outputs":[`...)
	}
	n := asked
	if n == 0 {
		n = len(resp.Outputs)
	}
	for i := range n {
		t, raw := pick(req, resp, i, all)
		if i > 0 {
			dst = append(dst, ',')
		}
		form := form{raw: raw, leaveNulls: anyBinary}
		form.base64 = t.Type == tensor.Bytes && (isBase64(t.Parameters) || asked > 0 && isBase64(req.Outputs[i].Parameters))
		if dst, err = appendOutput(dst, t, form); err != nil {
			return dst, 0, protocol.Errorf(protocol.Invalid, "%s", err)
		}
	}
	dst = append(dst, ']')
	if anyBinary && len(resp.Parameters) > 0 {
		dst = appendParameters(append(dst, `,"parameters":`...), resp.Parameters, -1)
	}
	dst = append(dst, '}')
	if !anyBinary {
		return dst, 0, nil
	}
	return dst, len(dst) - start, nil
}

// maxRepeats bounds how often outputs may be asked for again: each time costs the whole output.
const maxRepeats = 16

// checkAsked checks the names of the requested outputs.
func checkAsked(req *tensor.Request, resp *tensor.Response) error {
	for _, o := range req.Outputs {
		if find(resp, o.Name) == nil {
			return invalid("Unexpected inference output '%s' for model '%s'", o.Name, resp.Model)
		}
	}
	if len(req.Outputs) > len(resp.Outputs)+maxRepeats {
		return invalid("the request asks for %d outputs and model '%s' has %d", len(req.Outputs), resp.Model, len(resp.Outputs))
	}
	return nil
}

func find(resp *tensor.Response, name string) *tensor.Tensor {
	for _, t := range resp.Outputs {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// pick is output i of the answer and whether it is binary.
func pick(req *tensor.Request, resp *tensor.Response, i int, all bool) (*tensor.Tensor, bool) {
	if len(req.Outputs) == 0 {
		return resp.Outputs[i], all
	}
	o := req.Outputs[i]
	return find(resp, o.Name), truthy(o.Parameters[paramBinary])
}

// truthy is Python's truth of a parameter.
func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	default:
		return false
	}
}

func appendVersion(dst []byte, version string) []byte {
	dst = append(dst, `,"model_version":`...)
	if version == "" {
		return append(dst, "null"...)
	}
	return jsontext.AppendString(dst, version)
}

// form is how one output is written.
type form struct {
	raw        bool // its elements are behind the JSON part
	base64     bool // its elements are in base64
	leaveNulls bool // a body with binary parts leaves out what is null
}

// appendOutput adds one output's object.
func appendOutput(dst []byte, t *tensor.Tensor, f form) ([]byte, error) {
	dst = jsontext.AppendString(append(dst, `{"name":`...), t.Name)
	dst = append(dst, `,"shape":[`...)
	for i, n := range t.Shape {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, n, 10)
	}
	dst = append(append(append(dst, `],"datatype":"`...), t.Type.String()...), '"')
	if f.raw {
		dst = appendParameters(append(dst, `,"parameters":`...), t.Parameters, RawSize(t))
		return append(dst, '}'), nil
	}
	if t.Type == tensor.FP16 {
		return dst, invalid("Sending FP16 data via JSON is not supported. Please use the binary data format for output %s", t.Name)
	}
	if f.base64 {
		return appendBase64(dst, t), nil
	}
	if !f.leaveNulls || len(t.Parameters) > 0 {
		dst = appendParameters(append(dst, `,"parameters":`...), t.Parameters, -1)
	}
	dst, err := jsontext.AppendElements(append(dst, `,"data":[`...), t, 0, t.Len())
	if err != nil {
		return dst, fmt.Errorf("%w, or for base64 with the output's parameter %s: %q", err, paramContentType, contentTypeBase64)
	}
	return append(dst, ']', '}'), nil
}

// appendBase64 adds the parameters, which say so, and the data of an output whose elements are bytes.
func appendBase64(dst []byte, t *tensor.Tensor) []byte {
	params := tensor.Parameters{paramContentType: contentTypeBase64}
	for name, v := range t.Parameters {
		params[name] = v
	}
	dst = appendParameters(append(dst, `,"parameters":`...), params, -1)
	dst = append(dst, `,"data":[`...)
	for i := range t.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(base64.StdEncoding.AppendEncode(dst, t.Bytes(i)), '"')
	}
	return append(dst, ']', '}')
}

// appendParameters adds the object, sorted by name, or null when it is empty; a size that is not negative is a member of it.
func appendParameters(dst []byte, params tensor.Parameters, size int) []byte {
	if len(params) == 0 {
		if size < 0 {
			return append(dst, "null"...)
		}
		return append(strconv.AppendInt(append(dst, `{"binary_data_size":`...), int64(size), 10), '}')
	}
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(params)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendString(dst, name), ':')
		switch v := params[name].(type) {
		case bool:
			dst = strconv.AppendBool(dst, v)
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case float64:
			dst = jsontext.AppendFloat(dst, v)
		case string:
			dst = jsontext.AppendString(dst, v)
		default:
			dst = append(dst, "null"...)
		}
	}
	if size >= 0 {
		dst = strconv.AppendInt(append(dst, `,"binary_data_size":`...), int64(size), 10)
	}
	return append(dst, '}')
}

// RawSize is the number of bytes that AppendRaw adds.
func RawSize(t *tensor.Tensor) int {
	if t.Type != tensor.Bytes {
		return len(t.Raw())
	}
	size := 0
	for i := range t.Len() {
		size += 4 + len(t.Bytes(i))
	}
	return size
}

// AppendRaw adds the elements in the binary form: little-endian and row-major, a BYTES element with its length before it.
func AppendRaw(dst []byte, t *tensor.Tensor) []byte {
	if t.Type != tensor.Bytes {
		return append(dst, t.Raw()...)
	}
	for i := range t.Len() {
		v := t.Bytes(i)
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
	return dst
}

// AppendError adds the REST body for err to dst and returns the HTTP status.
func AppendError(dst []byte, err error) (body []byte, status int) {
	var schema *SchemaError
	if errors.As(err, &schema) {
		return append(append(append(dst, `{"detail":`...), schema.Detail...), '}'), schema.Status
	}
	e := protocol.From(err)
	dst = append(dst, `{"error":`...)
	dst = jsontext.AppendString(dst, strings.ToValidUTF8(e.Message, "\ufffd"))
	return append(dst, '}'), e.HTTPStatus()
}
