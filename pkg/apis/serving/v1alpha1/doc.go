// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is ServingRuntime, ClusterServingRuntime, InferenceGraph, TrainedModel and ClusterStorageContainer: their types, defaults and validation.
//
// Called by: control/resolve and whoever reads or admits one of the kinds.
// Next: control/plan, which holds what was read and what was decided.
//
// +kubebuilder:object:generate=true
// +groupName=serving.kserve.io
package v1alpha1
