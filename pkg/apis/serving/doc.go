// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serving holds the words that every version of the serving.kserve.io API shares: group name, annotations, labels, deployment modes and the shape of a status.
//
// Called by: apis/serving/v1beta1, apis/serving/v1alpha1 and every control package.
// Next: apis/serving/v1beta1, the InferenceService that a person writes.
//
// +kubebuilder:object:generate=true
package serving

// GroupName is the API group of every kind of this project.
const GroupName = "serving.kserve.io"
