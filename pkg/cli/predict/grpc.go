// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

func (o *Options) sendGRPC(ctx context.Context, body *requestBody) (*Answer, error) {
	form, err := body.v2()
	if err != nil {
		return nil, err
	}
	request, err := o.inferRequest(form)
	if err != nil {
		return nil, err
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer), grpc.MaxCallSendMsgSize(maxAnswer)),
	}
	if o.Host != "" {
		dial = append(dial, grpc.WithAuthority(o.Host))
	}
	conn, err := grpc.NewClient("passthrough:///"+o.GRPCAddr, dial...)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "--grpc-address %q: %w", o.GRPCAddr, err)
	}
	defer func() { _ = conn.Close() }()
	var pairs []string
	for _, h := range o.Headers {
		name, value, err := header(h)
		if err != nil {
			return nil, err
		}
		if name = strings.ToLower(name); strings.ContainsFunc(name, notInMetadata) || strings.ContainsFunc(value, notPrintable) {
			return nil, exit.Errorf(exit.Usage, "--header %q: over gRPC a name holds letters, digits, '-', '_' and '.', and a value printable ASCII only", h)
		}
		pairs = append(pairs, name, value)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, pairs...)
	start := time.Now()
	response, err := inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, request)
	answer := &Answer{Model: o.Model, Protocol: GRPC, Target: o.GRPCAddr, Status: "OK", LatencyMS: milliseconds(time.Since(start))}
	if err != nil {
		s := status.Convert(err)
		if otherProtocol(s.Message()) && o.seen != nil && o.seen.grpc != "" {
			return nil, exit.Errorf(exit.Failed, "%s answers HTTP only, and InferenceService %s/%s %s", o.GRPCAddr, o.seen.namespace, o.seen.name, o.seen.grpc)
		}
		if otherProtocol(s.Message()) {
			return nil, exit.Errorf(exit.Unreachable, "the server at %s does not speak gRPC; is that its HTTP port? then use --protocol v2 --url http://%s", o.GRPCAddr, o.GRPCAddr)
		}
		if (s.Code() == codes.Unavailable && strings.Contains(s.Message(), "connection error")) || ctx.Err() != nil {
			return nil, o.unreachable(ctx, o.GRPCAddr, fmt.Errorf("%s", s.Message()))
		}
		answer.Status, answer.failed = s.Code().String(), true
		if answer.Body, err = json.Marshal(map[string]string{"error": s.Message()}); err != nil {
			return nil, fmt.Errorf("print the error: %w", err)
		}
		return answer, nil
	}
	if answer.Body, err = printable(response); err != nil {
		return nil, fmt.Errorf("print the answer: %w", err)
	}
	return answer, nil
}

// printable is the JSON of an answer. The library writes bytes in base64; a tensor of texts is shown as texts, as V2 REST has it.
func printable(response *inferencev2.ModelInferResponse) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(response)
	if err != nil || !slices.ContainsFunc(response.GetOutputs(), isText) {
		return text, err
	}
	type output struct {
		Name       json.RawMessage            `json:"name,omitempty"`
		Datatype   json.RawMessage            `json:"datatype,omitempty"`
		Shape      json.RawMessage            `json:"shape,omitempty"`
		Parameters json.RawMessage            `json:"parameters,omitempty"`
		Contents   map[string]json.RawMessage `json:"contents,omitempty"`
	}
	var form struct { // in the order of the message's fields
		ModelName    json.RawMessage `json:"model_name,omitempty"`
		ModelVersion json.RawMessage `json:"model_version,omitempty"`
		ID           json.RawMessage `json:"id,omitempty"`
		Parameters   json.RawMessage `json:"parameters,omitempty"`
		Outputs      []output        `json:"outputs,omitempty"`
		Raw          json.RawMessage `json:"raw_output_contents,omitempty"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return nil, err
	}
	for i, out := range response.GetOutputs() {
		if !isText(out) {
			continue
		}
		var texts []string
		for _, b := range out.GetContents().GetBytesContents() {
			texts = append(texts, string(b))
		}
		if form.Outputs[i].Contents["bytes_contents"], err = marshal(texts); err != nil {
			return nil, err
		}
	}
	return marshal(form)
}

// marshal leaves < and > as they are: this is no HTML.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return text.Bytes(), err
}

// isText tells a tensor of texts alone.
func isText(t *inferencev2.ModelInferResponse_InferOutputTensor) bool {
	all := t.GetContents().GetBytesContents()
	return len(all) > 0 && !slices.ContainsFunc(all, func(b []byte) bool { return !utf8.Valid(b) })
}

// otherProtocol tells an answer of HTTP. The library has no type for it; all that hangs on its text is the advice.
func otherProtocol(message string) bool {
	return strings.Contains(message, "unexpected HTTP status code") || strings.Contains(message, "looked like an HTTP/1.1 header")
}

func notInMetadata(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

func notPrintable(r rune) bool { return r < ' ' || r > '~' }

func (o *Options) inferRequest(form *v2Request) (*inferencev2.ModelInferRequest, error) {
	request := &inferencev2.ModelInferRequest{ModelName: o.Model, Id: form.ID}
	var err error
	if request.Parameters, err = parameters(form.Parameters); err != nil {
		return nil, err
	}
	for _, in := range form.Inputs {
		t := &inferencev2.ModelInferRequest_InferInputTensor{
			Name: in.Name, Datatype: strings.ToUpper(in.Datatype), Shape: in.Shape,
		}
		if t.Parameters, err = parameters(in.Parameters); err != nil {
			return nil, err
		}
		leaves := flattenAny(in.Data, nil)
		if t.Contents, err = contents(t.GetDatatype(), leaves); err != nil {
			return nil, exit.Errorf(exit.Invalid, "input %q: %w", in.Name, err)
		}
		request.Inputs = append(request.Inputs, t)
	}
	return request, nil
}

// flattenAny is the leaves of data, which V2 allows flat or nested.
func flattenAny(v any, into []any) []any {
	list, ok := v.([]any)
	if !ok {
		return append(into, v)
	}
	for _, e := range list {
		into = flattenAny(e, into)
	}
	return into
}

func parameters(from map[string]any) (map[string]*inferencev2.InferParameter, error) {
	if len(from) == 0 {
		return nil, nil //nolint:nilnil // no parameters are an absent map on the wire
	}
	out := map[string]*inferencev2.InferParameter{}
	for name, v := range from {
		p := &inferencev2.InferParameter{}
		switch v := v.(type) {
		case bool:
			p.ParameterChoice = &inferencev2.InferParameter_BoolParam{BoolParam: v}
		case string:
			p.ParameterChoice = &inferencev2.InferParameter_StringParam{StringParam: v}
		case json.Number:
			n, err := v.Int64()
			if err != nil {
				return nil, exit.Errorf(exit.Invalid, "parameter %q is %s: gRPC parameters are whole numbers, texts or booleans", name, v)
			}
			p.ParameterChoice = &inferencev2.InferParameter_Int64Param{Int64Param: n}
		default:
			return nil, exit.Errorf(exit.Invalid, "parameter %q is %s: gRPC parameters are whole numbers, texts or booleans", name, kindOf(v))
		}
		out[name] = p
	}
	return out, nil
}

// contents puts values into the field of their datatype.
func contents(datatype string, values []any) (*inferencev2.InferTensorContents, error) {
	c := &inferencev2.InferTensorContents{}
	var err error
	switch datatype {
	case "BOOL":
		c.BoolContents, err = convert(values, func(v any) (b bool, ok bool) { b, ok = v.(bool); return b, ok })
	case "INT8", "INT16", "INT32":
		c.IntContents, err = convert(values, func(v any) (int32, bool) {
			n, e := strconv.ParseInt(fmt.Sprint(v), 10, 32)
			return int32(n), e == nil
		})
	case "INT64":
		c.Int64Contents, err = convert(values, func(v any) (int64, bool) {
			n, e := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			return n, e == nil
		})
	case "UINT8", "UINT16", "UINT32":
		c.UintContents, err = convert(values, func(v any) (uint32, bool) {
			n, e := strconv.ParseUint(fmt.Sprint(v), 10, 32)
			return uint32(n), e == nil
		})
	case "UINT64":
		c.Uint64Contents, err = convert(values, func(v any) (uint64, bool) {
			n, e := strconv.ParseUint(fmt.Sprint(v), 10, 64)
			return n, e == nil
		})
	case "FP32":
		c.Fp32Contents, err = convert(values, func(v any) (float32, bool) {
			n, e := strconv.ParseFloat(fmt.Sprint(v), 32)
			return float32(n), e == nil
		})
	case "FP64":
		c.Fp64Contents, err = convert(values, func(v any) (float64, bool) {
			n, e := strconv.ParseFloat(fmt.Sprint(v), 64)
			return n, e == nil
		})
	case "BYTES":
		c.BytesContents, err = convert(values, func(v any) ([]byte, bool) { s, ok := v.(string); return []byte(s), ok })
	default:
		return nil, fmt.Errorf("datatype %q cannot be sent from JSON; use BOOL, INT8 to INT64, UINT8 to UINT64, FP32, FP64 or BYTES", datatype)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", datatype, err)
	}
	return c, nil
}

func convert[T any](values []any, one func(any) (T, bool)) ([]T, error) {
	out := make([]T, len(values))
	for i, v := range values {
		var ok bool
		if out[i], ok = one(v); !ok {
			return nil, fmt.Errorf("element %d is %s", i, kindOf(v))
		}
	}
	return out, nil
}
