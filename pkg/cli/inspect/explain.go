// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/offline"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/render"
)

// Explanation is what explain prints for one service or graph.
type Explanation struct {
	Kind      string     `json:"kind"`
	Name      string     `json:"name"`
	Decisions []Decision `json:"decisions"`
	Objects   []string   `json:"objects,omitempty"`
	// Notes are about what is accepted and has no effect, or not the one that was meant.
	Notes   []string `json:"notes,omitempty"`
	Blocked *Blocked `json:"blocked,omitempty"`
}

// Decision is one choice with its reason and what was not chosen.
type Decision struct {
	Subject string `json:"subject"`
	Role    string `json:"role,omitempty"`
	// Workload is the name of the component that it is about; empty for the whole service.
	Workload string      `json:"workload,omitempty"`
	Chosen   string      `json:"chosen"`
	Why      string      `json:"why"`
	Rejected []Rejection `json:"rejected,omitempty"`
}

// Rejection is a candidate that was not chosen.
type Rejection struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Unrelated candidates are for something else altogether.
	Unrelated bool `json:"unrelated,omitempty"`
}

// Blocked is why nothing can be made of a service.
type Blocked struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ExplainCommand is `kserve explain`.
func ExplainCommand(streams output.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "explain -f FILE...",
		Short: "Tell why each service gets its runtime, mode, storage and URL, and why not the others",
		Long: `Tell each decision that the controller would take about the services and graphs of files, with its reason and what was not chosen.

Without --cluster the shipped settings and runtimes stand for those that the files do not hold. With it they are taken from the cluster, and so
are storage containers, service accounts and secrets: only what the services need is read, and nothing is written. What may not be read is
told, and ends the command with 1 only where the answer hangs on it.`,
		Example: `  kserve explain -f deploy/samples/sklearn-iris.yaml
  kserve explain -f isvc.yaml --cluster -n models
  kserve explain -f isvc.yaml -o json | jq '.[].decisions[] | select(.subject == "runtime")'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.take(args); err != nil {
				return err
			}
			return explainAll(cmd.Context(), o, streams)
		},
	}
	o.bind(cmd, output.Table)
	return cmd
}

func explainAll(ctx context.Context, o options, streams output.Streams) error {
	world, err := o.read(ctx, streams)
	if err != nil {
		return err
	}
	all := []Explanation{}
	code := exit.OK
	for _, item := range world.items() {
		e, err := explain(ctx, world, item)
		if err != nil {
			return err
		}
		switch {
		case e.Blocked == nil:
		case e.Blocked.Reason == reasonUnread:
			code = max(code, exit.Failed)
		default:
			code = exit.Invalid
		}
		all = append(all, e)
	}
	if o.output != output.Table {
		err = output.Write(streams.Out, o.output, all)
	} else {
		err = printExplanations(streams.Out, all)
	}
	if err != nil {
		return err
	}
	if code != exit.OK {
		return exit.Silent(code)
	}
	return nil
}

// reasonUnread is of what cannot be told because something may not be read.
const reasonUnread = "NotReadable"

func explain(ctx context.Context, world *source, item offline.Item) (Explanation, error) {
	e := Explanation{Kind: item.Object.Kind.Kind, Name: item.Object.Namespace + "/" + item.Object.Name}
	e.Notes = world.notes(item.Object)
	for _, w := range world.Warnings() {
		if w.Object == item.Object {
			e.Notes = append(e.Notes, w.Field+": "+w.Detail)
		}
	}
	p, err := item.Plan()
	var decisions []plan.Decision
	if err == nil {
		decisions = p.Decisions
		for _, w := range world.modelWarnings(item.Object, p) {
			e.Notes = append(e.Notes, w.Field+": "+w.Detail)
		}
		for _, u := range p.Unplanned {
			e.Notes = append(e.Notes, fmt.Sprintf("spec.canary[%d]: %v; the other predictors are made without it", u.Index, u.Why))
		}
		var objects []plan.Object
		if objects, err = render.Objects(p, world.Settings); err == nil {
			for _, obj := range objects {
				e.Objects = append(e.Objects, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
			}
			lacking, err := world.lacks(ctx, objects)
			if err != nil {
				return e, err
			}
			if len(lacking) > 0 {
				e.Blocked = &Blocked{Reason: "KindMissing", Message: strings.Join(lacking, "; ")}
			}
		}
	}
	if err != nil {
		e.Blocked = &Blocked{Reason: "Blocked", Message: err.Error()}
		var b *plan.Blocked
		var waiting *plan.Waiting
		switch {
		case errors.As(err, &b):
			e.Blocked = &Blocked{Reason: b.Reason, Message: b.Message}
			if p == nil {
				decisions = b.Decisions
			}
		case errors.As(err, &waiting):
			e.Blocked = &Blocked{Reason: waiting.Reason, Message: waiting.Message}
		}
		if cannot := world.cannotTell(err); cannot != nil {
			e.Blocked = &Blocked{Reason: reasonUnread, Message: cannot.Error()}
		}
	}
	for _, d := range decisions {
		out := Decision{Subject: d.Subject, Role: string(d.Role), Workload: d.Workload, Chosen: d.Chosen, Why: asWritten(item.Object, d)}
		for _, r := range d.Rejected {
			out.Rejected = append(out.Rejected, Rejection(r))
		}
		e.Decisions = append(e.Decisions, out)
	}
	return e, nil
}

// printExplanations prints a tree: what concerns the whole service, then its components, each with its decisions. Reasons are sentences, and
// sentences do not fit columns, so that each has a line of its own.
func printExplanations(w io.Writer, all []Explanation) error {
	paint := output.NewPaint(w)
	for i := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := io.WriteString(w, all[i].tree(paint)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Explanation) tree(paint output.Paint) string {
	var b strings.Builder
	fmt.Fprintln(&b, e.Kind, e.Name)
	workload, last := "", ""
	for i := range e.Decisions {
		d := &e.Decisions[i]
		indent := "  "
		if d.Workload != "" {
			if d.Workload != workload {
				fmt.Fprintf(&b, "  %s\n", output.Line(d.Workload))
			}
			indent = "    "
		}
		if d.Workload != workload {
			workload, last = d.Workload, ""
		}
		subject := d.Subject
		if subject == last {
			subject = ""
		}
		last = d.Subject
		d.print(&b, indent, subject, paint)
	}
	for i, o := range e.Objects {
		subject := ""
		if i == 0 {
			subject = "objects"
		}
		fmt.Fprintf(&b, "  %-12s %s\n", subject, output.Line(o))
	}
	for _, n := range e.Notes {
		fmt.Fprintf(&b, "  %s %s\n", paint.Busy(fmt.Sprintf("%-12s", "note")), output.Text(n))
	}
	if e.Blocked != nil {
		fmt.Fprintf(&b, "  %s %s: %s\n", paint.Bad(fmt.Sprintf("%-12s", "blocked")), e.Blocked.Reason, output.Text(e.Blocked.Message))
	}
	return b.String()
}

// print is one decision, its reason, and what was not chosen. What is for something else altogether is counted only.
func (d *Decision) print(w io.Writer, indent, subject string, paint output.Paint) {
	width := 14 - len(indent)
	line := func(head, text string) { fmt.Fprintf(w, "%s%-*s %s\n", indent, width, head, text) }
	chosen := paint.Good(output.Line(d.Chosen))
	if d.Chosen == "" {
		chosen = paint.Bad("nothing")
	}
	line(subject, chosen)
	line("", "because: "+output.Text(d.Why))
	unrelated := 0
	for _, r := range d.Rejected {
		if r.Unrelated {
			unrelated++
			continue
		}
		line("", paint.Dim("not "+output.Line(r.Name)+": "+output.Text(r.Why)))
	}
	if unrelated > 0 {
		line("", paint.Dim("not "+count(unrelated, "other, which is for another format", "others, which are for other formats")+" (-o yaml lists them)"))
	}
}
