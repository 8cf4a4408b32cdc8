// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// judge waits until nothing is wrong, for as long as a late write may set it right.
func (u *upgrade) judge(ctx context.Context, l *legacy, t *Takeover) error {
	deadline := time.Now().Add(againLimit)
	for {
		*t = Takeover{Name: l.name}
		if err := u.look(ctx, l, t); err != nil || len(t.Problems) == 0 || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look compares what is there with what was there, and with what the case is to come to.
func (u *upgrade) look(ctx context.Context, l *legacy, t *Takeover) error {
	if len(l.services) == 0 {
		return nil
	}
	if err := u.settle(ctx, l.recorded); err != nil {
		return err
	}
	actual, err := u.cluster.Read(ctx, l.ns)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { t.Problems = append(t.Problems, fmt.Sprintf(format, args...)) }
	is := map[string]*unstructured.Unstructured{}
	outcome := Outcome{Rejected: l.expected.Rejected}
	for _, o := range actual {
		is[key(o.Object)] = o
		if !made(o) && o.GetName() != "theirs" {
			outcome.Objects = append(outcome.Objects, o.Object)
		}
	}
	for _, o := range l.rest {
		if now := is[key(o.Object)]; now == nil || now.GetResourceVersion() != o.GetResourceVersion() {
			say("%s of somebody else was touched", short(key(o.Object)))
		}
	}
	blocked := l.diff.Refuse != nil || l.diff.MayRefuse != nil
	for _, o := range l.had {
		now := is[key(o.Object)]
		switch {
		case now == nil && blocked:
			say("%s went", short(key(o.Object)))
		case now == nil: // the comparison below tells whether it should
		case now.GetUID() != o.GetUID():
			say("%s was made anew", short(key(o.Object)))
		default:
			t.Rolled = append(t.Rolled, rolled(o, now)...)
			if o.GetKind() == "Service" && fmt.Sprint(child(o.Object, "spec")["clusterIP"]) != fmt.Sprint(child(now.Object, "spec")["clusterIP"]) {
				say("%s has another address", short(key(o.Object)))
			}
			if !blocked && !l.frozen && o.GetKind() != "ConfigMap" && !adopted(now) {
				say("%s was not taken over: %v", short(key(o.Object)), writers(now))
			}
		}
	}
	u.flaps(l, t)
	if !blocked {
		expected := l.expected
		expected.Pods = nil
		diff := l.diff
		diff.Refuse, diff.MayRefuse = nil, nil
		diff.Require = slices.DeleteFunc(slices.Clone(diff.Require), func(p place) bool { return strings.HasPrefix(p.Object, "Pod/") })
		for _, problem := range Compare(expected, outcome, diff, l.ns) {
			if !staleMetadata(problem) {
				t.Problems = append(t.Problems, problem)
			}
		}
	}
	return nil
}

// staleMetadata tells annotations of an earlier version of a service, which the reference leaves on objects whose spec is the same. Taking an
// object over writes its metadata along.
func staleMetadata(problem string) bool {
	return (strings.HasPrefix(problem, "Service/") || strings.HasPrefix(problem, "Ingress/")) && strings.Contains(problem, ".metadata.annotations.")
}

// flaps notes what was said of services that had been ready.
func (u *upgrade) flaps(l *legacy, t *Takeover) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for key, words := range u.said {
		if key.Namespace != l.ns || !strings.HasPrefix(words[0], "True") {
			continue
		}
		for _, w := range words {
			if !strings.HasPrefix(w, "True") {
				t.Unready = append(t.Unready, key.Name+": "+w)
			}
		}
	}
}

// rolled lists how a Deployment differs from what it was, if Kubernetes makes other pods of it.
func rolled(was, is *unstructured.Unstructured) []string {
	if was.GetKind() != "Deployment" || was.GetGeneration() == is.GetGeneration() {
		return nil
	}
	var differences []string
	changes(child(was.Object, "spec"), child(is.Object, "spec"), "spec", &differences)
	list := make([]string, 0, len(differences))
	for _, d := range differences {
		list = append(list, is.GetName()+" "+d)
	}
	if len(list) == 0 {
		list = append(list, is.GetName()+" was written without a change that shows")
	}
	return list
}

// changes lists where two values differ.
func changes(a, b any, path string, out *[]string) {
	x, isMap := a.(doc)
	y, areMaps := b.(doc)
	if isMap && areMaps {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			changes(x[k], y[k], path+"."+k, out)
		}
		return
	}
	l, isList := a.([]any)
	m, areLists := b.([]any)
	if isList && areLists && len(l) == len(m) {
		for i := range l {
			changes(l[i], m[i], fmt.Sprintf("%s.%d", path, i), out)
		}
		return
	}
	if text(a) != text(b) {
		*out = append(*out, fmt.Sprintf("%s: was %s, is %s", path, brief(a), brief(b)))
	}
}

// adopted says that the controller has said the fields of an object, and that nothing of its spec is its predecessor's any more.
func adopted(o *unstructured.Unstructured) bool {
	ours := false
	for _, f := range o.GetManagedFields() {
		ours = ours || f.Manager == plan.FieldManager
		if f.Manager == formerManager && f.Subresource == "" {
			return false
		}
	}
	return ours
}

func writers(o *unstructured.Unstructured) (list []string) {
	for _, f := range o.GetManagedFields() {
		list = append(list, f.Manager+" "+string(f.Operation)+" "+f.Subresource)
	}
	return list
}
