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

// WrittenAt is when the controller last changed an object, as the API server recorded it; zero where it did not. Of an object without a Go type
// it also reads what a cache keeps of the records of managers.
func WrittenAt(o Object) time.Time {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		for _, e := range o.GetManagedFields() {
			if e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.Time != nil {
				return e.Time.Time
			}
		}
		return time.Time{}
	}
	entries, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	for _, e := range list {
		entry, _ := e.(map[string]any)
		if entry["manager"] != FieldManager || entry["operation"] != string(metav1.ManagedFieldsOperationApply) {
			continue
		}
		text, _ := entry["time"].(string)
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			return t
		}
	}
	return time.Time{}
}
