// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
)

// SchemaError is a body that is not of the protocol's form. It has an answer of its own: a "detail" list, status 422.
type SchemaError struct {
	// Status is 422, or 400 for a body that is no text at all.
	Status int
	// Detail is the JSON value of "detail".
	Detail []byte
	// Message is the same in one line, for an answer of the usual form with status 400.
	Message string
}

func (e *SchemaError) Error() string { return e.Message }

// Plain makes a SchemaError an error of the usual form, status 400, and leaves every other as it is.
func Plain(err error) error {
	var schema *SchemaError
	if errors.As(err, &schema) {
		return protocol.Errorf(protocol.Invalid, "%s", schema.Message)
	}
	return err
}

const statusUnprocessable = 422

func missingBody() error {
	return &SchemaError{
		Status:  statusUnprocessable,
		Detail:  []byte(`[{"type":"missing","loc":["body"],"msg":"Field required","input":null}]`),
		Message: "the body is missing",
	}
}

func unreadableBody() error {
	return &SchemaError{
		Status:  400,
		Detail:  []byte(`"There was an error parsing the body"`),
		Message: "the body is not UTF-8 text",
	}
}

func badJSON(text []byte, bad *jsontext.SyntaxError) error {
	line, column, char := jsontext.Position(text, bad.Offset)
	detail := []byte(`[{"type":"json_invalid","loc":["body",`)
	detail = strconv.AppendInt(detail, int64(char), 10)
	detail = append(detail, `],"msg":"JSON decode error","input":{},"ctx":{"error":`...)
	detail = append(jsontext.AppendString(detail, bad.Expected), `}}]`...)
	return &SchemaError{
		Status: statusUnprocessable,
		Detail: detail,
		Message: "Unrecognized request format: " + bad.Message + ": line " + strconv.Itoa(line) + " column " + strconv.Itoa(column) +
			" (char " + strconv.Itoa(char) + ")",
	}
}

// maxProblems, maxEcho and maxName bound the answer to a body of the wrong form.
const maxProblems, maxEcho, maxName = 32, 8 << 10, 256

// problems collects what is wrong with a body's form, each with its place.
type problems struct {
	loc    []byte // the place, as JSON array elements
	detail []byte
	count  int
	first  string
}

func (p *problems) reset() {
	p.loc, p.detail, p.count, p.first = p.loc[:0], p.detail[:0], 0, ""
}

func (p *problems) found() bool { return p.count > 0 }

// down goes one step down, to a quoted name; up goes back to what down returned.
func (p *problems) down(quoted string) int {
	n := len(p.loc)
	p.loc = append(append(p.loc, ','), quoted...)
	return n
}

// name goes down to a member of any name.
func (p *problems) name(name string) int {
	n := len(p.loc)
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	p.loc = jsontext.AppendString(append(p.loc, ','), name)
	return n
}

// index goes down to an element of a list.
func (p *problems) index(i int) int {
	n := len(p.loc)
	p.loc = strconv.AppendInt(append(p.loc, ','), int64(i), 10)
	return n
}

func (p *problems) up(n int) { p.loc = p.loc[:n] }

// add reports a problem with the value at the place.
func (p *problems) add(typ, msg string, value []byte) {
	if p.count++; p.count > maxProblems {
		return
	}
	if p.first == "" {
		p.first = string(bytes.ReplaceAll(bytes.TrimPrefix(p.loc, []byte(",")), []byte(`"`), nil)) + ": " + msg
	}
	p.entry(typ, msg, value, append([]byte(`"body","InferenceRequest"`), p.loc...))
}

func (p *problems) entry(typ, msg string, value, loc []byte) {
	p.detail = append(p.detail, `,{"type":"`...)
	p.detail = append(append(p.detail, typ...), `","loc":[`...)
	p.detail = append(append(p.detail, loc...), `],"msg":`...)
	p.detail = append(jsontext.AppendString(p.detail, msg), `,"input":`...)
	if len(value) > maxEcho || !isStrict(value) {
		value = []byte("null")
	}
	p.detail = append(append(p.detail, value...), '}')
}

// isStrict reports whether every reader takes a value: not with NaN, nor with a number that is beyond a double.
func isStrict(value []byte) bool {
	var s jsontext.Scanner
	s.Reset(value)
	return s.Skip() == nil
}

func (p *problems) missing(name string, object []byte) {
	n := p.down(`"` + name + `"`)
	p.add("missing", "Field required", object)
	p.up(n)
}

// union reports a parameter that is none of the kinds a parameter may be.
func (p *problems) union(value []byte) {
	for _, kind := range [...][3]string{
		{"float_type", "float", "Input should be a valid number"},
		{"int_type", "int", "Input should be a valid integer"},
		{"bool_type", "bool", "Input should be a valid boolean"},
		{"string_type", "str", "Input should be a valid string"},
	} {
		n := p.down(`"` + kind[1] + `"`)
		p.add(kind[0], kind[2], value)
		p.up(n)
	}
}

// whole adds what every such answer ends with: the body is no bytes either.
func (p *problems) whole(body []byte) {
	p.entry("bytes_type", "Input should be a valid bytes", body, []byte(`"body","bytes"`))
}

func (p *problems) err() error {
	detail := append([]byte{'['}, p.detail[1:]...)
	return &SchemaError{Status: statusUnprocessable, Detail: append(detail, ']'), Message: p.first}
}
