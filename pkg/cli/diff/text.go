// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// noise are the fields that the API server keeps for itself, or that clients keep in an object.
func noise() [][]string {
	return [][]string{
		{"status"},
		{"metadata", "managedFields"},
		{"metadata", "resourceVersion"},
		{"metadata", "generation"},
		{"metadata", "uid"},
		{"metadata", "creationTimestamp"},
		{"metadata", "namespace"},
		{"metadata", "ownerReferences"},
		{"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	}
}

// clean is an object without noise, as text.
func clean(u *unstructured.Unstructured) (string, error) {
	if u == nil {
		return "", nil
	}
	u = u.DeepCopy()
	for _, path := range noise() {
		unstructured.RemoveNestedField(u.Object, path...)
	}
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("print %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return string(text), nil
}

// unified has the lines that differ between two objects, of which one may be missing; empty when none does.
func unified(before, after *unstructured.Unstructured) (string, error) {
	a, err := clean(before)
	if err != nil {
		return "", err
	}
	b, err := clean(after)
	if err != nil || a == b {
		return "", err
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: lines(a), B: lines(b), FromFile: "now", ToFile: "then", Context: 3})
	if err != nil {
		return "", fmt.Errorf("compare texts: %w", err)
	}
	return text, nil
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return difflib.SplitLines(strings.TrimSuffix(text, "\n"))
}

func sameSpec(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["spec"], b.Object["spec"])
}

func sameTemplate(a, b *unstructured.Unstructured) bool {
	before, _, _ := unstructured.NestedFieldNoCopy(a.Object, "spec", "template") // the API server has seen to its shape
	after, _, _ := unstructured.NestedFieldNoCopy(b.Object, "spec", "template")
	return reflect.DeepEqual(before, after)
}

// ours tells the entry of managedFields that the controller has written by server-side apply.
func ours(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == plan.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == ""
}
