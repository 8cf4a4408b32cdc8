// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// judge holds one comparison.
type judge struct {
	rules    *rules
	diff     Difference
	expected Outcome
	actual   Outcome
	out      []string
}

// Compare lists the disagreements of an outcome with what is expected; none means that the case passes.
func Compare(expected, actual Outcome, diff Difference, namespace string) []string {
	j := &judge{rules: theRules(), diff: diff, expected: normaliseAll(expected, ""), actual: normaliseAll(actual, namespace)}
	if j.refusals() {
		return j.out
	}
	extra := j.apply()
	j.objects(j.expected.Objects, j.actual.Objects, key, extra)
	j.objects(j.expected.Pods, j.actual.Pods, func(p doc) string { return "Pod./" + name(p) }, extra)
	return j.out
}

func normaliseAll(o Outcome, namespace string) Outcome {
	out := Outcome{Rejected: o.Rejected}
	for _, d := range o.Objects {
		out.Objects = append(out.Objects, normalise(d, namespace))
	}
	for _, d := range o.Pods {
		out.Pods = append(out.Pods, normalise(d, namespace))
	}
	return out
}

func (j *judge) say(format string, args ...any) { j.out = append(j.out, fmt.Sprintf(format, args...)) }

func ids(rs []Rejection) map[string]bool {
	m := map[string]bool{}
	for _, r := range rs {
		m[r.id()] = true
	}
	return m
}

// refusals compares what admission refused. True means that nothing else of the case is compared.
func (j *judge) refusals() bool {
	for _, r := range j.actual.Rejected {
		if r.Error == "" || strings.Contains(r.Error, "panic") {
			j.say("rejected %s/%s: needs a clear message, is %q", r.Kind, r.Name, r.Error)
		}
	}
	want, got := ids(j.expected.Rejected), ids(j.actual.Rejected)
	refuse := j.diff.Refuse
	if m := j.diff.MayRefuse; m != nil && got[m.id()] {
		refuse = m
	}
	if refuse != nil {
		want[refuse.id()] = true
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if !got[id] {
			j.say("admission must refuse %s", id)
		}
	}
	for _, r := range j.actual.Rejected {
		if !want[r.id()] {
			j.say("%s refused, expected to be accepted: %s", r.id(), r.Error)
		}
	}
	if refuse == nil || j.diff.RefuseOnly != nil && !*j.diff.RefuseOnly {
		return false
	}
	if refuse.Step != "input.yaml" {
		return true
	}
	gone := refuse.Kind + "/" + refuse.Name
	for _, o := range j.actual.Objects {
		if owned(o, gone) {
			j.say("%s exists although %s was refused", short(key(o)), gone)
		}
	}
	return true
}

func owned(o doc, by string) bool {
	meta, _ := o["metadata"].(doc)
	refs, _ := meta["ownerReferences"].([]any)
	for _, r := range refs {
		if ref, ok := r.(doc); ok && fmt.Sprint(ref["kind"], "/", ref["name"]) == by {
			return true
		}
	}
	return fmt.Sprint(o["kind"], "/", name(o)) == by
}

// apply works the intended differences into the expected side, and returns the objects that may exist beside it.
func (j *judge) apply() map[string]bool {
	extra := set(j.diff.Allow...)
	for _, x := range j.diff.Absent {
		keep := func(kind string) func(doc) bool {
			return func(o doc) bool { return kind+"/"+name(o) == x }
		}
		j.expected.Objects = slices.DeleteFunc(j.expected.Objects, func(o doc) bool { return fmt.Sprint(o["kind"], "/", name(o)) == x })
		j.expected.Pods = slices.DeleteFunc(j.expected.Pods, keep("Pod"))
	}
	for _, x := range j.diff.Set {
		for _, o := range find(j.expected, x.Object) {
			if x.OrReference && j.asReference(x, o) {
				continue
			}
			put(o, x.Path, x.Value)
		}
	}
	for _, x := range j.diff.Unset {
		for _, o := range find(j.expected, x.Object) {
			take(o, x.Path)
		}
		for _, o := range find(j.actual, x.Object) {
			if _, ok := at(o, x.Path); ok {
				j.say("%s %s: must be absent", x.Object, x.Path)
			}
		}
	}
	j.conditions()
	for _, x := range j.diff.Forbid {
		for _, o := range find(j.actual, x.Object) {
			if v, ok := at(o, x.Path); ok && text(v) == text(x.Value) {
				j.say("%s %s: must not be %s", x.Object, x.Path, brief(x.Value))
			}
		}
	}
	required := make([][]any, len(j.diff.Require))
	for i, x := range j.diff.Require {
		for _, o := range find(j.actual, x.Object) {
			required[i] = append(required[i], j.rules.simplify(o, ""))
		}
	}
	for _, x := range j.diff.Ignore {
		for _, side := range []Outcome{j.expected, j.actual} {
			for _, o := range find(side, x.Object) {
				take(o, x.Path)
			}
		}
	}
	for i, x := range j.diff.Require {
		if len(required[i]) == 0 {
			j.say("%s: missing", x.Object)
		}
		for _, o := range required[i] {
			j.rules.lacks(j.rules.simplify(x.Fields, ""), o, x.Object, &j.out)
		}
		extra[x.Object] = true
	}
	return extra
}

// conditions checks those that must hold, and takes them out of the comparison.
func (j *judge) conditions() {
	for _, x := range j.diff.Conditions {
		for _, o := range find(j.actual, x.Object) {
			c, _ := at(o, "status.conditions["+x.Type+"]")
			is, _ := c.(doc)
			reason, _ := is["reason"].(string)
			if is["status"] != x.Status || x.Reason != "" && x.Reason != reason || x.Status != "True" && reason == "" {
				j.say("%s condition %s: expected %s with reason %s, is %s", x.Object, x.Type, x.Status, cmp.Or(x.Reason, "(any)"), brief(is))
			}
		}
		for _, side := range []Outcome{j.expected, j.actual} {
			for _, o := range find(side, x.Object) {
				status := child(o, "status")
				list, _ := status["conditions"].([]any)
				if list != nil {
					status["conditions"] = slices.DeleteFunc(list, func(c any) bool { m, ok := c.(doc); return ok && m["type"] == x.Type })
				}
			}
		}
	}
}

// asReference tells whether the actual side has what was recorded, where that is accepted too.
func (j *judge) asReference(x place, recorded doc) bool {
	want, ok := at(recorded, x.Path)
	if !ok {
		return false
	}
	last := x.Path[strings.LastIndex(x.Path, ".")+1:]
	for _, o := range find(j.actual, x.Object) {
		got, ok := at(o, x.Path)
		if !ok || text(j.rules.simplify(got, last)) != text(j.rules.simplify(want, last)) {
			return false
		}
	}
	return true
}

func (j *judge) objects(expected, actual []doc, id func(doc) string, extra map[string]bool) {
	es, as := map[string]doc{}, map[string]doc{}
	for _, o := range expected {
		es[id(o)] = o
	}
	for _, o := range actual {
		as[id(o)] = o
	}
	for _, k := range slices.Sorted(maps.Keys(es)) {
		if _, ok := as[k]; !ok {
			j.say("%s: missing", short(k))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(as)) {
		kind, _, _ := strings.Cut(short(k), "/")
		if _, ok := es[k]; !ok {
			if !extra[short(k)] && !extra[kind+"/*"] {
				j.say("%s: not expected", short(k))
			}
			continue
		}
		e, a := es[k], as[k]
		_, eRefused := e["rejected"]
		_, aRefused := a["rejected"]
		switch {
		case eRefused != aRefused:
			j.say("%s: pod refused: %v, expected %v", short(k), aRefused, eRefused)
		case !eRefused:
			se, sa := j.rules.simplify(e, "").(doc), j.rules.simplify(a, "").(doc)
			delete(se, "apiVersion")
			delete(sa, "apiVersion")
			j.rules.differ(se, sa, short(k), &j.out)
		}
	}
}

func find(o Outcome, ref string) []doc {
	kind, want, _ := strings.Cut(ref, "/")
	list := o.Objects
	if kind == "Pod" {
		list = o.Pods
	}
	var found []doc
	for _, d := range list {
		if (kind == "Pod" || d["kind"] == kind) && (want == "*" || name(d) == want) {
			found = append(found, d)
		}
	}
	return found
}

var pathPart = regexp.MustCompile(`\[([^\]]*)\]|([^.\[\]]+)`)

func parts(path string) []string {
	var list []string
	for _, m := range pathPart.FindAllStringSubmatch(path, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

// step goes one part down: a key of a map, or of a list the index or the item with that name, type, mountPath or host.
func step(v any, part string) (any, func(any), bool) {
	switch v := v.(type) {
	case doc:
		inner, ok := v[part]
		return inner, func(n any) { v[part] = n }, ok
	case []any:
		for i := range v {
			m, isMap := v[i].(doc)
			match := strconv.Itoa(i) == part
			for _, k := range []string{"name", "type", "mountPath", "host"} {
				match = match || isMap && m[k] == part
			}
			if match {
				return v[i], func(n any) { v[i] = n }, true
			}
		}
	}
	return nil, nil, false
}

func at(o doc, path string) (any, bool) {
	var v any = o
	for _, p := range parts(path) {
		inner, _, ok := step(v, p)
		if !ok {
			return nil, false
		}
		v = inner
	}
	return v, true
}

func put(o doc, path string, value any) {
	var v any = o
	list := parts(path)
	for i, p := range list {
		inner, assign, ok := step(v, p)
		m, isMap := v.(doc)
		switch {
		case i == len(list)-1 && ok:
			assign(value)
		case i == len(list)-1 && isMap:
			m[p] = value
		case !ok && isMap:
			next := doc{}
			m[p] = next
			inner = next
		case !ok:
			return
		}
		v = inner
	}
}

func take(o doc, path string) {
	list := parts(path)
	var v any = o
	for _, p := range list[:len(list)-1] {
		inner, _, found := step(v, p)
		if !found {
			return
		}
		v = inner
	}
	if m, isMap := v.(doc); isMap {
		delete(m, list[len(list)-1])
	}
}
