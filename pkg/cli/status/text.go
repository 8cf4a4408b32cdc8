// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// text is a line for each service.
func (l Lines) text(output.Paint) (string, error) {
	if len(l) == 0 {
		return "no InferenceService\n", nil
	}
	rows := make([][]string, 0, len(l))
	for _, s := range l {
		why := s.Reason
		if s.Message != "" {
			why = strings.TrimPrefix(why+": ", ": ") + s.Message
		}
		rows = append(rows, []string{s.Namespace, s.Name, s.Ready, s.Age, cmp.Or(s.URL, "-"), why})
	}
	var b bytes.Buffer
	err := output.Rows(&b, []string{"NAMESPACE", "NAME", "READY", "AGE", "URL", "WHY"}, rows)
	return b.String(), err
}

// text is the whole screen of one service.
func (s *Service) text(paint output.Paint) (string, error) {
	var b bytes.Buffer
	s.head(&b, paint)
	fmt.Fprintln(&b)
	if err := s.conditions(&b, paint); err != nil {
		return "", err
	}
	s.causes(&b, paint)
	if err := s.pods(&b); err != nil {
		return "", err
	}
	for _, p := range s.Pods {
		p.log(&b, paint)
	}
	if len(s.Warnings) > 0 {
		fmt.Fprintln(&b, "\nlatest warnings")
		for _, w := range s.Warnings {
			fmt.Fprintln(&b, "  "+output.Line(w))
		}
	}
	if len(s.Hidden) > 0 {
		fmt.Fprintln(&b, "\nnot shown, for lack of a right")
		for _, h := range s.Hidden {
			fmt.Fprintln(&b, "  "+output.Line(h))
		}
	}
	return b.String(), nil
}

// head tells the service, where it is, and what serves it.
func (s *Service) head(w io.Writer, paint output.Paint) {
	state := paint.Bad("not ready")
	switch {
	case s.Stale:
		state = paint.Busy("its latest change is not looked at yet")
	case s.Ready == "True":
		state = paint.Good("ready")
	case s.Ready == "Unknown":
		state = paint.Busy("not known yet")
	}
	fmt.Fprintf(w, "InferenceService %s/%s: %s\n", s.Namespace, s.Name, state)
	st := s.Status
	row := func(what, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-9s %s\n", what, output.Line(value))
		}
	}
	row("url", st.URL)
	if st.Address != nil {
		row("address", st.Address.URL)
	}
	row("mode", string(st.DeploymentMode))
	row("runtime", cmp.Or(st.ServingRuntimeName, st.ClusterServingRuntimeName))
	if m := st.ModelStatus; m.TransitionStatus != "" {
		model := string(m.TransitionStatus)
		if m.ModelRevisionStates != nil {
			model += fmt.Sprintf(" (serving: %s, latest: %s)", cmp.Or(string(m.ModelRevisionStates.ActiveModelState), "nothing"), cmp.Or(string(m.ModelRevisionStates.TargetModelState), "nothing"))
		}
		if m.ModelCopies != nil && m.ModelCopies.FailedCopies > 0 {
			model += ", copies that failed: " + strconv.Itoa(m.ModelCopies.FailedCopies)
		}
		row("model", model)
	}
}

// conditions is the table of all of them; a true one has nothing to add.
func (s *Service) conditions(w io.Writer, paint output.Paint) error {
	rows := make([][]string, 0, len(s.Status.Conditions))
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		rows = append(rows, []string{string(c.Type), string(c.Status), age(s.now, c.LastTransitionTime.Time), c.Reason})
	}
	if len(rows) == 0 {
		fmt.Fprintln(w, paint.Busy("no condition yet: the controller has not looked at it; kserve local logs controller, or the log of kserve-controller-manager, tells why"))
		return nil
	}
	return output.Rows(w, []string{"CONDITION", "STATUS", "SINCE", "REASON"}, rows)
}

// causes are the sentences of the conditions that are not true, each once: what is wrong, whether it is tried again, what to do.
func (s *Service) causes(w io.Writer, paint output.Paint) {
	told := map[string]bool{}
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		off := c.Status == corev1.ConditionTrue || c.Type == serving.ConditionType("Stopped")
		if off || c.Message == "" || told[c.Message] {
			continue
		}
		if len(told) == 0 {
			fmt.Fprintln(w, "\nwhy")
		}
		told[c.Message] = true
		fmt.Fprintln(w, "  "+paint.Bad(output.Line(cmp.Or(c.Reason, string(c.Type))))+": "+output.Line(c.Message))
	}
}

func (s *Service) pods(w io.Writer) error {
	if len(s.Pods) == 0 {
		return nil
	}
	rows := make([][]string, 0, len(s.Pods))
	for _, p := range s.Pods {
		ready := "no"
		if p.Ready {
			ready = "yes"
		}
		rows = append(rows, []string{p.Name, ready, strconv.FormatInt(p.Restarts, 10), cmp.Or(p.Node, "-"), p.State})
	}
	fmt.Fprintln(w)
	return output.Rows(w, []string{"POD", "READY", "RESTARTS", "NODE", "STATE"}, rows)
}

// log is what the container that fails said last.
func (p *Pod) log(w io.Writer, paint output.Paint) {
	switch {
	case p.Container == "":
		return
	case p.LogFault != "":
		fmt.Fprintf(w, "\nno log of %s, container %s: %s\n", p.Name, p.Container, output.Line(p.LogFault))
		return
	case len(p.Log) == 0:
		return
	}
	run := ""
	if p.Suspect.Previous {
		run = ", before it was started again"
	}
	fmt.Fprintf(w, "\nlast lines of %s, container %s%s\n", p.Name, p.Container, run)
	for _, line := range p.Log {
		fmt.Fprintln(w, paint.Dim("  "+output.Line(line)))
	}
}
