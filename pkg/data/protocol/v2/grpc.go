// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"errors"
	"math"
	"net/http"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// DecodeMessage reads one gRPC request. The result belongs to the Decoder until its next use and reads fixed-width elements where
// they are in the message, which must not change before that. Method is left empty. An error is a *protocol.Error.
func (d *Decoder) DecodeMessage(in *inferencev2.ModelInferRequest) (*tensor.Request, error) {
	d.start(Options{Model: in.GetModelName(), KeepTextShape: true})
	req := &d.req
	req.ID, req.Model, req.Version = in.GetId(), in.GetModelName(), in.GetModelVersion()
	req.Parameters = fromParameters(in.GetParameters())
	raw := in.GetRawInputContents()
	if len(raw) > 0 && len(raw) != len(in.GetInputs()) {
		return nil, invalid("the number of inputs (%d) does not match the expected number of raw input contents (%d) for model '%s'.",
			len(in.GetInputs()), len(raw), in.GetModelName())
	}
	for i, src := range in.GetInputs() {
		t, shape := d.addInput()
		name := src.GetName()
		if len(src.GetShape()) > jsontext.MaxRank {
			return nil, errRank(name)
		}
		shape.shape, shape.free = append(shape.shape, src.GetShape()...), true
		typ := tensor.ParseType(src.GetDatatype())
		var err error
		switch {
		case typ == tensor.Invalid || typ == tensor.BF16:
			return nil, invalid("invalid content type")
		case len(raw) == 0:
			err = setContents(t, name, typ, src.GetContents())
		case src.GetContents() != nil:
			return nil, invalid("contents field must not be specified when using raw_input_contents for input '%s' for model '%s'",
				name, in.GetModelName())
		default:
			err = setRaw(t, name, typ, raw[i])
		}
		if err != nil {
			return nil, err
		}
		t.Parameters = fromParameters(src.GetParameters())
	}
	for _, out := range in.GetOutputs() {
		req.Outputs = append(req.Outputs, tensor.Output{Name: out.GetName(), Parameters: fromParameters(out.GetParameters())})
	}
	if _, err := d.finish(); err != nil {
		return nil, err
	}
	req.Text = false // the elements are bytes, not text
	return req, nil
}

// setContents makes the typed contents the elements of t, flat: in place where the widths agree.
func setContents(t *tensor.Tensor, name string, typ tensor.Type, c *inferencev2.InferTensorContents) error {
	switch typ {
	case tensor.Bool:
		return use(t, name, typ, c.GetBoolContents())
	case tensor.Int8, tensor.Int16:
		values := c.GetIntContents()
		t.Reset(name, typ, int64(len(values)))
		least, most := int32(math.MinInt8), int32(math.MaxInt8)
		if typ == tensor.Int16 {
			least, most = math.MinInt16, math.MaxInt16
		}
		for i, v := range values {
			if v < least || v > most {
				return invalid("input %q: %d is out of range for %s", name, v, typ)
			}
			if typ == tensor.Int8 {
				tensor.View[int8](t)[i] = int8(v)
			} else {
				tensor.View[int16](t)[i] = int16(v)
			}
		}
		return nil
	case tensor.Int32:
		return use(t, name, typ, c.GetIntContents())
	case tensor.Int64:
		return use(t, name, typ, c.GetInt64Contents())
	case tensor.Uint8, tensor.Uint16:
		values := c.GetUintContents()
		t.Reset(name, typ, int64(len(values)))
		most := uint32(math.MaxUint8)
		if typ == tensor.Uint16 {
			most = math.MaxUint16
		}
		for i, v := range values {
			if v > most {
				return invalid("input %q: %d is out of range for %s", name, v, typ)
			}
			if typ == tensor.Uint8 {
				t.Raw()[i] = uint8(v)
			} else {
				tensor.View[uint16](t)[i] = uint16(v)
			}
		}
		return nil
	case tensor.Uint32:
		return use(t, name, typ, c.GetUintContents())
	case tensor.Uint64:
		return use(t, name, typ, c.GetUint64Contents())
	case tensor.FP32:
		return use(t, name, typ, c.GetFp32Contents())
	case tensor.FP64:
		return use(t, name, typ, c.GetFp64Contents())
	case tensor.Bytes:
		values := c.GetBytesContents()
		t.Reset(name, typ)
		for _, v := range values {
			t.AppendBytes(v)
		}
		t.Shape = append(t.Shape[:0], int64(len(values)))
		return nil
	default: // FP16 has no typed form
		t.Reset(name, typ, 0)
		return nil
	}
}

func use[E tensor.Element](t *tensor.Tensor, name string, typ tensor.Type, values []E) error {
	n := [1]int64{int64(len(values))}
	return tensor.Use(t, name, typ, n[:], values)
}

func fromParameters(in map[string]*inferencev2.InferParameter) tensor.Parameters {
	if len(in) == 0 {
		return nil
	}
	out := make(tensor.Parameters, len(in))
	for name, p := range in {
		switch v := p.GetParameterChoice().(type) {
		case *inferencev2.InferParameter_BoolParam:
			out[name] = v.BoolParam
		case *inferencev2.InferParameter_Int64Param:
			out[name] = v.Int64Param
		case *inferencev2.InferParameter_StringParam:
			out[name] = v.StringParam
		}
	}
	return out
}

// toParameters are parameters as gRPC has them, which knows no fractions: code says whose matter that is.
func toParameters(in tensor.Parameters, code protocol.Code) (map[string]*inferencev2.InferParameter, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make(map[string]*inferencev2.InferParameter, len(in))
	for name, v := range in {
		p := &inferencev2.InferParameter{}
		switch v := v.(type) {
		case bool:
			p.ParameterChoice = &inferencev2.InferParameter_BoolParam{BoolParam: v}
		case int64:
			p.ParameterChoice = &inferencev2.InferParameter_Int64Param{Int64Param: v}
		case string:
			p.ParameterChoice = &inferencev2.InferParameter_StringParam{StringParam: v}
		default:
			return nil, protocol.Errorf(code, "parameter %s is %v, and V2 over gRPC has no parameters but true and false, integers and text: use REST, or send it as text", name, v)
		}
		out[name] = p
	}
	return out, nil
}

// EncodeMessage is the gRPC answer to req: the outputs that it asks for, in its order; raw when raw is set (the request's inputs were)
// or an output has no typed form. The message reads resp's memory, so resp must not be reused before the message has been sent.
func EncodeMessage(req *tensor.Request, resp *tensor.Response, raw bool) (*inferencev2.ModelInferResponse, error) {
	if err := checkAsked(req, resp); err != nil {
		return nil, err
	}
	outputs := resp.Outputs
	if len(req.Outputs) > 0 {
		outputs = make([]*tensor.Tensor, 0, len(req.Outputs))
		for _, o := range req.Outputs {
			outputs = append(outputs, find(resp, o.Name))
		}
	}
	for _, t := range outputs {
		raw = raw || t.Type == tensor.FP16 || t.Type == tensor.BF16
	}
	params, err := toParameters(resp.Parameters, protocol.Unsupported)
	if err != nil {
		return nil, err
	}
	msg := &inferencev2.ModelInferResponse{ModelName: resp.Model, ModelVersion: resp.Version, Id: resp.ID, Parameters: params}
	msg.Outputs = make([]*inferencev2.ModelInferResponse_InferOutputTensor, 0, len(outputs))
	for _, t := range outputs {
		out := &inferencev2.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape}
		if out.Parameters, err = toParameters(t.Parameters, protocol.Unsupported); err != nil {
			return nil, err
		}
		if raw {
			data := t.Raw()
			if t.Type == tensor.Bytes {
				data = AppendRaw(make([]byte, 0, RawSize(t)), t)
			}
			if out.Parameters == nil {
				out.Parameters = make(map[string]*inferencev2.InferParameter, 1)
			}
			out.Parameters[paramBinarySize] = &inferencev2.InferParameter{
				ParameterChoice: &inferencev2.InferParameter_Int64Param{Int64Param: int64(len(data))},
			}
			msg.RawOutputContents = append(msg.RawOutputContents, data)
		} else if out.Contents, err = contents(t); err != nil {
			return nil, err
		}
		msg.Outputs = append(msg.Outputs, out)
	}
	return msg, nil
}

func contents(t *tensor.Tensor) (*inferencev2.InferTensorContents, error) {
	c := &inferencev2.InferTensorContents{}
	switch t.Type {
	case tensor.Bool:
		c.BoolContents = make([]bool, t.Len())
		for i, v := range t.Raw() {
			c.BoolContents[i] = v != 0
		}
	case tensor.Int8:
		c.IntContents = widen[int32](tensor.View[int8](t))
	case tensor.Int16:
		c.IntContents = widen[int32](tensor.View[int16](t))
	case tensor.Int32:
		c.IntContents = tensor.View[int32](t)
	case tensor.Int64:
		c.Int64Contents = tensor.View[int64](t)
	case tensor.Uint8:
		c.UintContents = widen[uint32](tensor.View[uint8](t))
	case tensor.Uint16:
		c.UintContents = widen[uint32](tensor.View[uint16](t))
	case tensor.Uint32:
		c.UintContents = tensor.View[uint32](t)
	case tensor.Uint64:
		c.Uint64Contents = tensor.View[uint64](t)
	case tensor.FP32:
		c.Fp32Contents = tensor.View[float32](t)
	case tensor.FP64:
		c.Fp64Contents = tensor.View[float64](t)
	case tensor.Bytes:
		values := make([][]byte, t.Len())
		for i := range values {
			v := t.Bytes(i)
			if !utf8.Valid(v) {
				return nil, invalid("element %d of output %q is not UTF-8 text: ask for the raw form", i, t.Name)
			}
			values[i] = v
		}
		c.BytesContents = values
	default:
		return nil, protocol.Errorf(protocol.Internal, "output %q has no datatype", t.Name)
	}
	return c, nil
}

func widen[W int32 | uint32, E int8 | int16 | uint8 | uint16](values []E) []W {
	out := make([]W, len(values))
	for i, v := range values {
		out[i] = W(v)
	}
	return out
}

// Status is err as a gRPC status. The text of an internal error is kept from the client.
func Status(err error) *status.Status {
	var schema *SchemaError
	if errors.As(err, &schema) {
		return status.New(codes.InvalidArgument, schema.Message)
	}
	e := protocol.From(err)
	message := e.Message
	if len(message) > maxDetails {
		message = message[:maxDetails]
	}
	return status.New(codeOf(e), strings.ToValidUTF8(message, "\ufffd"))
}

func codeOf(e *protocol.Error) codes.Code {
	switch e.Status {
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	default:
		return GRPCCode(e.Code)
	}
}

// maxDetails keeps a status short enough for the header that carries it.
const maxDetails = 2048

// GRPCCode is the gRPC status code of c.
func GRPCCode(c protocol.Code) codes.Code {
	switch c {
	case protocol.Invalid, protocol.UnsupportedType, protocol.Failed:
		return codes.InvalidArgument
	case protocol.NotFound:
		return codes.NotFound
	case protocol.Conflict:
		return codes.Aborted
	case protocol.TooLarge, protocol.TooMany:
		return codes.ResourceExhausted
	case protocol.Unsupported:
		return codes.Unimplemented
	case protocol.Unavailable:
		return codes.Unavailable
	case protocol.Deadline, protocol.SlowClient:
		return codes.DeadlineExceeded
	case protocol.Canceled:
		return codes.Canceled
	default:
		return codes.Internal
	}
}
