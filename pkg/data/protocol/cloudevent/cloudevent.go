// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudevent reads and writes CloudEvents 1.0 around V1 bodies: the binary form, whose attributes are HTTP headers, and the
// structured form, a JSON object.
//
// Called by: data/serve.
// Next: data/protocol/v1, which reads what an event holds.
package cloudevent

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/protocol/jsontext"
)

// ContentType is that of a structured event.
const ContentType = "application/cloudevents+json"

// maxAttributes bounds the attributes of one event.
const maxAttributes = 128

const headerPrefix = "Ce-"

// Form says how an event is sent.
type Form uint8

// The forms. Plain is a request that is no event, or one whose answer is none.
const (
	Plain Form = iota
	Binary
	Structured
)

// Event is the attributes of one event.
type Event struct {
	Form       Form
	attributes []attribute
}

// attribute has a lower-case name. The value of a structured event's is JSON text.
type attribute struct{ name, value string }

// InHeaders reports whether a request is a binary event: it has all headers that make one.
func InHeaders(h http.Header) bool {
	return len(h["Ce-Specversion"]) > 0 && len(h["Ce-Source"]) > 0 && len(h["Ce-Type"]) > 0 && len(h["Ce-Id"]) > 0
}

// IsStructured reports whether a Content-Type is that of a structured event.
func IsStructured(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.Trim(media, " \t"), ContentType)
}

// FromHeaders reads a binary event's attributes. An error is a *protocol.Error.
func FromHeaders(h http.Header) (Event, error) {
	e := Event{Form: Binary}
	for name, values := range h {
		if key, ok := strings.CutPrefix(name, headerPrefix); ok && len(values) > 0 {
			e.attributes = append(e.attributes, attribute{strings.ToLower(key), values[0]})
		}
	}
	slices.SortFunc(e.attributes, func(a, b attribute) int { return strings.Compare(a.name, b.name) })
	return e, e.check(e.get("specversion"))
}

// IsJSON reports whether a binary event says that its data are JSON.
func (e *Event) IsJSON() bool {
	kind := e.get("content-type")
	return kind != "" && protocol.IsJSON(kind)
}

// IsOther reports whether a binary event says that its data are something else than JSON.
func (e *Event) IsOther() bool {
	kind := e.get("content-type")
	return kind != "" && !protocol.IsJSON(kind)
}

func (e *Event) get(name string) string {
	for _, a := range e.attributes {
		if a.name == name {
			return a.value
		}
	}
	return ""
}

func (e *Event) check(version string) error {
	if version != "1.0" && version != "0.3" {
		return invalid("Cloud Event Exceptions: Found invalid specversion %s", version)
	}
	if len(e.attributes) > maxAttributes {
		return invalid("Cloud Event Exceptions: the event has %d attributes, more than %d", len(e.attributes), maxAttributes)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return protocol.Errorf(protocol.Invalid, format, args...)
}

// FromJSON reads a structured event and finds its data. The event is nil for a JSON text that is none, and for a text that is no JSON:
// what is wrong with it is for the reader of the whole to say. An error is a *protocol.Error.
func FromJSON(body []byte) (*Event, []byte, error) {
	if !utf8.Valid(body) {
		return nil, nil, nil
	}
	r := reader{event: Event{Form: Structured}}
	r.scan.Reset(body)
	if !r.read() || r.found != 1<<len(required)-1 {
		return nil, nil, nil
	}
	if err := r.event.check(r.version); err != nil {
		return &r.event, nil, err
	}
	switch {
	case r.hasData:
		return &r.event, r.data, nil
	case r.encoded == nil:
		return &r.event, nil, invalid("Cloud Event Exceptions: the event has neither data nor data_base64")
	}
	data, err := base64.StdEncoding.AppendDecode(nil, r.encoded)
	if err != nil {
		return &r.event, nil, invalid("Cloud Event Exceptions: data_base64 is not base64: %s", err)
	}
	return &r.event, data, nil
}

// required are the members that make an object an event.
//
//nolint:gochecknoglobals // a constant table; Go has no constant arrays
var required = [...]string{"specversion", "id", "source", "type"}

// reader reads one structured event.
type reader struct {
	scan    jsontext.Scanner
	event   Event
	found   uint // the required members that are there, a bit each
	version string
	hasData bool
	data    []byte
	encoded []byte // data_base64, nil when it is not there
}

// read takes the whole text; false when it is no JSON object.
func (r *reader) read() bool {
	s := &r.scan
	if s.Peek() != '{' {
		return false
	}
	more, err := s.OpenObject()
	for more && err == nil {
		var key []byte
		if key, err = s.Key(); err != nil {
			return false
		}
		if err = r.member(string(key)); err == nil {
			more, err = s.NextMember()
		}
	}
	return err == nil && s.End() == nil
}

func (r *reader) member(name string) error {
	s := &r.scan
	first := s.Peek()
	from := s.Offset()
	if name == "data_base64" && first == '"' {
		text, err := s.String()
		r.encoded = append([]byte{}, text...)
		return err
	}
	if err := s.Skip(); err != nil {
		return err
	}
	text := s.Text(from, s.Offset())
	switch name {
	case "data":
		r.hasData, r.data = true, text
		return nil
	case "data_base64":
		return nil
	case "specversion":
		r.version = strings.Trim(string(text), `"`)
	}
	if i := slices.Index(required[:], name); i >= 0 {
		r.found |= 1 << i
	}
	if len(r.event.attributes) <= maxAttributes {
		r.event.attributes = append(r.event.attributes, attribute{name, string(text)})
	}
	return nil
}

// Answer says what the attributes of the answer to an event are.
type Answer struct {
	ID, Source, Type, Time string
	// Merge keeps the attributes of the request besides these.
	Merge bool
}

// Reply is the event that answers e.
func (e *Event) Reply(a Answer) Event {
	quote := func(v string) string { return v }
	if e.Form == Structured {
		quote = func(v string) string { return string(jsontext.AppendString(nil, strings.ToValidUTF8(v, "\ufffd"))) }
	}
	out := Event{Form: e.Form}
	version := quote("1.0")
	if a.Merge {
		for _, old := range e.attributes {
			switch old.name {
			case "specversion":
				version = old.value
			case "id", "source", "type", "time", "content-type", "contenttype":
			case "datacontenttype":
				if e.Form == Structured { // in the binary form the Content-Type says it
					out.attributes = append(out.attributes, old)
				}
			default:
				out.attributes = append(out.attributes, old)
			}
		}
	}
	out.attributes = append(out.attributes, attribute{"specversion", version}, attribute{"id", quote(a.ID)},
		attribute{"source", quote(a.Source)}, attribute{"type", quote(a.Type)}, attribute{"time", quote(a.Time)})
	slices.SortStableFunc(out.attributes, func(a, b attribute) int { return rank(a.name) - rank(b.name) })
	return out
}

// order is that of the members of a structured event; extensions come after the data.
//
//nolint:gochecknoglobals // a constant table; Go has no constant arrays
var order = [...]string{"specversion", "id", "source", "type", "datacontenttype", "dataschema", "subject", "time"}

func rank(name string) int {
	if i := slices.Index(order[:], name); i >= 0 {
		return i
	}
	return len(order)
}

// SetHeaders adds the attributes of a binary event to h.
func (e *Event) SetHeaders(h http.Header) {
	for _, a := range e.attributes {
		h.Set(headerPrefix+a.name, a.value)
	}
}

// AppendJSON adds a structured event with data, which is compact JSON, to dst.
func (e *Event) AppendJSON(dst, data []byte) []byte {
	dst = append(dst, '{')
	first := true
	member := func(name string) {
		if !first {
			dst = append(dst, ", "...)
		}
		first = false
		dst = append(jsontext.AppendString(dst, name), ": "...)
	}
	hasData := false
	for _, a := range e.attributes {
		if rank(a.name) == len(order) && !hasData {
			hasData = true
			member("data")
			dst = AppendSpaced(dst, data)
		}
		member(a.name)
		dst = append(dst, a.value...)
	}
	if !hasData {
		member("data")
		dst = AppendSpaced(dst, data)
	}
	return append(dst, '}')
}

// AppendSpaced adds compact JSON to dst with a space behind each comma and colon, as answers to events have it.
func AppendSpaced(dst, text []byte) []byte {
	inText, escaped := false, false
	for _, c := range text {
		dst = append(dst, c)
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped = c == '\\'
			inText = c != '"'
		case c == '"':
			inText = true
		case c == ',' || c == ':':
			dst = append(dst, ' ')
		}
	}
	return dst
}

// Explain words an error about the data of a binary event as clients know it, and leaves any other as it is.
func (e *Event) Explain(err error) error {
	var own *protocol.Error
	if e.Form != Binary || !errors.As(err, &own) {
		return err
	}
	if detail, ok := strings.CutPrefix(own.Message, "Unrecognized request format: "); ok {
		return protocol.Errorf(own.Code, "Failed to decode or parse binary json cloudevent: %s", detail)
	}
	return err
}
