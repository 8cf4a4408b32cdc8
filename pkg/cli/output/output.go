// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints what the commands found, as a table for a person or as JSON or YAML for a program.
//
// Called by: cli/inspect, cli/predict, cli/run.
// Next: nothing; the text is the end of the way.
package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
	"sigs.k8s.io/yaml"
)

// Streams are where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// Format is how a command prints its answer.
type Format string

// The formats.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// String, Set and Type make Format a flag that refuses other words when flags are parsed.
func (f *Format) String() string { return string(*f) }

// Set takes the flag's value.
func (f *Format) Set(value string) error {
	switch Format(value) {
	case Table, JSON, YAML:
		*f = Format(value)
		return nil
	default:
		return fmt.Errorf("%q is none of table, json, yaml", value)
	}
}

// Type is the placeholder in --help.
func (f *Format) Type() string { return "table|json|yaml" }

// Write prints value as JSON or YAML.
func Write(w io.Writer, format Format, value any) error {
	var text []byte
	var err error
	if format == YAML {
		text, err = yaml.Marshal(value)
	} else {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(value)
		text = buf.Bytes()
	}
	if err != nil {
		return fmt.Errorf("print as %s: %w", format, err)
	}
	_, err = w.Write(text)
	return err
}

// Rows prints aligned columns. Every cell is made one line without control characters.
func Rows(w io.Writer, header []string, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		if row == nil {
			continue
		}
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = Line(c)
		}
		if _, err := fmt.Fprintln(tw, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// Line is text that others wrote, for a terminal: one line without control characters.
func Line(text string) string { return plain(text, false) }

// Text is the same for text of several lines.
func Text(text string) string { return plain(text, true) }

// Clip cuts a text that is longer than a screen has room for, and says how much is missing.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return fmt.Sprintf("%s… (%d bytes more)", text[:most], len(text)-most)
}

// plain takes out what a terminal would obey, among it what turns the direction of writing.
func plain(text string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case r == '\t' || r == '\n':
			return ' '
		case !strconv.IsPrint(r):
			return -1
		}
		return r
	}, text)
}

// IsTerminal reports whether w is a terminal that a person looks at.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Size is how many columns and rows the terminal w has; 0 when it is none.
func Size(w io.Writer) (columns, rows int) {
	if f, ok := w.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, rows
		}
	}
	return 0, 0
}

// Paint colours text when its writer is a terminal and NO_COLOR is not set.
type Paint struct{ on bool }

// NewPaint makes the Paint for w.
func NewPaint(w io.Writer) Paint {
	_, off := os.LookupEnv("NO_COLOR")
	return Paint{on: !off && IsTerminal(w)}
}

// Good is for what went well.
func (p Paint) Good(s string) string { return p.paint("32", s) }

// Bad is for failures.
func (p Paint) Bad(s string) string { return p.paint("31", s) }

// Busy is for what is still going on.
func (p Paint) Busy(s string) string { return p.paint("33", s) }

// Dim is for what matters less.
func (p Paint) Dim(s string) string { return p.paint("2", s) }

func (p Paint) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
