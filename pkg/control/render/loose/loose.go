// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loose makes objects of kinds whose own Go types would link a whole operator: Knative Services, VirtualServices, ScaledObjects, OpenTelemetryCollectors.
//
// Called by: pkg/control/render/workload, pkg/control/render/network, pkg/control/render/autoscale.
// Next: pkg/control/render, which stamps and sorts them.
package loose

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is an object of a kind with the given spec, a value that has a JSON form.
func Object(kind metav1.TypeMeta, meta metav1.ObjectMeta, spec any) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(map[string]any{"apiVersion": kind.APIVersion, "kind": kind.Kind, "metadata": meta, "spec": spec})
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind.Kind, meta.Name, err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind.Kind, meta.Name, err)
	}
	return u, nil
}
