// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// judge lists where an outcome is not as expected.
func judge(x *expected, got *outcome) []string {
	j := &judgement{got: got}
	j.refusals(x)
	j.stops(x)
	j.texts("warnings", deref(x.Warnings), got.warnings)
	if x.Warnings != nil && len(*x.Warnings) == 0 {
		for _, one := range got.warnings {
			j.say("unexpected warning: %s", one)
		}
	}
	j.texts("explained", x.Explained, got.decisions)
	j.texts("events", x.Events, got.events)
	j.parts("defaulted", x.Defaulted, got.defaulted)
	j.parts("objects", x.Objects, got.objects)
	j.pods(x.Pods)
	j.parts("status", x.Status, got.status)
	j.presence(x)
	for _, key := range slices.Sorted(maps.Keys(x.Exact)) {
		j.exact(key, x.Exact[key])
	}
	return j.out
}

func deref(p *[]string) []string {
	if p == nil {
		return nil
	}
	return *p
}

type judgement struct {
	got *outcome
	out []string
}

func (j *judgement) say(format string, args ...any) {
	j.out = append(j.out, fmt.Sprintf(format, args...))
}

func (j *judgement) refusals(x *expected) {
	if len(x.Refused) == 0 {
		for _, r := range j.got.refusals {
			j.say("refused: %s", r)
		}
		return
	}
	if len(j.got.refusals) == 0 {
		j.say("admission must refuse this, and has not")
	}
	j.texts("refused", x.Refused, j.got.refusals)
}

func (j *judgement) stops(x *expected) {
	for _, err := range j.got.stops {
		var blocked *plan.Blocked
		var waiting *plan.Waiting
		switch {
		case errors.As(err, &blocked) && x.Blocked != nil:
			j.stop(x.Blocked, blocked.Reason, blocked.Message)
		case errors.As(err, &waiting) && x.Waiting != nil:
			j.stop(x.Waiting, waiting.Reason, waiting.Message)
		default:
			j.say("cannot be planned: %v", err)
		}
	}
	if x.Blocked != nil && len(j.got.stops) == 0 {
		j.say("must be blocked with reason %s, and is planned", x.Blocked.Reason)
	}
	if x.Waiting != nil && len(j.got.stops) == 0 {
		j.say("must wait with reason %s, and is planned", x.Waiting.Reason)
	}
}

func (j *judgement) stop(want *stop, reason, message string) {
	if want.Reason != reason || !strings.Contains(message, want.Text) {
		j.say("stopped with %s: %q, expected %s: %q", reason, message, want.Reason, want.Text)
	}
}

// texts finds each wanted text in one of those that are there.
func (j *judgement) texts(what string, want, have []string) {
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.Contains(h, w) }) {
			j.say("%s: none contains %q; there is:\n    %s", what, w, strings.Join(have, "\n    "))
		}
	}
}

func ref(d doc) string {
	meta, _ := d["metadata"].(doc)
	return fmt.Sprint(d["kind"], "/", meta["name"])
}

// parts finds each wanted object, by kind and name, with what it must have. A name may be left out where there is one object.
func (j *judgement) parts(what string, want, have []doc) {
	for _, part := range want {
		meta, _ := part["metadata"].(doc)
		var found doc
		for _, d := range have {
			if ref(d) == ref(part) && sameGroup(part, d) || meta["name"] == nil && part["kind"] == nil && len(have) == 1 {
				found = d
			}
		}
		if found == nil {
			j.say("%s: there is no %s, only %s", what, ref(part), strings.Join(refs(have), ", "))
			continue
		}
		if problems := lacks(part, found, ref(found)); len(problems) > 0 {
			j.out = append(j.out, problems...)
			j.say("the whole %s:\n%s", ref(found), indent(found))
		}
	}
}

// sameGroup tells Knative's Service from the core one where the example says which is meant.
func sameGroup(part, d doc) bool {
	return part["apiVersion"] == nil || part["apiVersion"] == d["apiVersion"]
}

func refs(list []doc) []string {
	var all []string
	for _, d := range list {
		all = append(all, ref(d))
	}
	return all
}

func indent(d doc) string {
	raw, err := yaml.Marshal(d)
	if err != nil {
		return err.Error()
	}
	return "    " + strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "\n    ")
}

func (j *judgement) pods(want []doc) {
	for _, part := range want {
		part = maps.Clone(part)
		part["kind"] = "Pod"
		why, refused := part["refused"]
		if !refused {
			part["refused"] = nil
			j.parts("pods", []doc{part}, j.got.pods)
			continue
		}
		part["refused"] = doc{"contains": why}
		j.parts("pods", []doc{part}, j.got.pods)
	}
}

func (j *judgement) presence(x *expected) {
	have := refs(j.got.objects)
	for _, a := range x.Absent {
		if slices.Contains(have, a) {
			j.say("%s must not exist", a)
		}
	}
	if x.Only != nil {
		want := slices.Sorted(slices.Values(*x.Only))
		slices.Sort(have)
		if !slices.Equal(want, have) {
			j.say("only %s must exist, there is %s", strings.Join(want, ", "), strings.Join(have, ", "))
		}
	}
}

// exact compares one value whole.
func (j *judgement) exact(key string, want any) {
	object, path, _ := strings.Cut(key, " ")
	kind, name, _ := strings.Cut(object, "/")
	list := j.got.objects
	switch kind {
	case "Pod":
		list = j.got.pods
	case "Defaulted":
		list, object = j.got.defaulted, "InferenceService/"+name
	case "Status":
		list, object = j.got.status, "InferenceService/"+name
	}
	i := slices.IndexFunc(list, func(d doc) bool { return ref(d) == object })
	if i < 0 {
		j.say("exact: there is no %s, only %s", object, strings.Join(refs(list), ", "))
		return
	}
	got := at(list[i], path)
	if want == nil && isEmpty(got) {
		return
	}
	if text(want) != text(got) {
		j.say("%s: expected exactly\n%s\n  is\n%s", key, yamlText(want), yamlText(got))
	}
}

func yamlText(v any) string {
	raw, err := yaml.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return "    " + strings.ReplaceAll(strings.TrimSpace(string(raw)), "\n", "\n    ")
}
