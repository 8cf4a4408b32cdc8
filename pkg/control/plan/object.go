// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object to be, with its kind filled in.
type Object interface {
	runtime.Object
	metav1.Object
}

// IsApplied says whether a record of managers is that of what the controller applied.
func IsApplied(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}

// Applied is the record that IsApplied looks for, of an object without a Go type; nil where there is none. It finds what the API server sends as
// well as what a cache keeps.
func Applied(u *unstructured.Unstructured) map[string]any {
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

// WrittenAt is when the controller last changed an object, as the API server recorded it; zero where it did not.
func WrittenAt(o Object) time.Time {
	if u, ok := o.(*unstructured.Unstructured); ok {
		text, _ := Applied(u)["time"].(string)
		at, _ := time.Parse(time.RFC3339, text)
		return at
	}
	fields := o.GetManagedFields()
	for i := range fields {
		if e := &fields[i]; IsApplied(e) && e.Time != nil {
			return e.Time.Time
		}
	}
	return time.Time{}
}
