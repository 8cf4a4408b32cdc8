// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// Second is set for an exchange that was recorded from another implementation of V2 and is asked of a server of KServe's kind: the
// outcome must be the same, and where it is not KServe's own answer decides.
type Second struct {
	// Twin is the same request, recorded from KServe's server; nil when there is none.
	Twin *Exchange
	// Ours is the status or code that is right here where neither the recorded answer nor a twin says it, and Why the reason.
	Ours, Why string
}

// Verdict says by what an answer passed.
type Verdict uint8

// Equal answers are as recorded, Better ones are right where the recorded one was at fault, and AsKServe ones follow KServe's server where
// the recorded implementation differs from it.
const (
	Equal Verdict = iota
	Improved
	AsKServe
)

// secondHTTP judges an answer to an exchange with another implementation.
func (e *Exchange) secondHTTP(got Got) (Verdict, error) {
	err := e.sameOutcome(got)
	switch {
	case err == nil:
		return Equal, nil
	case e.Second.Ours != "":
		if fmt.Sprint(got.Status) != e.Second.Ours {
			return AsKServe, fmt.Errorf("status: want %s (%s), got %d: %s", e.Second.Ours, e.Second.Why, got.Status, clip(got.Body))
		}
		return AsKServe, nil
	case e.Second.Twin != nil:
		return AsKServe, e.Second.Twin.JudgeHTTP(got)
	case e.Answer.Status >= http.StatusInternalServerError && got.Status < http.StatusInternalServerError:
		return Improved, judgeBetterBody(&e.Better, got.Status, jsonPart(got))
	}
	return Equal, err
}

func jsonPart(got Got) []byte {
	if text, _, err := split(got.Headers[lengthHeader], got.Body); err == nil {
		return text
	}
	return got.Body
}

// sameOutcome compares status and results: not the names, shapes and extra members that are the other implementation's own.
func (e *Exchange) sameOutcome(got Got) error {
	if got.Status != e.Answer.Status {
		return fmt.Errorf("status: recorded %d, got %d: %s", e.Answer.Status, got.Status, clip(got.Body))
	}
	switch {
	case e.HTTP.Method == http.MethodHead, len(e.Answer.Body) == 0, strings.HasPrefix(e.HTTP.Path, "/metrics"), e.HTTP.Path == "/openapi.json":
		return nil
	case got.Status >= http.StatusBadRequest:
		return judgeBetterBody(&e.Better, got.Status, got.Body)
	}
	want, err := parseAny(e.Answer.Body)
	if err != nil {
		return fmt.Errorf("recorded body: %w", err)
	}
	have, err := parseAny(got.Body)
	if err != nil {
		return fmt.Errorf("body is not JSON: %w: %s", err, clip(got.Body))
	}
	if list, ok := want.([]any); ok {
		return sameIndex(list, have)
	}
	w, _ := want.(object)
	g, _ := have.(object)
	for _, key := range []string{"id", "model_name"} {
		if w.member(key) != g.member(key) && !slices.Contains(e.Varies, "body:/"+key) {
			return different("/"+key, w.member(key), g.member(key))
		}
	}
	return sameOutputs(w.member("outputs"), g.member("outputs"))
}

// sameIndex checks that each model is there in its state.
func sameIndex(want []any, got any) error {
	states := map[any]any{}
	list, _ := got.([]any)
	for _, m := range list {
		if o, ok := m.(object); ok {
			states[o.member("name")] = o.member("state")
		}
	}
	for _, m := range want {
		o, _ := m.(object)
		if state := states[o.member("name")]; state != o.member("state") {
			return different(fmt.Sprintf("/%s/state", o.member("name")), o.member("state"), state)
		}
	}
	return nil
}

// sameOutputs compares datatypes and elements.
func sameOutputs(want, got any) error {
	w, _ := want.([]any)
	g, _ := got.([]any)
	if len(w) != len(g) {
		return different("/outputs", want, got)
	}
	for i := range w {
		wo, _ := w[i].(object)
		g, _ := g[i].(object)
		for _, key := range []string{"datatype", "data"} {
			c := comparer{tolerance: 1e-6}
			if err := c.compare(fmt.Sprintf("/outputs/%d/%s", i, key), wo.member(key), g.member(key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// secondCall is secondHTTP for a call.
func (e *Exchange) secondCall(got GotCall) (Verdict, error) {
	err := e.sameCall(got)
	name := CodeName(got.Code)
	switch {
	case err == nil:
		return Equal, nil
	case e.Second.Ours != "":
		if name != e.Second.Ours {
			return AsKServe, fmt.Errorf("code: want %s (%s), got %s %q", e.Second.Ours, e.Second.Why, name, got.Details)
		}
		return AsKServe, nil
	case e.Second.Twin != nil:
		return AsKServe, e.Second.Twin.JudgeCall(got)
	case (e.Call.Code == "INTERNAL" || e.Call.Code == "UNKNOWN") && got.Code != codes.Internal && got.Code != codes.Unknown:
		return Improved, nil
	}
	return Equal, err
}

func (e *Exchange) sameCall(got GotCall) error {
	if name := CodeName(got.Code); name != e.Call.Code {
		return fmt.Errorf("code: recorded %s, got %s %q", e.Call.Code, name, got.Details)
	}
	want, ok := message(e.Call.Method, false).(*inferencev2.ModelInferResponse)
	if !ok || got.Code != codes.OK {
		return nil
	}
	if err := protojson.Unmarshal(e.Call.Response, want); err != nil {
		return fmt.Errorf("read recorded answer: %w", err)
	}
	var have inferencev2.ModelInferResponse
	if err := proto.Unmarshal(got.Message, &have); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if len(want.GetOutputs()) != len(have.GetOutputs()) {
		return fmt.Errorf("outputs: want %d, got %d", len(want.GetOutputs()), len(have.GetOutputs()))
	}
	for i, w := range want.GetOutputs() {
		g := have.GetOutputs()[i]
		if w.GetDatatype() != g.GetDatatype() {
			return different(fmt.Sprintf("/outputs/%d/datatype", i), w.GetDatatype(), g.GetDatatype())
		}
		if !proto.Equal(w.GetContents(), g.GetContents()) && len(want.GetRawOutputContents()) == 0 {
			return different(fmt.Sprintf("/outputs/%d/contents", i), w.GetContents(), g.GetContents())
		}
	}
	return compareRawOutputs(want, &have)
}

// Judge compares the answer of an exchange, whichever way it was recorded.
func (e *Exchange) Judge(got Got) (Verdict, error) {
	if e.Second != nil {
		return e.secondHTTP(got)
	}
	return e.verdict(), e.JudgeHTTP(got)
}

// JudgeAnswer is Judge for a call.
func (e *Exchange) JudgeAnswer(got GotCall) (Verdict, error) {
	if e.Second != nil {
		return e.secondCall(got)
	}
	return e.verdict(), e.JudgeCall(got)
}

func (e *Exchange) verdict() Verdict {
	if e.Fault != "" {
		return Improved
	}
	return Equal
}

// Same says that two exchanges are of one request.
func (e *Exchange) Same(o *Exchange) bool {
	switch {
	case e.HTTP != nil && o.HTTP != nil:
		return e.HTTP.Method == o.HTTP.Method && e.HTTP.Path == o.HTTP.Path && bytes.Equal(e.HTTP.Body, o.HTTP.Body) &&
			sameTexts(e.HTTP.Headers, o.HTTP.Headers)
	case e.Call != nil && o.Call != nil:
		return e.Call.Method == o.Call.Method && sameTexts(e.Call.Metadata, o.Call.Metadata) && bytes.Equal(e.Call.Raw, o.Call.Raw) &&
			sameJSON(e.Call.Request, o.Call.Request)
	}
	return false
}

func sameTexts(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if b[name] != value {
			return false
		}
	}
	return true
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
