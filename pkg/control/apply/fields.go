// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// KeepOwn leaves of the records of managers in an object without a Go type only ours, and its fields as one text: as the tree of maps that
// JSON gives, they would take more memory in a cache than all the rest of the object.
func KeepOwn(u *unstructured.Unstructured) {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	entry := plan.Applied(u)
	text := textOf(entry)
	if text == "" {
		delete(metadata, "managedFields")
		return
	}
	text = string(WithoutOwner([]byte(text), u))
	own := map[string]any{"manager": plan.FieldManager, "operation": string(metav1.ManagedFieldsOperationApply), "fieldsV1": text}
	if at, ok := entry["time"].(string); ok {
		own["time"] = at // plan.WrittenAt reads it
	}
	metadata["managedFields"] = []any{own}
}

// uidIs begins the UID of an owner in a set of fields, uidEnds ends it, and ownerMark stands in its place.
const (
	uidIs     = `\"uid\":\"`
	uidEnds   = `\"`
	ownerMark = "{owner}"
)

// WithoutOwner puts a mark in the place of the UID of an object's controller in our fields of it. But for that they are the same for all services
// that look alike, and a cache needs one copy of them.
func WithoutOwner(fields []byte, o metav1.Object) []byte {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.UID == "" {
		return fields
	}
	named := []byte(uidIs + string(ref.UID) + uidEnds)
	if !bytes.Contains(fields, named) {
		return fields
	}
	return bytes.ReplaceAll(fields, named, []byte(uidIs+ownerMark+uidEnds))
}

// withOwner undoes WithoutOwner.
func withOwner(fields []byte, o metav1.Object) []byte {
	mark := []byte(uidIs + ownerMark + uidEnds)
	if !bytes.Contains(fields, mark) {
		return fields
	}
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return fields
	}
	return bytes.ReplaceAll(fields, mark, []byte(uidIs+string(ref.UID)+uidEnds))
}

// ownText is our entry of the managed fields, empty where there is none. It reads both what the API server sends and what KeepOwn leaves.
func ownText(u *unstructured.Unstructured) string { return textOf(plan.Applied(u)) }

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
