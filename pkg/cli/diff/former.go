// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// withoutFormer is what an object becomes when the controller takes it over from the one that made it: fields that only the former
// controller wrote, and that are no longer wanted, go. A dry run cannot show that, for it takes nothing over.
func withoutFormer(before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if slices.ContainsFunc(before.GetManagedFields(), ours) {
		return after, nil
	}
	former, wanted, others := &fieldpath.Set{}, &fieldpath.Set{}, &fieldpath.Set{}
	for _, e := range after.GetManagedFields() {
		set := &fieldpath.Set{}
		if e.FieldsV1 == nil || e.Subresource != "" {
			continue
		}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("read managedFields: %w", err)
		}
		switch {
		case ours(e):
			wanted = wanted.Union(set)
		case slices.Contains(plan.FormerManagers(), e.Manager):
			former = former.Union(set)
		default:
			others = others.Union(set)
		}
	}
	kept := wanted.Union(others)
	after = after.DeepCopy()
	for _, p := range gone(former, kept) {
		remove(after.Object, p)
	}
	return after, nil
}

// gone are the places that only the former controller knew: whole items of lists, and fields; items first, for they are found by their fields.
func gone(former, kept *fieldpath.Set) []fieldpath.Path {
	var items, fields []fieldpath.Path
	leaves := former.Leaves()
	former.Difference(kept).Iterate(func(p fieldpath.Path) {
		if first := p[0].FieldName; first == nil || *first != "spec" && *first != "metadata" {
			return
		}
		switch last := p[len(p)-1]; {
		case last.FieldName == nil && below(kept, p).Empty():
			items = append(items, p.Copy())
		case last.FieldName != nil && leaves.Has(p):
			fields = append(fields, p.Copy())
		}
	})
	slices.Reverse(items) // the last items of a list first, so that places stay right
	return append(items, fields...)
}

// below is the part of a set that is under a path.
func below(s *fieldpath.Set, p fieldpath.Path) *fieldpath.Set {
	for _, e := range p {
		s = s.WithPrefix(e)
	}
	return s
}

// remove takes away what a path leads to, if it is there.
func remove(at any, p fieldpath.Path) (rest any) {
	switch at := at.(type) {
	case map[string]any:
		if p[0].FieldName == nil {
			return at
		}
		name := *p[0].FieldName
		if len(p) == 1 {
			delete(at, name)
			return at
		}
		if below, ok := at[name]; ok {
			at[name] = remove(below, p[1:])
		}
		return at
	case []any:
		i := slices.IndexFunc(at, func(item any) bool { return matches(p[0], item) })
		switch {
		case i < 0:
		case len(p) == 1:
			return slices.Delete(at, i, i+1)
		default:
			at[i] = remove(at[i], p[1:])
		}
		return at
	default:
		return at
	}
}

// matches says whether an item of a list is the one that a path element names by its key or its value.
func matches(e fieldpath.PathElement, item any) bool {
	switch {
	case e.Key != nil:
		fields, ok := item.(map[string]any)
		if !ok {
			return false
		}
		for _, f := range *e.Key {
			if !reflect.DeepEqual(fields[f.Name], f.Value.Unstructured()) {
				return false
			}
		}
		return true
	case e.Value != nil:
		return value.Equals(*e.Value, value.NewValueInterface(item))
	default:
		return false
	}
}
