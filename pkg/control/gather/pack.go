// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
)

// packed is the field that holds the text of an object in a cache, fieldsText the one that holds the text of our entry of its managed fields, and
// waysOf the one that holds what a route matches, which is asked for at every event.
const (
	packed     = "packed"
	fieldsText = "fields"
	waysOf     = "ways"
)

// Pack makes a small object of one without a Go type: what finds it in a cache stays, everything else becomes one text. A tree of maps takes
// about four times as much, and is looked at seldom. An object that cannot be packed stays as it is. The intern function, which may be nil,
// gives the one copy of a text that many objects have.
func Pack(u *unstructured.Unstructured, intern func(string) string) *unstructured.Unstructured {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if _, already := u.Object[packed]; already || !ok {
		return u
	}
	fields := ""
	if entry := onlyManager(metadata); entry != nil {
		if text, isText := entry["fieldsV1"].(string); isText {
			fields = text
			delete(entry, "fieldsV1")
			defer func() { entry["fieldsV1"] = text }() // the caller's object stays whole
		}
	}
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return u
	}
	if intern == nil {
		intern = func(s string) string { return s }
	}
	small := map[string]any{packed: string(raw)}
	if fields != "" {
		small[fieldsText] = intern(fields)
	}
	if ways := routeWays(u); len(ways) > 0 {
		kept := make([]any, 0, len(ways))
		for _, way := range ways {
			kept = append(kept, way)
		}
		small[waysOf] = kept
	}
	outline := make(map[string]any, 6)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "deletionTimestamp"} {
		if v, ok := metadata[name]; ok {
			outline[name] = v
		}
	}
	small["apiVersion"], small["kind"] = intern(u.GetAPIVersion()), intern(u.GetKind())
	small["metadata"] = outline
	light := &unstructured.Unstructured{Object: small}
	if ref := metav1.GetControllerOf(u); ref != nil {
		light.SetOwnerReferences([]metav1.OwnerReference{*ref})
	}
	return light
}

// Unpack gives back what was packed. The result is the caller's; an object that is not packed comes back as it is.
func Unpack(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	text, ok := u.Object[packed].(string)
	if !ok {
		return u, nil
	}
	whole := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &whole.Object); err != nil {
		return nil, fmt.Errorf("unpack %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	if fields, ok := u.Object[fieldsText].(string); ok {
		metadata, _ := whole.Object["metadata"].(map[string]any)
		if entry := onlyManager(metadata); entry != nil {
			entry["fieldsV1"] = fields
		}
	}
	return whole, nil
}

// onlyManager is the one record of a manager that a cache keeps.
func onlyManager(metadata map[string]any) map[string]any {
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) != 1 {
		return nil
	}
	entry, _ := entries[0].(map[string]any)
	return entry
}
