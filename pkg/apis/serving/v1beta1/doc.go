// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the InferenceService: its types, defaults, validation, condition types and reasons.
//
// Called by: control/resolve and whoever reads or admits an InferenceService.
// Next: apis/serving/v1alpha1, the runtimes that a service is matched with.
//
// +kubebuilder:object:generate=true
// +groupName=serving.kserve.io
package v1beta1
