// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// add takes a change; an empty one is an object that stays as it is.
func (s *Service) add(c Change) {
	if c.Verb == "" {
		s.Unchanged++
		return
	}
	s.Restarts = s.Restarts || c.restarts
	s.Changes = append(s.Changes, c)
}

func (s *Service) sort() {
	slices.SortFunc(s.Changes, func(a, b Change) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
}

// printer prints services as they are compared, for a person, or all at the end, for a program.
type printer struct {
	out    io.Writer
	format output.Format
	paint  output.Paint
	all    []*Service // for a program only

	compared, changed, blocked, failed, restarts int
}

func newPrinter(out io.Writer, format output.Format) *printer {
	return &printer{out: out, format: format, paint: output.NewPaint(out), all: []*Service{}}
}

func (p *printer) service(s *Service) error {
	p.compared++
	switch {
	case s.Blocked != "":
		p.blocked++
	case slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Verb != Later }):
		p.changed++
	}
	if s.Restarts {
		p.restarts++
	}
	if slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Verb == Fail }) {
		p.failed++
	}
	if p.format != output.Table {
		p.all = append(p.all, s)
		return nil
	}
	_, err := io.WriteString(p.out, p.text(s))
	return err
}

// text is one service: a headline, then each change with its lines.
func (p *printer) text(s *Service) string {
	var b strings.Builder
	switch {
	case s.Blocked != "":
		fmt.Fprintf(&b, "%s: %s %s\n", s.name(), p.paint.Busy("stays as it is:"), output.Text(s.Blocked))
		return b.String()
	case len(s.Changes) == 0:
		fmt.Fprintf(&b, "%s: %s\n", s.name(), p.paint.Good("no difference"))
		return b.String()
	}
	pods := "no pod restarts"
	if s.Restarts {
		pods = p.paint.Bad("pods restart")
	}
	fmt.Fprintf(&b, "%s: %s, %s\n", s.name(), counted(s), pods)
	for _, c := range s.Changes {
		verb := p.paint.Busy(c.Verb)
		switch c.Verb {
		case Create:
			verb = p.paint.Good(c.Verb)
		case Delete, Fail:
			verb = p.paint.Bad(c.Verb)
		}
		fmt.Fprintf(&b, "  %s %s %s", verb, c.Kind, c.Name)
		if c.Message != "" {
			fmt.Fprintf(&b, ": %s", output.Text(c.Message))
		}
		b.WriteByte('\n')
		if c.Verb == Delete || c.Verb == Later {
			continue // its lines say nothing new
		}
		for line := range strings.Lines(c.Diff) {
			if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") {
				continue
			}
			b.WriteString("    " + p.line(output.Line(strings.TrimRight(line, "\n"))) + "\n")
		}
	}
	return b.String()
}

func (p *printer) line(text string) string {
	switch {
	case strings.HasPrefix(text, "+"):
		return p.paint.Good(text)
	case strings.HasPrefix(text, "-"):
		return p.paint.Bad(text)
	case strings.HasPrefix(text, "@@"):
		return p.paint.Dim(text)
	}
	return text
}

// counted tells how many objects change, in words.
func counted(s *Service) string {
	n := map[string]int{}
	for _, c := range s.Changes {
		n[c.Verb]++
	}
	var parts []string
	for _, verb := range []string{Create, Later, Update, Delete, Fail} {
		if n[verb] > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n[verb], verb))
		}
	}
	if s.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", s.Unchanged))
	}
	return strings.Join(parts, ", ")
}

func (p *printer) done() error {
	if p.format != output.Table {
		return output.Write(p.out, p.format, p.all)
	}
	_, err := fmt.Fprintf(p.out, "\n%d compared: %d with differences, pods of %d restart, %d stay as they are because nothing can be made of them\n",
		p.compared, p.changed, p.restarts, p.blocked)
	return err
}
