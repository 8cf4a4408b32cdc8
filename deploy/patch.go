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
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

var errNothingToPatch = errors.New("there is no such object to patch")

// patched changes the object that the patch names, as kustomize does: lists of known kinds merge by their keys, `$patch: delete` removes.
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
	merged, err := merge(all[i].Object, patch.Object, patch.GetKind())
	if err != nil {
		return nil, fmt.Errorf("patch %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	// Through JSON once more: what the merge shares with the patch is copied.
	raw, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", patch.GetKind(), patch.GetName(), err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("read %s %s again: %w", patch.GetKind(), patch.GetName(), err)
	}
	all[i] = u
	return all, nil
}

func merge(object, patch map[string]any, kind string) (map[string]any, error) {
	known := map[string]any{
		"ConfigMap": corev1.ConfigMap{}, "Deployment": appsv1.Deployment{}, "Namespace": corev1.Namespace{}, "PodDisruptionBudget": policyv1.PodDisruptionBudget{},
		"Service": corev1.Service{}, "MutatingWebhookConfiguration": admissionv1.MutatingWebhookConfiguration{},
		"ValidatingWebhookConfiguration": admissionv1.ValidatingWebhookConfiguration{},
	}
	if t, ok := known[kind]; ok {
		return strategicpatch.StrategicMergeMapPatch(object, patch, t)
	}
	return mergeJSON(object, patch), nil
}

// mergeJSON is RFC 7396 for kinds of which only the document is known: null removes, objects merge, everything else is replaced.
func mergeJSON(object, patch map[string]any) map[string]any {
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		old, wasObject := object[name].(map[string]any)
		switch {
		case value == nil:
			delete(object, name)
		case isObject && wasObject:
			object[name] = mergeJSON(old, inner)
		case isObject:
			object[name] = mergeJSON(map[string]any{}, inner)
		default:
			object[name] = value
		}
	}
	return object
}
