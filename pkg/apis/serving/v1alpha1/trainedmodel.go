// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// TrainedModel is a model that is added to a running service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=trainedmodels,shortName=tm,scope=Namespaced
// +kubebuilder:printcolumn:name="URL",type="string",JSONPath=".status.url"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-zA-Z0-9_-]+$')",message="the name must hold only letters, digits, '_' and '-'",optionalOldSelf=true
type TrainedModel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The model.
	// +optional
	Spec TrainedModelSpec `json:"spec,omitempty"`
	// What has become of it.
	// +optional
	Status TrainedModelStatus `json:"status,omitzero"`
}

// TrainedModelList is a list of TrainedModels.
//
// +kubebuilder:object:root=true
type TrainedModelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The models.
	Items []TrainedModel `json:"items"`
}

// TrainedModelSpec is a model and the service that it is added to.
type TrainedModelSpec struct {
	// Service that serves the model.
	InferenceService string `json:"inferenceService"`
	// The model.
	Model TrainedModelSource `json:"model"`
}

// TrainedModelSource is where a model is and what it needs.
type TrainedModelSource struct {
	// Source of the model.
	// +kubebuilder:validation:Pattern=`^(s3|gs|https|http)://`
	StorageURI string `json:"storageUri"`
	// Format of the model, as in sklearn.
	Framework string `json:"framework"`
	// Memory that the model needs; cannot be changed.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="memory cannot be changed: make a new model"
	Memory resource.Quantity `json:"memory"`
}

// TrainedModelStatus says what has become of a model.
type TrainedModelStatus struct {
	serving.Status `json:",inline"`

	// Where the model is reached.
	// +optional
	URL string `json:"url,omitempty"`
	// Where the model is reached from inside the cluster.
	// +optional
	Address *serving.Address `json:"address,omitempty"`
}

// Condition types of a TrainedModel, beside serving.ConditionReady, which needs all of them.
const (
	// InferenceServiceReady says that the service can serve.
	InferenceServiceReady serving.ConditionType = "InferenceServiceReady"
	// MemoryResourceAvailable says that the service has memory for the model.
	MemoryResourceAvailable serving.ConditionType = "MemoryResourceAvailable"
	// IsMMSPredictor says that the service's predictor serves many models.
	IsMMSPredictor serving.ConditionType = "IsMMSPredictor"
)
