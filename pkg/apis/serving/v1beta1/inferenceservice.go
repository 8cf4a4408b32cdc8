// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InferenceService serves one model, with an optional transformer before it and explainer beside it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=inferenceservices,shortName=isvc,scope=Namespaced
// +kubebuilder:printcolumn:name="URL",type="string",JSONPath=".status.url"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Prev",type="integer",JSONPath=".status.components.predictor.traffic[?(@.tag=='prev')].percent"
// +kubebuilder:printcolumn:name="Latest",type="integer",JSONPath=".status.components.predictor.traffic[?(@.latestRevision==true)].percent"
// +kubebuilder:printcolumn:name="PrevRolledoutRevision",type="string",JSONPath=".status.components.predictor.traffic[?(@.tag=='prev')].revisionName"
// +kubebuilder:printcolumn:name="LatestReadyRevision",type="string",JSONPath=".status.components.predictor.traffic[?(@.latestRevision==true)].revisionName"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name must start with a letter a-z, end with a letter or digit, and hold only lower-case letters, digits and '-'",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 53",message="the name must not be longer than 53 characters: the name of its predictor, with -predictor at the end, must fit into 63",optionalOldSelf=true
type InferenceService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is wanted.
	// +optional
	Spec InferenceServiceSpec `json:"spec,omitempty"`
	// What is.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status InferenceServiceStatus `json:"status,omitzero"`
}

// InferenceServiceList is a list of InferenceServices.
//
// +kubebuilder:object:root=true
type InferenceServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The services.
	Items []InferenceService `json:"items"`
}

// InferenceServiceSpec says what to serve.
//
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || self.canary.map(c, c.trafficPercent).sum() <= 100",message="the shares of all canary predictors together must not be more than 100",fieldPath=".canary"
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || self.canary.all(a, !has(a.predictor.name) || self.canary.exists_one(b, has(b.predictor.name) && b.predictor.name == a.predictor.name))",message="each canary predictor needs a name of its own",fieldPath=".canary"
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || !has(self.predictor.name) || self.canary.all(c, !has(c.predictor.name) || c.predictor.name != self.predictor.name)",message="a canary predictor must not have the name of the stable predictor",fieldPath=".canary"
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || self.canary.all(c, !has(c.predictor.minReplicas) || c.predictor.minReplicas <= (has(self.predictor.minReplicas) ? self.predictor.minReplicas : 1))",message="a canary predictor must not have more minReplicas than the stable predictor",fieldPath=".canary"
type InferenceServiceSpec struct {
	// Serves the model.
	Predictor PredictorSpec `json:"predictor"`
	// Answers questions about predictions.
	// +optional
	Explainer *ExplainerSpec `json:"explainer,omitempty"`
	// Changes requests before and answers after the predictor.
	// +optional
	Transformer *TransformerSpec `json:"transformer,omitempty"`
	// Further predictors that get a share of the traffic; Standard mode only.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Canary []CanarySpec `json:"canary,omitempty"`
	// OpenTelemetry traces of the serving containers.
	// +optional
	Tracing *TracingSpec `json:"tracing,omitempty"`
}

// CanarySpec is a further predictor with a share of the traffic.
//
// +kubebuilder:validation:XValidation:rule="has(self.predictor.name) && size(self.predictor.name) != 0",message="a canary predictor needs a name of its own",fieldPath=".predictor"
// +kubebuilder:validation:XValidation:rule="!has(self.predictor.workerSpec)",message="a canary predictor cannot span several nodes: remove workerSpec",fieldPath=".predictor"
// +kubebuilder:validation:XValidation:rule="(!has(self.predictor.maxReplicas) || self.predictor.maxReplicas == 0) && !has(self.predictor.scaleTarget) && !has(self.predictor.scaleMetric) && !has(self.predictor.autoScaling)",message="a canary predictor is not scaled: remove maxReplicas, scaleTarget, scaleMetric and autoScaling",fieldPath=".predictor"
type CanarySpec struct {
	// The predictor; it needs a name of its own.
	Predictor PredictorSpec `json:"predictor"`
	// Share of the traffic in percent.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	TrafficPercent int32 `json:"trafficPercent"`
}

// TracingSpec becomes the OTEL_ variables of the serving containers. A variable that a container sets itself wins.
type TracingSpec struct {
	// Exporter of the traces (OTEL_TRACES_EXPORTER); absent means otlp.
	// +optional
	Exporter string `json:"exporter,omitempty"`
	// Where the exporter sends to (OTEL_EXPORTER_OTLP_ENDPOINT); absent means http://otel-collector:4317.
	// +optional
	ExporterEndpoint string `json:"exporterEndpoint,omitempty"`
	// Which traces are kept (OTEL_TRACES_SAMPLER).
	// +optional
	Sampler string `json:"sampler,omitempty"`
	// Argument of the sampler (OTEL_TRACES_SAMPLER_ARG).
	// +optional
	SamplerArg string `json:"samplerArg,omitempty"`
}

// What TracingSpec means where a field is absent.
const (
	DefaultTracingExporter = "otlp"
	DefaultTracingEndpoint = "http://otel-collector:4317"
)
