// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// GraphRootNode is the node that every request of an InferenceGraph enters.
const GraphRootNode = "root"

// InferenceGraph sends a request through several services.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=inferencegraphs,shortName=ig,scope=Namespaced
// +kubebuilder:printcolumn:name="URL",type="string",JSONPath=".status.url"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name must start with a letter a-z, end with a letter or digit, and hold only lower-case letters, digits and '-'",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",message="the name must not be longer than 63 characters",optionalOldSelf=true
type InferenceGraph struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The graph.
	// +optional
	Spec InferenceGraphSpec `json:"spec,omitempty"`
	// What has become of it.
	// +optional
	Status InferenceGraphStatus `json:"status,omitzero"`
}

// InferenceGraphList is a list of InferenceGraphs.
//
// +kubebuilder:object:root=true
type InferenceGraphList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The graphs.
	Items []InferenceGraph `json:"items"`
}

// InferenceGraphSpec is a graph and the pod of its router.
//
// +kubebuilder:validation:XValidation:rule="'root' in self.nodes",message="a graph starts at the node root, which is missing",fieldPath=".nodes"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || self.maxReplicas == 0 || (has(self.minReplicas) ? self.minReplicas : 1) <= self.maxReplicas",message="minReplicas must not be greater than maxReplicas"
// +kubebuilder:validation:XValidation:rule="self.nodes.all(n, !has(self.nodes[n].steps) || self.nodes[n].steps.all(s, !has(s.nodeName) || size(s.nodeName) == 0 || s.nodeName in self.nodes))",message="nodeName must be a key of nodes",fieldPath=".nodes"
type InferenceGraphSpec struct {
	// Nodes by name; a request enters at the one called root.
	// +kubebuilder:validation:MaxProperties=256
	Nodes map[string]InferenceRouter `json:"nodes"`
	// Resources of the router; written even when empty, because the router's argument has always held them.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// Nodes and pods to be near to or far from.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Seconds that a request may take.
	// +optional
	TimeoutSeconds *int64 `json:"timeout,omitempty"`
	// Timeouts of the router's server and client.
	// +optional
	RouterTimeouts *InferenceRouterTimeouts `json:"routerTimeouts,omitempty"`
	// Least number of routers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Greatest number of routers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// Target of the scale metric.
	// +optional
	ScaleTarget *int32 `json:"scaleTarget,omitempty"`
	// Metric to scale on.
	// +optional
	ScaleMetric *GraphScaleMetric `json:"scaleMetric,omitempty"`
	// Taints of nodes that are no obstacle.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Labels that the node must have.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Node that the router is bound to.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// Service account of the router.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// GraphScaleMetric is a metric that a router scales on.
//
// +kubebuilder:validation:Enum=cpu;memory;concurrency;rps
type GraphScaleMetric string

// The metrics of InferenceGraphSpec.ScaleMetric.
const (
	GraphMetricCPU         GraphScaleMetric = "cpu"
	GraphMetricMemory      GraphScaleMetric = "memory"
	GraphMetricConcurrency GraphScaleMetric = "concurrency"
	GraphMetricRPS         GraphScaleMetric = "rps"
)

// InferenceRouterTimeouts are the timeouts of the router in seconds.
type InferenceRouterTimeouts struct {
	// Reading a request.
	// +optional
	ServerRead *int64 `json:"serverRead,omitempty"`
	// Writing an answer.
	// +optional
	ServerWrite *int64 `json:"serverWrite,omitempty"`
	// Keeping an idle connection.
	// +optional
	ServerIdle *int64 `json:"serverIdle,omitempty"`
	// Calling a service.
	// +optional
	ServiceClient *int64 `json:"serviceClient,omitempty"`
}

// InferenceRouterType says what a node does with its steps.
//
// +kubebuilder:validation:Enum=Sequence;Splitter;Ensemble;Switch
type InferenceRouterType string

const (
	// Sequence runs the steps one after another.
	Sequence InferenceRouterType = "Sequence"
	// Splitter sends a request to one step, drawn by weight.
	Splitter InferenceRouterType = "Splitter"
	// Ensemble sends a request to all steps and joins the answers.
	Ensemble InferenceRouterType = "Ensemble"
	// Switch sends a request to the first step whose condition holds.
	Switch InferenceRouterType = "Switch"
)

// InferenceRouterTypes returns every router type, in the order in which messages list them.
func InferenceRouterTypes() []InferenceRouterType {
	return []InferenceRouterType{Sequence, Splitter, Ensemble, Switch}
}

// InferenceRouter is a node of a graph.
//
// +kubebuilder:validation:XValidation:rule="self.routerType != 'Splitter' || has(self.steps) && self.steps.all(s, has(s.weight)) && self.steps.map(s, s.weight).sum() == 100",message="every step of a Splitter needs a weight, and the weights must sum up to 100",fieldPath=".steps"
type InferenceRouter struct {
	// What the node does with its steps.
	RouterType InferenceRouterType `json:"routerType"`
	// The steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Steps []InferenceStep `json:"steps,omitempty"`
}

// InferenceStep is one call of a node.
//
// +kubebuilder:validation:XValidation:rule="[has(self.nodeName) && size(self.nodeName) != 0, has(self.serviceName) && size(self.serviceName) != 0, has(self.serviceUrl) && size(self.serviceUrl) != 0].filter(x, x).size() == 1",message="exactly one of nodeName, serviceName and serviceUrl must be set"
type InferenceStep struct {
	// Name of the step in answers; unique in its node.
	// +optional
	StepName string `json:"name,omitempty"`

	InferenceTarget `json:",inline"`

	// What is sent: $request or $response.predictions; absent means what a sequence gives.
	// +optional
	Data string `json:"data,omitempty"`
	// Send the predictions of the step before as instances.
	// +optional
	MapPredictionsToInstances bool `json:"mapPredictionsToInstances,omitempty"`
	// Share in percent of a splitter's requests.
	// +optional
	Weight *int64 `json:"weight,omitempty"`
	// Path into the data that must exist for the step to run.
	// +optional
	Condition string `json:"condition,omitempty"`
	// Soft lets the graph go on when the step fails; Hard ends it.
	// +optional
	Dependency InferenceStepDependency `json:"dependency,omitempty"`
}

// InferenceTarget is what a step calls: exactly one of its fields.
type InferenceTarget struct {
	// A node of the graph.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// An InferenceService of the namespace.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// Any URL.
	// +optional
	ServiceURL string `json:"serviceUrl,omitempty"`
}

// InferenceStepDependency says whether a graph goes on when a step fails.
//
// +kubebuilder:validation:Enum=Soft;Hard
type InferenceStepDependency string

const (
	// Soft lets the graph go on.
	Soft InferenceStepDependency = "Soft"
	// Hard ends the graph with the step's answer.
	Hard InferenceStepDependency = "Hard"
)

// InferenceGraphStatus says what has become of a graph.
type InferenceGraphStatus struct {
	serving.Status `json:",inline"`

	// Where the graph is reached.
	// +optional
	URL string `json:"url,omitempty"`
	// Deployment mode that is in use.
	// +optional
	DeploymentMode serving.DeploymentMode `json:"deploymentMode,omitempty"`
}
