// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Got is an answer to judge. Header names are lower-case.
type Got struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

const lengthHeader = "inference-header-content-length"

// JudgeHTTP compares an answer with the recorded one, or, for a fault, with what is better. The error says the first difference.
func (e *Exchange) JudgeHTTP(got Got) error {
	if e.Fault != "" {
		return e.judgeBetter(got)
	}
	if got.Status != e.Answer.Status {
		return fmt.Errorf("status: want %d, got %d: %s", e.Answer.Status, got.Status, clip(got.Body))
	}
	for name, want := range e.Answer.Headers {
		if slices.Contains(e.Varies, "header:"+name) {
			if err := made("header "+name, got.Headers[name]); err != nil {
				return err
			}
			continue
		}
		if name == "content-length" || name == "transfer-encoding" { // they follow from the body's text, or its transfer
			continue
		}
		if got.Headers[name] != want {
			return fmt.Errorf("header %s: want %q, got %q", name, want, got.Headers[name])
		}
	}
	if e.HTTP.Method == http.MethodHead {
		return nil
	}
	return e.judgeBody(got)
}

func (e *Exchange) judgeBody(got Got) error {
	a := e.Answer
	switch {
	case a.SHA256 != "":
		sum := sha256.Sum256(got.Body)
		if len(got.Body) != a.Length || hex.EncodeToString(sum[:]) != a.SHA256 {
			return fmt.Errorf("body: want %d bytes with digest %s, got %d bytes", a.Length, a.SHA256, len(got.Body))
		}
		return nil
	case e.HTTP.Path == "/metrics":
		return judgeMetrics(a.Body, got.Body)
	case a.Headers[lengthHeader] != "":
		return e.judgeBinary(got)
	case a.Status >= 400:
		return e.judgeError(got.Body)
	case strings.HasPrefix(e.HTTP.Path, "/docs"), e.HTTP.Path == "/openapi.json":
		if len(a.Body) > 0 && len(got.Body) == 0 {
			return errors.New("body: want a page about the API, got none")
		}
		return nil
	case protocol.IsJSON(a.Headers["content-type"]):
		return e.compareJSON(a.Body, got.Body)
	}
	if !bytes.Equal(a.Body, got.Body) {
		return fmt.Errorf("body: want %q, got %q", clip(a.Body), clip(got.Body))
	}
	return nil
}

func (e *Exchange) compareJSON(want, got []byte) error {
	w, err := parseAny(want)
	if err != nil {
		return fmt.Errorf("recorded body: %w", err)
	}
	g, err := parseAny(got)
	if err != nil {
		return fmt.Errorf("body is not JSON: %w: %s", err, clip(got))
	}
	c := comparer{tolerance: 1e-9, varies: e.Varies, prefix: "body:"}
	if e.Folder == "kserve-xgboost" {
		c.tolerance = 1e-6 // single-precision scores in a protocol that does not say so
	}
	return c.compare("", w, g)
}

// judgeBinary compares a body of a JSON part and binary tensors.
func (e *Exchange) judgeBinary(got Got) error {
	wantJSON, wantRaw, err := split(e.Answer.Headers[lengthHeader], e.Answer.Body)
	if err != nil {
		return fmt.Errorf("recorded body: %w", err)
	}
	gotJSON, gotRaw, err := split(got.Headers[lengthHeader], got.Body)
	if err != nil {
		return err
	}
	if err := e.compareJSON(wantJSON, gotJSON); err != nil {
		return err
	}
	return compareRaw(wantJSON, wantRaw, gotRaw)
}

func split(header string, body []byte) (text, raw []byte, err error) {
	n, err := strconv.Atoi(header)
	if err != nil || n < 0 || n > len(body) {
		return nil, nil, fmt.Errorf("header %s is %q for a body of %d bytes", lengthHeader, header, len(body))
	}
	return body[:n], body[n:], nil
}

// contractTexts are the starts of error texts that clients may read. Texts of numpy, scikit-learn and other libraries are not.
var contractTexts = regexp.MustCompile(`^(Model with name |Server is not |Could not find |Expected "in|received byte inputs|` +
	`Unexpected inference output|Sending FP16 data|'data' field is missing|Unrecognized request format|the number of inputs \(|` +
	`contents field must not|Model versioning|invalid content type|invalid datatype)`)

func (e *Exchange) judgeError(got []byte) error {
	want, _ := parse(e.Answer.Body)
	if want == nil {
		if !bytes.Equal(e.Answer.Body, got) {
			return fmt.Errorf("body: want %q, got %q", clip(e.Answer.Body), clip(got))
		}
		return nil
	}
	g, err := parse(got)
	if err != nil {
		return fmt.Errorf("body is not JSON: %w: %s", err, clip(got))
	}
	if w, ok := want.member("error").(string); ok {
		text, ok := g.member("error").(string)
		if !ok || text == "" {
			return fmt.Errorf("body: want an error text, got %s", clip(got))
		}
		start, _, foreign := strings.Cut(w, " Error type: ") // what follows is the recorded server's own language
		if contractTexts.MatchString(w) && w != text && (!foreign || !strings.HasPrefix(text, start)) {
			return fmt.Errorf("error: want %q, got %q", w, text)
		}
		return nil
	}
	if w, ok := want.member("detail").(string); ok {
		if text, _ := g.member("detail").(string); text != w {
			return fmt.Errorf("detail: want %q, got %s", w, clip(got))
		}
		return nil
	}
	return judgeDetail(want, g)
}

// judgeDetail compares lists of problems: their kinds and places, not their texts.
func judgeDetail(want, got object) error {
	w, _ := want.member("detail").([]any)
	g, _ := got.member("detail").([]any)
	if len(g) == 0 {
		return errors.New("detail: want a list of problems, got none")
	}
	for i, p := range g {
		o, ok := p.(object)
		if !ok || len(o) < 4 || o[0].key != "type" || o[1].key != "loc" || o[2].key != "msg" || o[3].key != "input" {
			return fmt.Errorf("detail/%d: want an object of type, loc, msg and input", i)
		}
	}
	if len(w) != len(g) {
		return fmt.Errorf("detail: want %d problems, got %d", len(w), len(g))
	}
	for i := range w {
		for _, key := range []string{"type", "loc"} {
			c := comparer{}
			if err := c.compare(fmt.Sprintf("/detail/%d/%s", i, key), w[i].(object).member(key), g[i].(object).member(key)); err != nil {
				return err
			}
		}
	}
	return nil
}

// judgeBetter checks what a right server answers in place of the recorded fault.
func (e *Exchange) judgeBetter(got Got) error {
	b := &e.Better
	if !slices.Contains(b.Status, got.Status) {
		return fmt.Errorf("status: want %v (not the recorded %d), got %d: %s", b.Status, e.Answer.Status, got.Status, clip(got.Body))
	}
	if b.ContentType != "" && !strings.HasPrefix(got.Headers["content-type"], b.ContentType) {
		return fmt.Errorf("content-type: want %q, got %q", b.ContentType, got.Headers["content-type"])
	}
	if b.Allow != "" && got.Headers["allow"] != b.Allow {
		return fmt.Errorf("allow: want %q, got %q", b.Allow, got.Headers["allow"])
	}
	for _, name := range b.HeadersAbsent {
		if v, ok := got.Headers[name]; ok {
			return fmt.Errorf("header %s: want none, got %q", name, v)
		}
	}
	if b.Body != "" {
		if err := e.compareJSON([]byte(b.Body), got.Body); err != nil {
			return err
		}
	}
	if e.Fault == "binary-no-content-type" {
		return e.judgeBinary(got)
	}
	if e.HTTP.Method == http.MethodHead {
		if len(got.Body) > 0 {
			return errors.New("body: want none for HEAD")
		}
		return nil
	}
	text := got.Body
	if h := got.Headers[lengthHeader]; h != "" {
		var err error
		if text, _, err = split(h, got.Body); err != nil {
			return err
		}
	}
	return judgeBetterBody(b, got.Status, text)
}

func judgeBetterBody(b *Better, status int, text []byte) error {
	v, err := parseAny(text)
	if err != nil {
		return fmt.Errorf("body is not JSON: %w: %s", err, clip(text))
	}
	body, _ := v.(object)
	if status >= 400 {
		if s, _ := body.member("error").(string); s == "" && body.member("detail") == nil {
			return fmt.Errorf("body: want an error, got %s", clip(text))
		}
		return nil
	}
	outputs, _ := body.member("outputs").([]any)
	if b.Datatype != "" {
		if len(outputs) == 0 || outputs[0].(object).member("datatype") != b.Datatype {
			return fmt.Errorf("want a first output of datatype %s: %s", b.Datatype, clip(text))
		}
	}
	if len(b.Outputs) > 0 {
		var names []string
		for _, o := range outputs {
			name, _ := o.(object).member("name").(string)
			names = append(names, name)
		}
		if !slices.Equal(names, b.Outputs) {
			return fmt.Errorf("outputs: want %v, got %v", b.Outputs, names)
		}
	}
	return nil
}

// judgeMetrics checks that the server's own families are there, with the recorded help, type, labels and buckets. Values and the
// collectors of the recorded server's language do not count.
func judgeMetrics(want, got []byte) error {
	have := map[string]bool{}
	for line := range strings.Lines(string(got)) {
		have[series(line)] = true
	}
	for line := range strings.Lines(string(want)) {
		s := series(line)
		if !strings.Contains(s, "request_") || strings.HasPrefix(s, "# HELP python_") {
			continue
		}
		if !have[s] {
			return fmt.Errorf("metrics: no %s", s)
		}
	}
	return nil
}

// series is a line of a metrics page without its value: labels have no order, and the bounds of buckets are numbers.
func series(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return line
	}
	name, _, _ := strings.Cut(line, " ")
	name, rest, ok := strings.Cut(name, "{")
	if !ok {
		return name
	}
	labels := strings.Split(strings.TrimSuffix(rest, "}"), ",")
	for i, label := range labels {
		text, isBound := strings.CutPrefix(label, `le="`)
		if bound, err := strconv.ParseFloat(strings.TrimSuffix(text, `"`), 64); isBound && err == nil {
			labels[i] = fmt.Sprintf("le=%v", bound)
		}
	}
	slices.Sort(labels)
	return name + "{" + strings.Join(labels, ",") + "}"
}

// clip keeps a message readable.
func clip(b []byte) string {
	const most = 240
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
