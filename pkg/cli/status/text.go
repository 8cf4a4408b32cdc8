// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// How much of one text a screen has room for.
const (
	widthOfWhy   = 400
	widthOfField = 300
)

// text is a line for each service.
func (l Lines) text(output.Paint) (string, error) {
	if len(l) == 0 {
		return "no InferenceService\n", nil
	}
	header := []string{"NAMESPACE", "NAME", "READY", "AGE", "URL", "WHY"}
	canaries := slices.ContainsFunc(l, func(s Line) bool { return len(s.Canaries) > 0 })
	if canaries {
		header = slices.Insert(header, 5, "CANARIES")
	}
	rows := make([][]string, 0, len(l))
	for _, s := range l {
		row := []string{s.Namespace, s.Name, s.Ready, s.Age, cmp.Or(output.Clip(s.URL, widthOfField), "-"), output.Clip(s.Why(), widthOfWhy)}
		if canaries {
			row = slices.Insert(row, 5, cmp.Or(strings.Join(s.Canaries, ", "), "-"))
		}
		rows = append(rows, row)
	}
	var b bytes.Buffer
	err := output.Rows(&b, header, rows)
	return b.String(), err
}

// text is the whole screen of one service.
func (s *Service) text(paint output.Paint) (string, error) {
	var b bytes.Buffer
	s.title(&b, paint)
	s.head(&b)
	fmt.Fprintln(&b)
	if err := s.conditions(&b); err != nil {
		return "", err
	}
	if err := s.canaries(&b, paint); err != nil {
		return "", err
	}
	var told told
	s.causes(&b, paint, &told)
	if err := s.pods(&b, &told, func(Pod) bool { return true }); err != nil {
		return "", err
	}
	if err := s.words(&b, paint, &told); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Brief prints what is wrong and what is known about it: what a command that is about something else has to say about a service.
func (s *Service) Brief(w io.Writer) error {
	paint := output.NewPaint(w)
	var told told
	s.title(w, paint)
	s.causes(w, paint, &told)
	if err := s.pods(w, &told, func(p Pod) bool { return !p.Ready }); err != nil {
		return err
	}
	return s.words(w, paint, &told)
}

// words are what others said: containers, events, and the API server about what is not shown.
func (s *Service) words(w io.Writer, paint output.Paint, told *told) error {
	for _, p := range s.Pods {
		p.log(w, paint)
	}
	if err := s.warnings(w, told); err != nil {
		return err
	}
	if len(s.Hidden) > 0 {
		fmt.Fprintln(w, "\nnot shown")
	}
	for _, one := range s.Hidden {
		fmt.Fprintln(w, "  "+output.Line(output.Clip(one, widthOfWhy)))
	}
	return nil
}

// lead is how long before a service's readiness changed that which changed it may have happened.
const lead = time.Minute

// warnings are events with their ages. Those of a time before the service's readiness changed are told apart: what they say may be settled.
func (s *Service) warnings(w io.Writer, told *told) error {
	var since time.Time
	for i := range s.Status.Conditions {
		if c := &s.Status.Conditions[i]; c.Type == serving.ConditionReady {
			since = c.LastTransitionTime.Time
		}
	}
	var latest, past [][]string
	for _, one := range s.Warnings {
		row := []string{"  " + cmp.Or(age(s.now, one.Time), "-"), output.Clip(one.String(), widthOfWhy)}
		switch {
		case told.before(one.Message):
		case one.Time.Before(since.Add(-lead)):
			past = append(past, row)
		default:
			latest = append(latest, row)
		}
		told.add(one.Message)
	}
	list := func(title string, rows [][]string) error {
		if len(rows) == 0 {
			return nil
		}
		fmt.Fprintln(w, "\n"+title)
		return output.Rows(w, nil, rows)
	}
	if err := list("latest warnings", latest); err != nil {
		return err
	}
	return list("earlier warnings, from before its readiness changed", past)
}

// title is the service and how it is.
func (s *Service) title(w io.Writer, paint output.Paint) {
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
}

// head tells where it is, and what serves it.
func (s *Service) head(w io.Writer) {
	st := s.Status
	row := func(what, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-9s %s\n", what, output.Line(output.Clip(value, widthOfField)))
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

// conditions is the table of all of them, Ready first, then what explains most; a true one has nothing to add.
func (s *Service) conditions(w io.Writer) error {
	all := slices.Clone(s.Status.Conditions)
	if len(all) == 0 {
		return nil // the causes say so
	}
	place := func(c serving.Condition) int {
		if c.Type == serving.ConditionReady {
			return -1
		}
		return live.Depth(string(c.Type), string(c.Status))
	}
	slices.SortStableFunc(all, func(x, y serving.Condition) int { return cmp.Compare(place(x), place(y)) })
	rows := make([][]string, 0, len(all))
	for i := range all {
		c := &all[i]
		rows = append(rows, []string{string(c.Type), string(c.Status), age(s.now, c.LastTransitionTime.Time), output.Clip(c.Reason, widthOfField)})
	}
	return output.Rows(w, []string{"CONDITION", "STATUS", "SINCE", "REASON"}, rows)
}

// canaries is the table of the canary predictors: what each asks for, what it gets, and what its measurements say.
func (s *Service) canaries(w io.Writer, paint output.Paint) error {
	if len(s.Status.CanaryStatuses) == 0 {
		return nil
	}
	percent := func(n int32) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprintf("%d%%", n)
	}
	rows := make([][]string, 0, len(s.Status.CanaryStatuses))
	for i := range s.Status.CanaryStatuses {
		c := &s.Status.CanaryStatuses[i]
		row := []string{c.Name, yesNo(c.Ready), percent(c.TrafficPercent), "-", percent(c.ShadowPercent), "-", ""}
		if c.Weight != nil {
			row[3] = fmt.Sprintf("%d%%", *c.Weight)
		}
		if a := c.Analysis; a != nil {
			row[5], row[6] = verdict(a), age(s.now, a.Since.Time)
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(w)
	if err := output.Rows(w, []string{"CANARY", "READY", "ASKED", "WEIGHT", "SHADOW", "VERDICT", "SINCE"}, rows); err != nil {
		return err
	}
	for i := range s.Status.CanaryStatuses {
		canaryWords(w, paint, &s.Status.CanaryStatuses[i])
	}
	return nil
}

// verdict is what the analysis says in a few words.
func verdict(a *servingv1beta1.CanaryAnalysisStatus) string {
	words := string(a.Verdict)
	if a.Failures > 0 && a.Verdict != servingv1beta1.CanaryRolledBack {
		words += fmt.Sprintf(", failed looks in a row: %d", a.Failures)
	}
	return words
}

// canaryWords are why a canary does not get its share, and the measurements that decided.
func canaryWords(w io.Writer, paint output.Paint, c *servingv1beta1.CanaryStatus) {
	told := ""
	say := func(reason, message string) {
		if message == "" || strings.Contains(told, message) {
			return
		}
		told += message + "\n"
		fmt.Fprintf(w, "  %s: %s\n", output.Line(c.Name), output.Line(output.Clip(strings.TrimPrefix(reason+": "+message, ": "), widthOfWhy)))
	}
	say(c.Reason, c.Message)
	if f := c.ModelStatus.LastFailureInfo; f != nil {
		say(string(f.Reason), f.Message)
	}
	if c.Analysis == nil {
		return
	}
	say(c.Analysis.Reason, c.Analysis.Message)
	for _, m := range c.Analysis.Measurements {
		mark := paint.Good
		if !m.Passed {
			mark = paint.Bad
		}
		line := output.Line(output.Clip(m.Name+" "+m.Value, widthOfField))
		if m.Wanted != "" {
			line += ", wanted " + output.Line(output.Clip(m.Wanted, widthOfField))
		}
		fmt.Fprintf(w, "  %s: measured %s\n", output.Line(c.Name), mark(line))
	}
}

// causes are what is wrong, whether it is tried again, what to do: what explains most first.
func (s *Service) causes(w io.Writer, paint output.Paint, told *told) {
	if len(s.Causes) > 0 {
		fmt.Fprintln(w, "\nwhy")
	}
	for _, c := range s.Causes {
		text := output.Line(c.String())
		if reason := output.Line(c.Reason); reason != "" && strings.HasPrefix(text, reason) {
			text = paint.Bad(reason) + strings.TrimPrefix(text, reason)
		}
		fmt.Fprintln(w, "  "+text)
		told.add(c.String())
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (s *Service) pods(w io.Writer, told *told, shown func(Pod) bool) error {
	var rows [][]string
	for _, p := range s.Pods {
		if shown(p) {
			rows = append(rows, []string{p.Name, yesNo(p.Ready), strconv.FormatInt(p.Restarts, 10), cmp.Or(p.Node, "-"), told.state(p.State)})
		}
	}
	if len(rows) == 0 {
		return nil
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
		fmt.Fprintln(w, paint.Dim("  "+output.Line(output.Clip(line, widthOfWhy))))
	}
}
