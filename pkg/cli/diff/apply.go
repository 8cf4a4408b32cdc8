// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// apply makes of the service of a file what kubectl apply makes of it where the cluster has one of that name: the file is laid over that one, and what
// the file that was applied before named, and this one does not, goes. What was changed by hand since and is in neither file stays.
func apply(s *servingv1beta1.InferenceService, text []byte, there *unstructured.Unstructured) error {
	var file, last map[string]any
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("read the service of the file: %w", err)
	}
	delete(file, "status") // nobody applies one
	if before := there.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; json.Unmarshal([]byte(before), &last) != nil {
		last = nil // it was made in another way
	}
	raw, err := json.Marshal(laidOver(there.Object, last, file))
	if err != nil {
		return fmt.Errorf("lay the service of the file over that of the cluster: %w", err)
	}
	merged := servingv1beta1.InferenceService{}
	if err := json.Unmarshal(raw, &merged); err != nil {
		return fmt.Errorf("lay the service of the file over that of the cluster: %w", err)
	}
	merged.Status = s.Status
	*s = merged
	return nil
}

// laidOver is a document with another laid over it, less what only the one before that one had. Lists are replaced, as in a JSON merge patch.
func laidOver(there, last, file map[string]any) map[string]any {
	out := maps.Clone(there)
	if out == nil {
		out = map[string]any{}
	}
	for key := range last {
		if _, ok := file[key]; !ok {
			delete(out, key)
		}
	}
	for key, v := range file {
		inner, ok := v.(map[string]any)
		switch {
		case v == nil:
			delete(out, key)
		case ok:
			below, _ := out[key].(map[string]any) // of another shape it is replaced
			before, _ := last[key].(map[string]any)
			out[key] = laidOver(below, before, inner)
		default:
			out[key] = v
		}
	}
	return out
}
