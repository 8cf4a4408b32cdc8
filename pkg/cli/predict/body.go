// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package predict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
)

// requestBody is the JSON that the person gave.
type requestBody struct {
	raw    []byte
	fields map[string]json.RawMessage
}

// v2Request is the V2 JSON form, as far as this program writes and converts it.
type v2Request struct {
	ID         string          `json:"id,omitempty"`
	Parameters map[string]any  `json:"parameters,omitempty"`
	Inputs     []v2Input       `json:"inputs"`
	Outputs    json.RawMessage `json:"outputs,omitempty"`
}

type v2Input struct {
	Name       string         `json:"name"`
	Shape      []int64        `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Data       []any          `json:"data"`
}

func parseBody(raw []byte) (*requestBody, error) {
	b := &requestBody{raw: raw}
	err := json.Unmarshal(raw, &b.fields)
	if err == nil && b.fields == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, exit.Errorf(exit.Invalid, `the request is no JSON object: %w; write {"instances": [[…]]} or {"inputs": […]}`, err)
	}
	return b, nil
}

// natural is the protocol that the body is written for.
func (b *requestBody) natural() string {
	if _, ok := b.fields["inputs"]; ok {
		if _, both := b.fields["instances"]; !both {
			return V2
		}
	}
	return V1
}

// v2 is the body in V2 form, numbers kept as written.
func (b *requestBody) v2() (*v2Request, error) {
	request := &v2Request{}
	if b.natural() == V2 {
		if err := decodeExact(b.raw, request); err != nil {
			return nil, exit.Errorf(exit.Invalid, "the request is not in V2 form: %w", err)
		}
		return request, nil
	}
	var instances []any
	if err := decodeExact(b.fields["instances"], &instances); err != nil || len(instances) == 0 {
		return nil, exit.Errorf(exit.Invalid, `the request has neither "inputs" nor a list "instances" with a row in it`)
	}
	in := v2Input{Name: "input-0"}
	for level := any(instances); ; {
		list, ok := level.([]any)
		if !ok {
			break
		}
		in.Shape = append(in.Shape, int64(len(list)))
		if len(list) == 0 {
			break
		}
		level = list[0]
	}
	if err := flatten(instances, in.Shape, &in.Data); err != nil {
		return nil, err
	}
	in.Datatype = "FP64"
	for _, v := range in.Data {
		switch v.(type) {
		case string:
			in.Datatype = "BYTES"
		case json.Number:
		case bool:
			in.Datatype = "BOOL"
		default:
			return nil, exit.Errorf(exit.Invalid, `"instances" holds %s: only lists of numbers, texts or booleans have a V2 form; write "inputs"`, kindOf(v))
		}
	}
	request.Inputs = []v2Input{in}
	return request, nil
}

func decodeExact(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}

// flatten appends the leaves of a nested list of the given shape in row-major order.
func flatten(v any, shape []int64, into *[]any) error {
	if len(shape) == 0 {
		if _, ok := v.([]any); ok {
			return exit.Errorf(exit.Invalid, `"instances" is ragged: a list stands where a value is expected`)
		}
		*into = append(*into, v)
		return nil
	}
	list, ok := v.([]any)
	if !ok || int64(len(list)) != shape[0] {
		return exit.Errorf(exit.Invalid, `"instances" is ragged: a row of %d is expected, got %s; only a rectangular list has a V2 form`, shape[0], kindOf(v))
	}
	for _, e := range list {
		if err := flatten(e, shape[1:], into); err != nil {
			return err
		}
	}
	return nil
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return "an object"
	case string:
		return fmt.Sprintf("the text %q", v)
	default:
		return fmt.Sprint(v)
	}
}
