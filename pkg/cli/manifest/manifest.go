// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest reads the objects that a person wrote, from YAML and JSON files, and says where every fault in them is.
//
// Called by: cli/inspect, cli/run.
// Next: control/resolve, which plans what the objects ask for.
package manifest

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MaxBytes bounds one file: a thousand times the largest object that an API server takes would still be a mistake.
const MaxBytes = 32 << 20

// Object is one decoded document.
type Object struct {
	Source   string // the file as the person named it, or "stdin"
	Document int    // counted from 1
	Line     int    // where the document starts, counted from 1

	Kind      schema.GroupVersionKind
	Namespace string
	Name      string

	// Value is a pointer to the API type of Kind.
	Value any
	// Broken says that parts of what was written are not in Value, and are told as faults.
	Broken bool
	// Unplaced says that no namespace was written.
	Unplaced bool
	// Text is an InferenceService as it was written, in JSON: Value does not tell what was left out from what is empty. Of others it is nil.
	Text []byte

	tree   *tree
	inList bool
}

// ID names the object as kubectl does, with its namespace where that is not the default one.
func (o *Object) ID() string {
	id := strings.ToLower(o.Kind.Kind)
	if o.Name != "" {
		id += "/" + o.Name
	}
	if o.Namespace != "" && o.Namespace != DefaultNamespace {
		id = o.Namespace + "/" + id
	}
	return id
}

// Fault makes a fault of this object at a field path, with the line of the deepest part of the path that the file has.
func (o *Object) Fault(path, message string) Fault {
	return Fault{
		Source: o.Source, Document: o.Document, Line: o.tree.line(path, o.Line), Object: o.ID(),
		Path: path, Message: message,
	}
}

// Fault is one thing that a person has to change.
type Fault struct {
	Source   string `json:"source"`
	Document int    `json:"document,omitempty"`
	Line     int    `json:"line,omitempty"`
	Object   string `json:"object,omitempty"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
}

// String is one line: where, what, and what to do. What a file holds is shown, never obeyed: control characters are escaped, long
// names cut.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Source)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Document > 0 {
		fmt.Fprintf(&b, " (document %d)", f.Document)
	}
	b.WriteString(": ")
	if f.Object != "" {
		b.WriteString(clip(f.Object) + ": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	b.WriteString(f.Message)
	return printable(b.String())
}

// maxName is how much of a name a fault shows; a valid one is shorter.
const maxName = 128

func clip(name string) string {
	if runes := []rune(name); len(runes) > maxName {
		return string(runes[:maxName]) + "…"
	}
	return name
}

// printable writes every character that a terminal would not show as a Go escape.
func printable(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

// Load reads the named files; a folder stands for the .yaml, .yml and .json files directly in it, "-" for stdin.
// Objects come in the order of files and documents. A file that is named twice, or that a named folder holds too, is read once.
// Nothing stops at the first fault.
func Load(stdin io.Reader, paths []string) ([]*Object, []Fault) {
	objects, faults := LoadAll(stdin, paths)
	return sound(objects), faults
}

// LoadAll is Load with the objects of which only parts can be read. They are for telling more faults, and for nothing else.
func LoadAll(stdin io.Reader, paths []string) ([]*Object, []Fault) {
	var objects []*Object
	var faults []Fault
	usedStdin := false
	var seen []os.FileInfo
	for _, path := range paths {
		if path == "-" {
			if usedStdin {
				faults = append(faults, Fault{Source: "stdin", Message: `"-" is given twice, and stdin can be read once only`})
				continue
			}
			usedStdin = true
			o, f := read("stdin", stdin)
			objects, faults = append(objects, o...), append(faults, f...)
			continue
		}
		files, err := expand(path)
		if err != nil {
			faults = append(faults, Fault{Source: path, Message: err.Error()})
			continue
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				if slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
					continue
				}
				seen = append(seen, info)
			}
			o, f := readFile(file)
			objects, faults = append(objects, o...), append(faults, f...)
		}
	}
	faults = append(faults, duplicates(objects)...)
	Sort(faults)
	return objects, faults
}

// Sort orders faults as they stand in the files.
func Sort(faults []Fault) {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line))
	})
}

func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read: %s", reason(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read: %s", reason(err))
	}
	var files []string
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".yaml", ".yml", ".json":
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			// A link counts as what it leads to; reading a pipe or a device would hang.
			name := filepath.Join(path, e.Name())
			if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("this folder has no .yaml, .yml or .json file directly in it; name the files or the folder that holds them")
	}
	return files, nil
}

// reason is the last part of a file error: the path is told before it already.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

func readFile(path string) ([]*Object, []Fault) {
	f, err := os.Open(path)
	if err != nil {
		return nil, []Fault{{Source: path, Message: "read: " + reason(err)}}
	}
	defer f.Close()
	return read(path, f)
}

func read(source string, r io.Reader) ([]*Object, []Fault) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, []Fault{{Source: source, Message: "read: " + reason(err)}}
	case len(data) > MaxBytes:
		return nil, []Fault{{Source: source, Message: fmt.Sprintf("larger than %d bytes: this is no file of objects", MaxBytes)}}
	}
	objects, faults := ParseAll(source, data)
	if len(objects) == 0 && len(faults) == 0 {
		faults = append(faults, Fault{Source: source, Message: "holds no object"})
	}
	return objects, faults
}

func duplicates(objects []*Object) []Fault {
	seen := map[string]*Object{}
	var faults []Fault
	for _, o := range objects {
		if o.Name == "" {
			continue
		}
		key := o.Kind.GroupKind().String() + " " + o.Namespace + "/" + o.Name
		if first, ok := seen[key]; ok {
			faults = append(faults, o.Fault("metadata.name", fmt.Sprintf(
				"the same object is in %s, line %d, too; remove one or rename it", first.Source, first.Line)))
			continue
		}
		seen[key] = o
	}
	return faults
}
