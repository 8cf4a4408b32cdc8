// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterStorageContainer is the container that fetches models from some URIs.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterstoragecontainers,scope=Cluster
type ClusterStorageContainer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The container and its URIs.
	// +optional
	Spec StorageContainerSpec `json:"spec,omitempty"`
	// The object is not to be used.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
}

// ClusterStorageContainerList is a list of ClusterStorageContainers.
//
// +kubebuilder:object:root=true
type ClusterStorageContainerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The containers.
	Items []ClusterStorageContainer `json:"items"`
}

// StorageContainerSpec is a container and the URIs that it can fetch.
type StorageContainerSpec struct {
	// Laid over the storage initializer's container.
	Container corev1.Container `json:"container"`
	// URIs that the container can fetch.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	SupportedURIFormats []SupportedURIFormat `json:"supportedUriFormats"`
	// What the container is used for; absent means initContainer.
	// +optional
	// +kubebuilder:default=initContainer
	WorkloadType WorkloadType `json:"workloadType,omitempty"`
	// The container takes several pairs of URI and path.
	// +optional
	// +kubebuilder:default=false
	SupportsMultiModelDownload *bool `json:"supportsMultiModelDownload,omitempty"`
}

// SupportedURIFormat is a set of URIs, by prefix or by regular expression.
//
// +kubebuilder:validation:XValidation:rule="has(self.prefix) && size(self.prefix) != 0 || has(self.regex) && size(self.regex) != 0",message="one of prefix and regex must be set"
type SupportedURIFormat struct {
	// URIs that start so.
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// URIs in which this regular expression is found.
	// +optional
	Regex string `json:"regex,omitempty"`
}

// WorkloadType says what a storage container is used for.
//
// +kubebuilder:validation:Enum=initContainer;localModelDownloadJob
type WorkloadType string

const (
	// InitContainer fetches a model before the pod's containers start.
	InitContainer WorkloadType = "initContainer"
	// LocalModelDownloadJob fetches a model into a local model cache.
	LocalModelDownloadJob WorkloadType = "localModelDownloadJob"
)
