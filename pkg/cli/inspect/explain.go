// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"
	"io"

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
	Blocked   *Blocked   `json:"blocked,omitempty"`
}

// Decision is one choice with its reason and what was not chosen.
type Decision struct {
	Subject  string      `json:"subject"`
	Role     string      `json:"role,omitempty"`
	Chosen   string      `json:"chosen"`
	Why      string      `json:"why"`
	Rejected []Rejection `json:"rejected,omitempty"`
}

// Rejection is a candidate that was not chosen.
type Rejection struct {
	Name string `json:"name"`
	Why  string `json:"why"`
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
		Example: `  kserve explain -f deploy/samples/sklearn-iris.yaml
  kserve explain -f isvc.yaml -o json | jq '.[].decisions[] | select(.subject == "runtime")'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.take(args); err != nil {
				return err
			}
			return explainAll(o, streams)
		},
	}
	o.bind(cmd, output.Table)
	return cmd
}

func explainAll(o options, streams output.Streams) error {
	world, err := read(streams, o.files)
	if err != nil {
		return err
	}
	all := []Explanation{}
	blocked := false
	for _, item := range world.Items() {
		e := explain(world, item)
		blocked = blocked || e.Blocked != nil
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
	if blocked {
		return exit.Silent(exit.Invalid)
	}
	return nil
}

func explain(world *offline.World, item offline.Item) Explanation {
	e := Explanation{Kind: item.Object.Kind.Kind, Name: item.Object.Namespace + "/" + item.Object.Name}
	p, err := item.Plan()
	var decisions []plan.Decision
	if err == nil {
		decisions = p.Decisions
		var objects []plan.Object
		if objects, err = render.Objects(p, world.Settings); err == nil {
			for _, obj := range objects {
				e.Objects = append(e.Objects, obj.GetObjectKind().GroupVersionKind().Kind+" "+obj.GetName())
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
	}
	for _, d := range decisions {
		out := Decision{Subject: d.Subject, Role: string(d.Role), Chosen: d.Chosen, Why: d.Why}
		for _, r := range d.Rejected {
			out.Rejected = append(out.Rejected, Rejection(r))
		}
		e.Decisions = append(e.Decisions, out)
	}
	return e
}

// printExplanations prints a paragraph per decision: reasons are sentences, and sentences do not fit columns.
func printExplanations(w io.Writer, all []Explanation) error {
	paint := output.NewPaint(w)
	for i, e := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, e.Kind, e.Name)
		for _, d := range e.Decisions {
			subject := d.Subject
			if d.Role != "" && d.Role != "predictor" {
				subject = d.Role + " " + subject
			}
			chosen := d.Chosen
			if chosen == "" {
				chosen = paint.Bad("nothing")
			}
			fmt.Fprintf(w, "  %-10s %s\n", subject, paint.Good(chosen))
			fmt.Fprintf(w, "  %-10s because: %s\n", "", d.Why)
			for _, r := range d.Rejected {
				fmt.Fprintf(w, "  %-10s %s\n", "", paint.Dim("not "+r.Name+": "+r.Why))
			}
		}
		if len(e.Objects) > 0 {
			fmt.Fprintf(w, "  %-10s %s\n", "objects", e.Objects[0])
			for _, obj := range e.Objects[1:] {
				fmt.Fprintf(w, "  %-10s %s\n", "", obj)
			}
		}
		if e.Blocked != nil {
			if _, err := fmt.Fprintf(w, "  %-10s %s: %s\n", paint.Bad("blocked"), e.Blocked.Reason, e.Blocked.Message); err != nil {
				return err
			}
		}
	}
	return nil
}
