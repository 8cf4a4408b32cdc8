// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kserve-go/kserve-go/pkg/cli/output"
)

// Object is what an event is about.
type Object struct {
	Kind, Name string
	// UID tells it from an earlier one of its name, whose events outlive it.
	UID string
}

// maxWarning bounds what is shown of one event.
const maxWarning = 1000

// Warnings are the newest events of a namespace that tell of trouble, the newest first, each sentence once.
func Warnings(ctx context.Context, client dynamic.Interface, namespace string, most int) ([]Warning, error) {
	return warnings(ctx, client, namespace, func(Object) bool { return true }, most)
}

// WarningsAbout are those about some objects. An event that names no UID counts by its name.
func WarningsAbout(ctx context.Context, client dynamic.Interface, namespace string, objects []Object, most int) ([]Warning, error) {
	return warnings(ctx, client, namespace, func(about Object) bool {
		return slices.ContainsFunc(objects, func(o Object) bool {
			return o.Kind == about.Kind && o.Name == about.Name && (about.UID == "" || o.UID == "" || o.UID == about.UID)
		})
	}, most)
}

// Warning is an event that tells of trouble.
type Warning struct {
	// Time is when it last happened.
	Time time.Time `json:"time,omitzero"`
	// About is the kind and the name of the object.
	About   string `json:"about"`
	Message string `json:"message"`
}

// String is the event without its time.
func (w Warning) String() string { return output.Clip(w.About+": "+w.Message, maxWarning) }

func warnings(ctx context.Context, client dynamic.Interface, namespace string, about func(Object) bool, most int) ([]Warning, error) {
	var all []Warning
	newest := func() {
		slices.SortStableFunc(all, func(a, b Warning) int { return b.Time.Compare(a.Time) })
		seen := map[string]bool{}
		all = slices.DeleteFunc(all, func(w Warning) bool {
			again := seen[w.String()]
			seen[w.String()] = true
			return again
		})
		all = all[:min(most, len(all))]
	}
	err := Each(ctx, client.Resource(core("events")).Namespace(namespace), metav1.ListOptions{FieldSelector: "type=Warning"}, func(u *unstructured.Unstructured) error {
		o := Object{text(u.Object, "involvedObject", "kind"), text(u.Object, "involvedObject", "name"), text(u.Object, "involvedObject", "uid")}
		if about(o) {
			all = append(all, Warning{happened(u), o.Kind + " " + o.Name, output.Clip(text(u.Object, "message"), maxWarning)})
		}
		if len(all) > 10*most { // what is held does not grow with the namespace
			newest()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	newest()
	return all, nil
}

// happened is the last time of an event; those who write events fill in different fields.
func happened(u *unstructured.Unstructured) time.Time {
	var last time.Time
	for _, field := range []string{"lastTimestamp", "series.lastObservedTime", "eventTime", "firstTimestamp", "metadata.creationTimestamp"} {
		at, err := time.Parse(time.RFC3339Nano, text(u.Object, strings.Split(field, ".")...))
		if err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// page is how many objects are asked for at a time: a cluster's objects are never all in memory.
const page = 250

// Each calls a function for every object of a list, which it reads page by page.
func Each(ctx context.Context, from dynamic.ResourceInterface, o metav1.ListOptions, each func(*unstructured.Unstructured) error) error {
	return Pages(ctx, from, o, func(items []unstructured.Unstructured) error {
		for i := range items {
			if err := each(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Pages calls a function for every page of a list, before the next one is asked for.
func Pages(ctx context.Context, from dynamic.ResourceInterface, o metav1.ListOptions, each func([]unstructured.Unstructured) error) error {
	o.Limit = cmp.Or(o.Limit, page)
	for {
		list, err := from.List(ctx, o)
		if next := expired(err); next != "" { // the list changed for too long: what follows is newer than what came before
			o.Continue = next
			continue
		}
		if err != nil {
			return err
		}
		o.Continue = list.GetContinue()
		if err := each(list.Items); err != nil || o.Continue == "" {
			return err
		}
	}
}
