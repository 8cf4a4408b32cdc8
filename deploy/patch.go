// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var (
	errNothingToPatch = errors.New("there is no such object to patch")
	errUnknownKind    = errors.New("only kinds of Kubernetes itself can be patched: how lists of others merge is not known here")
)

// patched changes the object that the patch names, as kustomize does: lists merge by their keys, `$patch: delete` removes.
func patched(all []*unstructured.Unstructured, patch *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	i := slices.IndexFunc(all, func(u *unstructured.Unstructured) bool {
		return u.GroupVersionKind() == patch.GroupVersionKind() && u.GetName() == patch.GetName() && u.GetNamespace() == patch.GetNamespace()
	})
	if i < 0 {
		return nil, fmt.Errorf("%s %s/%s: %w", patch.GetKind(), patch.GetNamespace(), patch.GetName(), errNothingToPatch)
	}
	if patch.Object["$patch"] == "delete" {
		return slices.Delete(all, i, i+1), nil
	}
	known := typeOf(patch.GetKind())
	if known == nil {
		return nil, fmt.Errorf("patch %s %s: %w", patch.GetKind(), patch.GetName(), errUnknownKind)
	}
	content, err := strategicpatch.StrategicMergeMapPatch(all[i].Object, patch.Object, known)
	if err != nil {
		return nil, fmt.Errorf("patch %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	// Through JSON once more: what the merge shares with the patch is copied.
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("read %s %s again: %w", patch.GetKind(), patch.GetName(), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, known, true); err != nil {
		return nil, fmt.Errorf("patch %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	all[i] = u
	return all, nil
}

// typeOf is an empty object of a kind that overlays patch, nil for others.
func typeOf(kind string) any {
	switch kind {
	case "ConfigMap":
		return &corev1.ConfigMap{}
	case "Deployment":
		return &appsv1.Deployment{}
	case "MutatingWebhookConfiguration":
		return &admissionv1.MutatingWebhookConfiguration{}
	case "Namespace":
		return &corev1.Namespace{}
	case "PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "Service":
		return &corev1.Service{}
	case "ValidatingWebhookConfiguration":
		return &admissionv1.ValidatingWebhookConfiguration{}
	}
	return nil
}
