// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// GotCall is a gRPC answer to judge. Message is the bytes of the answer, nil when the call failed.
type GotCall struct {
	Code    codes.Code
	Details string
	Message []byte
}

// Encode is the bytes of the request message.
func (c *Call) Encode() ([]byte, error) {
	if c.Raw != nil {
		return c.Raw, nil
	}
	if rows := c.omittedRows(); rows > 0 {
		return proto.Marshal(&inferencev2.ModelInferRequest{
			ModelName: "iris", Id: "1",
			Inputs:           []*inferencev2.ModelInferRequest_InferInputTensor{{Name: "input-0", Datatype: "FP64", Shape: []int64{rows, 4}}},
			RawInputContents: [][]byte{make([]byte, rows*rowBytes)},
		})
	}
	m := message(c.Method, true)
	if m == nil {
		return nil, nil // of no type known here; the recorded one is empty
	}
	if err := protojson.Unmarshal(c.Request, m); err != nil {
		return nil, fmt.Errorf("read recorded request: %w", err)
	}
	return proto.Marshal(m)
}

// rowBytes are four FP64 numbers.
const rowBytes = 4 * 8

// omittedRows are the rows of a message of zeros that was too long to keep: what is written in its place begins with its length, and all
// but a few bytes of that are rows, in whole MiB.
func (c *Call) omittedRows() int64 {
	var m struct{ Omitted string }
	if json.Unmarshal(c.Request, &m) != nil || m.Omitted == "" {
		return 0
	}
	text, _, _ := strings.Cut(m.Omitted, " ")
	n, _ := strconv.ParseInt(text, 10, 64)
	return (n >> 20 << 20) / rowBytes
}

// message is an empty message of a method of the inference service; nil for other methods.
func message(method string, request bool) proto.Message {
	pick := func(in, out proto.Message) proto.Message {
		if request {
			return in
		}
		return out
	}
	switch method[strings.LastIndexByte(method, '/')+1:] {
	case "ServerLive":
		return pick(&inferencev2.ServerLiveRequest{}, &inferencev2.ServerLiveResponse{})
	case "ServerReady":
		return pick(&inferencev2.ServerReadyRequest{}, &inferencev2.ServerReadyResponse{})
	case "ServerMetadata":
		return pick(&inferencev2.ServerMetadataRequest{}, &inferencev2.ServerMetadataResponse{})
	case "ModelReady":
		return pick(&inferencev2.ModelReadyRequest{}, &inferencev2.ModelReadyResponse{})
	case "ModelMetadata":
		return pick(&inferencev2.ModelMetadataRequest{}, &inferencev2.ModelMetadataResponse{})
	case "ModelInfer":
		return pick(&inferencev2.ModelInferRequest{}, &inferencev2.ModelInferResponse{})
	case "RepositoryIndex":
		return pick(&inferencev2.RepositoryIndexRequest{}, &inferencev2.RepositoryIndexResponse{})
	case "RepositoryModelLoad":
		return pick(&inferencev2.RepositoryModelLoadRequest{}, &inferencev2.RepositoryModelLoadResponse{})
	case "RepositoryModelUnload":
		return pick(&inferencev2.RepositoryModelUnloadRequest{}, &inferencev2.RepositoryModelUnloadResponse{})
	default:
		return nil
	}
}

// JudgeCall compares an answer with the recorded one, or, for a fault, with what is better.
func (e *Exchange) JudgeCall(got GotCall) error {
	name := CodeName(got.Code)
	if e.Fault != "" {
		return e.judgeBetterCall(name, got)
	}
	want := e.Call
	if name != want.Code {
		return fmt.Errorf("code: want %s, got %s %q", want.Code, name, got.Details)
	}
	if got.Code != codes.OK {
		if contractTexts.MatchString(want.Details) && want.Details != got.Details {
			return fmt.Errorf("details: want %q, got %q", want.Details, got.Details)
		}
		if got.Details == "" {
			return fmt.Errorf("details: want a text like %q, got none", clip([]byte(want.Details)))
		}
		return nil
	}
	return e.judgeMessage(got.Message)
}

func (e *Exchange) judgeBetterCall(name string, got GotCall) error {
	ok := false
	for _, want := range e.Better.Code {
		not, negated := strings.CutPrefix(want, "not ")
		ok = ok || negated && not != name || want == name
	}
	if !ok {
		return fmt.Errorf("code: want %v (not the recorded %s), got %s %q", e.Better.Code, e.Call.Code, name, got.Details)
	}
	if len(e.Better.Outputs) == 0 {
		return nil
	}
	var m inferencev2.ModelInferResponse
	if err := proto.Unmarshal(got.Message, &m); err != nil {
		return err
	}
	var names []string
	for _, o := range m.GetOutputs() {
		names = append(names, o.GetName())
	}
	if !slices.Equal(names, e.Better.Outputs) {
		return fmt.Errorf("outputs: want %v, got %v", e.Better.Outputs, names)
	}
	return nil
}

func (e *Exchange) judgeMessage(got []byte) error {
	m := message(e.Call.Method, false)
	if m == nil {
		return nil
	}
	if err := proto.Unmarshal(got, m); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if strings.Contains(string(e.Call.Response), `"omitted":`) {
		// The answer to the long request: as many labels as there were rows.
		size := int(e.Call.omittedRows() * 8)
		if r := m.(*inferencev2.ModelInferResponse); len(r.GetRawOutputContents()) != 1 || len(r.GetRawOutputContents()[0]) != size {
			return fmt.Errorf("want one raw output of %d bytes", size)
		}
		return nil
	}
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return err
	}
	want, gotMessage := message(e.Call.Method, false), m
	if err := protojson.Unmarshal(e.Call.Response, want); err != nil {
		return fmt.Errorf("read recorded answer: %w", err)
	}
	if err := compareRawOutputs(want, gotMessage); err != nil {
		return err
	}
	wantText, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(want)
	if err != nil {
		return err
	}
	w, err := parse(wantText)
	if err != nil {
		return err
	}
	g, err := parse(text)
	if err != nil {
		return err
	}
	c := comparer{tolerance: 1e-9, varies: e.Varies, prefix: "response:", unordered: true}
	return c.compare("", without(w, "raw_output_contents"), without(g, "raw_output_contents"))
}

func without(o object, key string) object {
	return slices.DeleteFunc(o, func(m member) bool { return m.key == key })
}

func compareRawOutputs(want, got proto.Message) error {
	w, ok := want.(*inferencev2.ModelInferResponse)
	if !ok {
		return nil
	}
	g := got.(*inferencev2.ModelInferResponse)
	if len(w.GetRawOutputContents()) != len(g.GetRawOutputContents()) {
		return fmt.Errorf("raw outputs: want %d, got %d", len(w.GetRawOutputContents()), len(g.GetRawOutputContents()))
	}
	for i, raw := range w.GetRawOutputContents() {
		if err := compareBytes(w.GetOutputs()[i].GetDatatype(), raw, g.GetRawOutputContents()[i]); err != nil {
			return fmt.Errorf("raw output %d: %w", i, err)
		}
	}
	return nil
}

// CodeName is a gRPC code as the recordings write it: INVALID_ARGUMENT.
func CodeName(c codes.Code) string {
	for name, code := range codeNames {
		if code == c {
			return name
		}
	}
	return c.String()
}

var codeNames = map[string]codes.Code{
	"OK": codes.OK, "CANCELLED": codes.Canceled, "UNKNOWN": codes.Unknown, "INVALID_ARGUMENT": codes.InvalidArgument,
	"DEADLINE_EXCEEDED": codes.DeadlineExceeded, "NOT_FOUND": codes.NotFound, "ALREADY_EXISTS": codes.AlreadyExists,
	"PERMISSION_DENIED": codes.PermissionDenied, "RESOURCE_EXHAUSTED": codes.ResourceExhausted,
	"FAILED_PRECONDITION": codes.FailedPrecondition, "ABORTED": codes.Aborted, "OUT_OF_RANGE": codes.OutOfRange,
	"UNIMPLEMENTED": codes.Unimplemented, "INTERNAL": codes.Internal, "UNAVAILABLE": codes.Unavailable,
	"DATA_LOSS": codes.DataLoss, "UNAUTHENTICATED": codes.Unauthenticated,
}

// Answered is a recorded call's own answer, as a fake server gives it.
func (c *Call) Answered() (GotCall, error) {
	got := GotCall{Code: codeNames[c.Code], Details: c.Details}
	m := message(c.Method, false)
	if got.Code != codes.OK || m == nil {
		return got, nil
	}
	if strings.Contains(string(c.Response), `"omitted":`) {
		m = &inferencev2.ModelInferResponse{RawOutputContents: [][]byte{make([]byte, c.omittedRows()*8)}}
	} else if err := protojson.Unmarshal(c.Response, m); err != nil {
		return got, fmt.Errorf("read recorded answer: %w", err)
	}
	var err error
	got.Message, err = proto.Marshal(m)
	return got, err
}
