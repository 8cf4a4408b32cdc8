// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KeepOwn leaves of the records of managers in an object without a Go type only ours, and its fields as one text: as the tree of maps that
// JSON gives, they would take more memory in a cache than all the rest of the object.
func KeepOwn(u *unstructured.Unstructured) {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	entry := ownEntry(u)
	text := textOf(entry)
	if text == "" {
		delete(metadata, "managedFields")
		return
	}
	own := map[string]any{"manager": FieldManager, "operation": string(metav1.ManagedFieldsOperationApply), "fieldsV1": text}
	if at, ok := entry["time"].(string); ok {
		own["time"] = at // plan.WrittenAt reads it
	}
	metadata["managedFields"] = []any{own}
}

// ownText is our entry of the managed fields, empty where there is none. It reads both what the API server sends and what KeepOwn leaves.
func ownText(u *unstructured.Unstructured) string { return textOf(ownEntry(u)) }

func ownEntry(u *unstructured.Unstructured) map[string]any {
	metadata, _ := u.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] != FieldManager || entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
			continue
		}
		if sub, _ := entry["subresource"].(string); sub == "" {
			return entry
		}
	}
	return nil
}

func textOf(entry map[string]any) string {
	switch fields := entry["fieldsV1"].(type) {
	case string:
		return fields
	case map[string]any:
		raw, err := json.Marshal(fields)
		if err != nil {
			return ""
		}
		return string(raw)
	}
	return ""
}
