// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is the part of a status that every kind has.
type Status struct {
	// Generation of the object that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// What is true of the object now, one entry per type.
	// +optional
	Conditions []Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// Further words of the controller.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Condition returns the condition of a type, or nil.
func (s *Status) Condition(kind ConditionType) *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == kind {
			return &s.Conditions[i]
		}
	}
	return nil
}

// ConditionType names a condition. The types of each kind stand beside the kind.
type ConditionType string

// ConditionReady is the condition that every kind has: the object can be used now.
const ConditionReady ConditionType = "Ready"

// ConditionSeverity says how bad it is when a condition is not True.
type ConditionSeverity string

const (
	// SeverityError is a failure; it is written as an absent field.
	SeverityError ConditionSeverity = ""
	// SeverityInfo is a fact that does not keep the object from being Ready.
	SeverityInfo ConditionSeverity = "Info"
)

// Condition is one fact about an object.
type Condition struct {
	// Name of the condition.
	Type ConditionType `json:"type"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// How bad it is when the condition is not True: absent is an error, Info is not.
	// +optional
	Severity ConditionSeverity `json:"severity,omitempty"`
	// When the status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
	// One word for the cause.
	// +optional
	Reason string `json:"reason,omitempty"`
	// The cause in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
}

// Address is where an object can be reached.
type Address struct {
	// Name of the address.
	// +optional
	Name *string `json:"name,omitempty"`
	// URL of the address.
	// +optional
	URL string `json:"url,omitempty"`
	// Certificates, in PEM form, of the authority that signs for the address.
	// +optional
	CACerts *string `json:"CACerts,omitempty"`
	// OIDC audience of the address.
	// +optional
	Audience *string `json:"audience,omitempty"`
}

// TrafficTarget is a share of the traffic of a Knative Service.
type TrafficTarget struct {
	// Name under which this share has a URL of its own.
	// +optional
	Tag string `json:"tag,omitempty"`
	// Revision that gets the share.
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
	// Configuration whose latest revision gets the share.
	// +optional
	ConfigurationName string `json:"configurationName,omitempty"`
	// The share belongs to whatever revision is the latest ready one.
	// +optional
	LatestRevision *bool `json:"latestRevision,omitempty"`
	// Share in percent.
	// +optional
	Percent *int64 `json:"percent,omitempty"`
	// URL of the tag.
	// +optional
	URL string `json:"url,omitempty"`
}
