// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loose makes objects of kinds whose own Go types would link a whole operator: Knative Services, VirtualServices, ScaledObjects, OpenTelemetryCollectors.
//
// Called by: pkg/control/render/workload, pkg/control/render/network, pkg/control/render/autoscale.
// Next: pkg/control/render, which stamps and sorts them.
package loose

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// object is what every object looks like, with a spec of any type that has a JSON form.
type object[T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              T `json:"spec"`
}

// Object is an object of a kind with the given spec.
func Object[T any](kind metav1.TypeMeta, meta metav1.ObjectMeta, spec T) (*unstructured.Unstructured, error) {
	tree, err := plan.Tree(&object[T]{kind, meta, spec})
	if err != nil {
		return nil, fmt.Errorf("write %s %s: %w", kind.Kind, meta.Name, err)
	}
	return &unstructured.Unstructured{Object: tree}, nil
}
