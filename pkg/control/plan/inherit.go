// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// labelPlaces are where objects have inherited labels.
func labelPlaces() [2][]string {
	return [2][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}}
}

// KeepInherited is what is wanted with the labels that come from the owner as they are in an object that has them from us (fieldsV1), or has them
// not yet. A new label of a service, or a new value, is no reason to write its children, and least of all to replace pods: it goes along with
// the next change of anything else. A label that is gone from the owner is taken away at once, for it cannot be told from one that the spec no
// longer has. Nothing that is passed in is changed.
func KeepInherited(want, have map[string]any, fieldsV1 []byte, inherited map[string]string) map[string]any {
	if len(inherited) == 0 {
		return want
	}
	var owned map[string]any
	for _, place := range labelPlaces() {
		wanted := mapAt(want, place)
		there := mapAt(have, place)
		var changed map[string]any
		for name, value := range inherited {
			if wanted[name] != value || there[name] == value {
				continue
			}
			if owned == nil {
				if json.Unmarshal(bytes.TrimSpace(fieldsV1), &owned) != nil {
					return want
				}
			}
			now, has := there[name]
			if _, ours := mapAt(owned, ownedPath(place))["f:"+name]; has && !ours {
				continue // somebody else wrote it
			}
			if changed == nil {
				changed = maps.Clone(wanted)
			}
			if has {
				changed[name] = now
			} else {
				delete(changed, name)
			}
		}
		switch {
		case changed == nil:
		case len(changed) == 0: // nobody owns an empty map of labels
			want = replaced(want, place, nil)
		default:
			want = replaced(want, place, changed)
		}
	}
	return want
}

// InheritedLabels are those of the owner that wait for another change of an object. Of a Knative Service every label makes a new revision, as
// users of it know.
func (o *Owner) InheritedLabels(gk schema.GroupKind) map[string]string {
	if gk == KnativeService.GroupKind() {
		return nil
	}
	return o.Labels
}

func ownedPath(place []string) []string {
	path := make([]string, len(place))
	for i, name := range place {
		path[i] = "f:" + name
	}
	return path
}

// mapAt is the map at a path, nil where there is none.
func mapAt(at map[string]any, path []string) map[string]any {
	for _, name := range path {
		at, _ = at[name].(map[string]any) // another shape has no labels
	}
	return at
}

// replaced is a copy with another map at a path, or with none there; the rest is shared.
func replaced(at map[string]any, path []string, value map[string]any) map[string]any {
	at = maps.Clone(at)
	if len(path) == 1 {
		at[path[0]] = value
		if value == nil {
			delete(at, path[0])
		}
		return at
	}
	below, _ := at[path[0]].(map[string]any) // it is there: value was made from what is below
	at[path[0]] = replaced(below, path[1:], value)
	return at
}
