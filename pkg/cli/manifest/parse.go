// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// document is one part of a file between the lines that hold "---".
type document struct {
	text   []byte
	before int // lines before it
}

// split cuts a stream at its document marks. A mark inside a block scalar would have to be indented, so lines decide.
func split(data []byte) []document {
	var docs []document
	start, startLine, line := 0, 0, 0
	for pos := 0; pos <= len(data); {
		end := bytes.IndexByte(data[pos:], '\n')
		if end < 0 {
			end = len(data)
		} else {
			end += pos
		}
		text := data[pos:end]
		if rest, ok := bytes.CutPrefix(text, []byte("---")); ok && (len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ' || rest[0] == '\t') {
			docs = append(docs, document{data[start:pos], startLine})
			// What follows the mark on its line (usually a comment) belongs to the next document.
			start, startLine = pos+3, line
		}
		if end == len(data) {
			break
		}
		pos = end + 1
		line++
	}
	return append(docs, document{data[start:], startLine})
}

// hasContent tells a document from one of blank lines and comments.
func (d document) hasContent() bool {
	for line := range bytes.Lines(d.text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("...")) {
			return true
		}
	}
	return false
}

// Parse reads the objects in one stream of YAML or JSON documents.
func Parse(source string, data []byte) ([]*Object, []Fault) {
	objects, faults := ParseAll(source, data)
	return sound(objects), faults
}

// sound are the objects that are as they were written.
func sound(objects []*Object) []*Object {
	return slices.DeleteFunc(objects, func(o *Object) bool { return o.Broken })
}

// ParseAll is Parse with the objects of which only parts can be read.
func ParseAll(source string, data []byte) ([]*Object, []Fault) {
	var objects []*Object
	var faults []Fault
	number := 0
	for _, doc := range split(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) {
		if !doc.hasContent() {
			continue
		}
		number++
		at := Fault{Source: source, Document: number, Line: doc.before + 1}
		raw, err := yaml.YAMLToJSONStrict(doc.text)
		if err != nil {
			faults = append(faults, syntaxFault(at, doc, err))
			continue
		}
		o, f := decode(raw, &Object{Source: source, Document: number, Line: firstLine(doc), tree: newTree(doc.text, doc.before)})
		objects, faults = append(objects, o...), append(faults, f...)
	}
	return objects, faults
}

func firstLine(d document) int {
	n := d.before
	for line := range bytes.Lines(d.text) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return n
		}
	}
	return d.before + 1
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// syntaxFault moves the line that the YAML reader told from the document to the file.
func syntaxFault(at Fault, doc document, err error) Fault {
	text := err.Error()
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			at.Line = doc.before + n
		}
	}
	text = text[strings.LastIndex(text, "yaml: ")+len("yaml: "):]
	text = strings.Join(strings.Fields(yamlLine.ReplaceAllString(strings.TrimPrefix(text, "unmarshal errors:"), "")), " ")
	switch {
	case strings.Contains(text, "already set in map"), strings.Contains(text, "already defined"):
		at.Message = "not valid YAML: " + text + "; keep one of the two"
	case strings.Contains(text, "tab character"), strings.Contains(text, "cannot start any token") && doc.indentedByTab():
		at.Message = "not valid YAML: " + text + "; indent with spaces"
	case strings.Contains(text, "cannot start any token"):
		at.Message = "not valid YAML: " + text + "; quote text that starts with @, ` or %"
	case strings.Contains(text, "control characters are not allowed"):
		at.Message = "not valid YAML: " + text + "; is this a text file?"
	default:
		at.Message = "not valid YAML: " + text
	}
	return at
}

// indentedByTab tells a document in which a tab stands before the first word of a line: YAML takes spaces only.
func (d document) indentedByTab() bool {
	for line := range bytes.Lines(d.text) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if bytes.ContainsRune(indent, '\t') && len(indent) < len(bytes.TrimRight(line, "\r\n")) {
			return true
		}
	}
	return false
}

// header is what every object has.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
}

func decode(raw []byte, o *Object) ([]*Object, []Fault) {
	fault := func(path, message string) []Fault {
		return []Fault{{
			Source: o.Source, Document: o.Document, Line: o.tree.line(path, o.Line), Path: path, Message: message,
		}}
	}
	var h header
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fault("", fmt.Sprintf("an object is expected (apiVersion, kind, metadata, spec), got %s", jsonKind(raw)))
	}
	// Mistyped headers are told by the typed decoding below, with the rest.
	headerErr := json.Unmarshal(raw, &h)
	switch {
	case h.APIVersion == "":
		return nil, fault("apiVersion", "missing or no text; for an InferenceService write serving.kserve.io/v1beta1")
	case h.Kind == "":
		return nil, fault("kind", "missing or no text; for example InferenceService")
	}
	if item, ok := listOf(h); ok {
		if o.inList {
			return nil, fault("kind", "a list inside a list; put its items into the outer one")
		}
		if headerErr != nil || h.Items == nil {
			return nil, fault("items", "a list of objects is expected")
		}
		return decodeList(h, item, o)
	}
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if err != nil {
		return nil, fault("apiVersion", fmt.Sprintf("%q is not group/version", h.APIVersion))
	}
	o.Kind = gv.WithKind(h.Kind)
	fresh, message := newValue(o.Kind)
	if fresh == nil {
		path := "kind"
		if strings.HasPrefix(message, "the apiVersion") {
			path = "apiVersion"
		}
		return nil, fault(path, message)
	}
	o.Name, o.Namespace = h.Metadata.Name, h.Metadata.Namespace
	if h.Kind == servingv1beta1.InferenceServiceKind {
		o.Text = raw
	}
	faults := o.decodeStrict(raw, fresh)
	if o.Name == "" && headerErr == nil {
		message := "missing"
		if h.Metadata.GenerateName != "" {
			message = "missing; generateName needs an API server, write a name"
		}
		faults = append(faults, o.Fault("metadata.name", message))
	}
	if o.Namespace == "" && !clusterScoped(o.Kind) {
		o.Namespace, o.Unplaced = DefaultNamespace, true
	}
	if o.Broken = len(faults) > 0; o.Value == nil {
		return nil, faults
	}
	return []*Object{o}, faults
}

// DefaultNamespace is where an object without a namespace is taken to be.
const DefaultNamespace = "default"

// listOf tells the kinds that hold other objects: List, and the one of each known kind. item is the kind of the items where the list
// says it.
func listOf(h header) (item string, ok bool) {
	if h.Kind == "List" {
		return "", true
	}
	item, ok = strings.CutSuffix(h.Kind, "List")
	gv, err := schema.ParseGroupVersion(h.APIVersion)
	if !ok || err != nil {
		return "", false
	}
	_, ok = kinds()[gv.WithKind(item)]
	return item, ok
}

func decodeList(list header, kind string, o *Object) ([]*Object, []Fault) {
	var objects []*Object
	var faults []Fault
	for i, raw := range list.Items {
		if kind != "" {
			raw = withKind(raw, list.APIVersion, kind)
		}
		at := &Object{
			Source: o.Source, Document: o.Document, Line: o.tree.line(fmt.Sprintf("items[%d]", i), o.Line), inList: true,
		}
		made, f := decode(raw, at)
		for j := range f {
			f[j].Path = strings.TrimSuffix(fmt.Sprintf("items[%d].%s", i, f[j].Path), ".")
			f[j].Line = o.tree.line(f[j].Path, f[j].Line)
		}
		objects, faults = append(objects, made...), append(faults, f...)
	}
	return objects, faults
}

// withKind gives an item of a typed list the kind that its list says and the item itself may leave out.
func withKind(raw json.RawMessage, apiVersion, kind string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil || fields["kind"] != nil || fields["apiVersion"] != nil {
		return raw
	}
	fields["kind"], _ = json.Marshal(kind)
	fields["apiVersion"], _ = json.Marshal(apiVersion)
	out, err := json.Marshal(fields)
	if err != nil {
		return raw
	}
	return out
}

func jsonKind(raw []byte) string {
	switch {
	case len(raw) == 0, bytes.Equal(raw, []byte("null")):
		return "nothing"
	case raw[0] == '[':
		return "a list"
	case raw[0] == '"':
		return "a text"
	default:
		return "a plain value"
	}
}
