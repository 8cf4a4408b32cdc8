// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"bytes"
	"encoding/json"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
)

// ScaleMetric is a metric that a component scales on.
//
// +kubebuilder:validation:Enum=cpu;memory;concurrency;rps
type ScaleMetric string

// The metrics of ComponentExtensionSpec.ScaleMetric.
const (
	MetricCPU         ScaleMetric = "cpu"
	MetricMemory      ScaleMetric = "memory"
	MetricConcurrency ScaleMetric = "concurrency"
	MetricRPS         ScaleMetric = "rps"
)

// AutoScalingSpec scales on several metrics and at chosen speeds.
type AutoScalingSpec struct {
	// The metrics; the one that asks for most replicas wins.
	// +optional
	Metrics []MetricsSpec `json:"metrics,omitempty"`
	// How fast to scale up and down.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// MetricSourceType says which field of a MetricsSpec is set.
//
// +kubebuilder:validation:Enum=Resource;External;PodMetric
type MetricSourceType string

// The kinds of a metric.
const (
	ResourceMetricSource MetricSourceType = "Resource"
	ExternalMetricSource MetricSourceType = "External"
	PodMetricSource      MetricSourceType = "PodMetric"
)

// MetricsSpec is one metric and its target.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'Resource' ? has(self.resource) : self.type == 'External' ? has(self.external) : has(self.podmetric)",message="the field that type names must be set: resource, external or podmetric"
type MetricsSpec struct {
	// Which of the other fields is set.
	Type MetricSourceType `json:"type"`
	// cpu or memory of the pods.
	// +optional
	Resource *ResourceMetric `json:"resource,omitempty"`
	// A query to a metrics store.
	// +optional
	External *ExternalMetric `json:"external,omitempty"`
	// A metric that the pods push.
	// +optional
	PodMetric *PodMetric `json:"podmetric,omitempty"`
}

// ResourceMetricName is cpu or memory.
//
// +kubebuilder:validation:Enum=cpu;memory
type ResourceMetricName string

// The resources that a pod can be scaled on.
const (
	ResourceCPU    ResourceMetricName = "cpu"
	ResourceMemory ResourceMetricName = "memory"
)

// ResourceMetric is cpu or memory of the pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.target.type) || self.target.type != 'Value'",message="a resource is measured per pod: use Utilization or AverageValue",fieldPath=".target.type"
// +kubebuilder:validation:XValidation:rule="self.name != 'memory' || has(self.target) && (has(self.target.averageUtilization) || has(self.target.averageValue))",message="memory has no target of its own: set averageUtilization or averageValue",fieldPath=".target"
type ResourceMetric struct {
	// cpu or memory.
	Name ResourceMetricName `json:"name"`
	// Target of the metric.
	// +optional
	Target MetricTarget `json:"target,omitzero"`
}

// ExternalMetric is a query to a metrics store.
type ExternalMetric struct {
	// The query.
	// +optional
	Metric ExternalMetrics `json:"metric,omitzero"`
	// Credentials for the store.
	// +optional
	AuthenticationRef *ExtMetricAuthentication `json:"authenticationRef,omitempty"`
	// Target of the metric.
	// +optional
	Target MetricTarget `json:"target,omitzero"`
}

// PodMetric is a metric that the pods push.
type PodMetric struct {
	// The metric.
	// +optional
	Metric PodMetrics `json:"metric,omitzero"`
	// Target of the metric.
	// +optional
	Target MetricTarget `json:"target,omitzero"`
}

// ExternalBackend is a metrics store.
//
// +kubebuilder:validation:Enum=prometheus;graphite
type ExternalBackend string

// The metrics stores.
const (
	BackendPrometheus ExternalBackend = "prometheus"
	BackendGraphite   ExternalBackend = "graphite"
)

// ExternalMetrics is a query to a metrics store.
type ExternalMetrics struct {
	// Kind of the store.
	Backend ExternalBackend `json:"backend"`
	// URL of the store.
	// +optional
	ServerAddress string `json:"serverAddress,omitempty"`
	// The query.
	// +optional
	Query string `json:"query,omitempty"`
	// Namespace that the query is confined to.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// ExtMetricAuthentication names credentials for a metrics store.
type ExtMetricAuthentication struct {
	// Ways to authenticate, separated by commas.
	// +optional
	AuthModes string `json:"authModes,omitempty"`
	// The object with the credentials.
	AuthenticationRef AuthenticationRef `json:"authenticationRef"`
}

// AuthenticationRef names a TriggerAuthentication of KEDA.
type AuthenticationRef struct {
	// Name of the object.
	Name string `json:"name"`
}

// PodMetricBackend is how pods push a metric.
//
// +kubebuilder:validation:Enum=opentelemetry
type PodMetricBackend string

// BackendOpenTelemetry is the one PodMetricBackend.
const BackendOpenTelemetry PodMetricBackend = "opentelemetry"

// PodMetrics is a metric that the pods push.
type PodMetrics struct {
	// How the metric is pushed.
	Backend PodMetricBackend `json:"backend"`
	// Address of the scaler.
	// +optional
	ServerAddress string `json:"serverAddress,omitempty"`
	// Metrics that are collected.
	// +optional
	MetricNames []string `json:"metricNames,omitempty"`
	// The query.
	// +optional
	Query string `json:"query,omitempty"`
	// How values are joined over time, as in avg.
	// +optional
	OperationOverTime string `json:"operationOverTime,omitempty"`
}

// MetricTargetType says which field of a MetricTarget is set.
//
// +kubebuilder:validation:Enum=Utilization;Value;AverageValue
type MetricTargetType string

// The kinds of a target.
const (
	UtilizationTarget  MetricTargetType = "Utilization"
	ValueTarget        MetricTargetType = "Value"
	AverageValueTarget MetricTargetType = "AverageValue"
)

// MetricTarget is what a metric is held at.
type MetricTarget struct {
	// Which of the other fields is set.
	// +optional
	Type MetricTargetType `json:"type,omitempty"`
	// Sum over all pods.
	// +optional
	Value *MetricQuantity `json:"value,omitempty"`
	// Mean over all pods.
	// +optional
	AverageValue *MetricQuantity `json:"averageValue,omitempty"`
	// Mean over all pods, in percent of what they request.
	// +optional
	// +kubebuilder:validation:Minimum=1
	AverageUtilization *int32 `json:"averageUtilization,omitempty"`
}

// MetricQuantity is a resource quantity in the user's own words: 1000m stays 1000m.
//
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:Pattern=`^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
type MetricQuantity string

// Quantity returns the number that the words mean.
func (q MetricQuantity) Quantity() (resource.Quantity, error) {
	return quantity.Parse(string(q))
}

// UnmarshalJSON reads a string or a bare number and refuses what is no quantity.
func (q *MetricQuantity) UnmarshalJSON(data []byte) error {
	text := string(bytes.TrimSpace(data))
	if text == "null" {
		return nil
	}
	if len(text) > 0 && text[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return fmt.Errorf("read quantity: %w", err)
		}
	}
	if _, err := quantity.Parse(text); err != nil {
		return fmt.Errorf("read quantity %q: %w", text, err)
	}
	*q = MetricQuantity(text)
	return nil
}
