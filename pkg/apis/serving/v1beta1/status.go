// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// InferenceServiceStatus says what has become of a service.
type InferenceServiceStatus struct {
	serving.Status `json:",inline"`

	// Where the service is reached from inside the cluster.
	// +optional
	Address *serving.Address `json:"address,omitempty"`
	// Where the service is reached.
	// +optional
	URL string `json:"url,omitempty"`
	// The components, by role.
	// +optional
	Components map[serving.ComponentRole]ComponentStatus `json:"components,omitempty"`
	// The model of the predictor.
	// +optional
	ModelStatus ModelStatus `json:"modelStatus,omitzero"`
	// The canary predictors.
	// +optional
	// +listType=atomic
	CanaryStatuses []CanaryStatus `json:"canaryStatuses,omitempty"`
	// Deployment mode that is in use.
	// +optional
	DeploymentMode serving.DeploymentMode `json:"deploymentMode,omitempty"`
	// ServingRuntime that serves the model.
	// +optional
	ServingRuntimeName string `json:"servingRuntimeName,omitempty"`
	// ClusterServingRuntime that serves the model.
	// +optional
	ClusterServingRuntimeName string `json:"clusterServingRuntimeName,omitempty"`
}

// ComponentStatus says what has become of a component.
type ComponentStatus struct {
	// Latest revision that has been ready.
	// +optional
	LatestReadyRevision string `json:"latestReadyRevision,omitempty"`
	// Latest revision.
	// +optional
	LatestCreatedRevision string `json:"latestCreatedRevision,omitempty"`
	// Revision that had all the traffic before the present one.
	// +optional
	PreviousRolledoutRevision string `json:"previousRolledoutRevision,omitempty"`
	// Revision that has, or last had, all the traffic.
	// +optional
	LatestRolledoutRevision string `json:"latestRolledoutRevision,omitempty"`
	// Shares of the traffic.
	// +optional
	Traffic []serving.TrafficTarget `json:"traffic,omitempty"`
	// Where the component is reached.
	// +optional
	URL string `json:"url,omitempty"`
	// Where its REST protocol is reached.
	// +optional
	RestURL string `json:"restUrl,omitempty"`
	// Where its gRPC protocol is reached.
	// +optional
	GRPCURL string `json:"grpcUrl,omitempty"`
	// Where the component is reached from inside the cluster.
	// +optional
	Address *serving.Address `json:"address,omitempty"`
}

// CanaryStatus says what has become of a canary predictor.
type CanaryStatus struct {
	// Name of the canary predictor.
	Name string `json:"name"`
	// It can serve now.
	// +optional
	Ready bool `json:"ready,omitempty"`
	// Its share of the traffic in percent, as asked for.
	// +optional
	TrafficPercent int32 `json:"trafficPercent,omitempty"`
	// Its model.
	// +optional
	ModelStatus ModelStatus `json:"modelStatus,omitzero"`
	// Share of the traffic in percent that is in force: what the route of the predictor says.
	// +optional
	Weight *int32 `json:"weight,omitempty"`
	// Share of the requests in percent that the canary gets copies of; what it answers is thrown away.
	// +optional
	ShadowPercent int32 `json:"shadowPercent,omitempty"`
	// Why it does not get its share, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Why it does not get its share.
	// +optional
	Message string `json:"message,omitempty"`
	// What its measurements say.
	// +optional
	Analysis *CanaryAnalysisStatus `json:"analysis,omitempty"`
}

// CanaryVerdict is what the measurements of a canary say.
//
// +kubebuilder:validation:Enum=Waiting;WarmingUp;Passing;Failing;Inconclusive;RolledBack
type CanaryVerdict string

const (
	// CanaryWaiting says that the canary has not been ready yet.
	CanaryWaiting CanaryVerdict = "Waiting"
	// CanaryWarmingUp says that the canary serves and is not judged yet.
	CanaryWarmingUp CanaryVerdict = "WarmingUp"
	// CanaryPassing says that the last look found every measurement within its bounds.
	CanaryPassing CanaryVerdict = "Passing"
	// CanaryFailing says that the last look found a measurement out of its bounds.
	CanaryFailing CanaryVerdict = "Failing"
	// CanaryInconclusive says that the last look found no answer. It neither advances nor ends a canary.
	CanaryInconclusive CanaryVerdict = "Inconclusive"
	// CanaryRolledBack says that the canary gets nothing any more, until its entry in spec.canary changes.
	CanaryRolledBack CanaryVerdict = "RolledBack"
)

// CanaryAnalysisStatus is what is remembered of the analysis of a canary. It is written when the verdict or the share changes, never for a number alone.
type CanaryAnalysisStatus struct {
	// The verdict.
	Verdict CanaryVerdict `json:"verdict"`
	// Why, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Why.
	// +optional
	Message string `json:"message,omitempty"`
	// Time of the verdict.
	// +optional
	Since metav1.Time `json:"since,omitzero"`
	// Percentage that the analysis lets the canary have.
	// +optional
	AllowedPercent int32 `json:"allowedPercent,omitempty"`
	// Number of steps that the canary has passed.
	// +optional
	Step int32 `json:"step,omitempty"`
	// Number of failed looks in a row.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// Hash of the entry in spec.canary that the verdict is about.
	// +optional
	ObservedSpec string `json:"observedSpec,omitempty"`
	// What the look that led to the verdict found.
	// +optional
	// +listType=atomic
	Measurements []CanaryMeasurement `json:"measurements,omitempty"`
}

// CanaryMeasurement is one number that a canary is judged by.
type CanaryMeasurement struct {
	// Name of the measurement: success-rate, latency, or that of a query.
	Name string `json:"name"`
	// The number as text, or why there is none.
	Value string `json:"value"`
	// What it should be.
	// +optional
	Wanted string `json:"wanted,omitempty"`
	// It is as it should be.
	// +optional
	Passed bool `json:"passed,omitempty"`
}

// TransitionStatus says how far the change to the wanted model has come.
//
// +kubebuilder:validation:Enum="";UpToDate;InProgress;BlockedByFailedLoad;InvalidSpec
type TransitionStatus string

const (
	// UpToDate says that the wanted model is served.
	UpToDate TransitionStatus = "UpToDate"
	// InProgress says that the wanted model is being loaded.
	InProgress TransitionStatus = "InProgress"
	// BlockedByFailedLoad says that the wanted model could not be loaded.
	BlockedByFailedLoad TransitionStatus = "BlockedByFailedLoad"
	// InvalidSpec says that the service asks for what cannot be.
	InvalidSpec TransitionStatus = "InvalidSpec"
)

// ModelState says how far a model has come.
//
// +kubebuilder:validation:Enum="";Pending;Standby;Loading;Loaded;FailedToLoad
type ModelState string

const (
	// Pending says that nothing serves the model yet.
	Pending ModelState = "Pending"
	// Standby says that the model is loaded when it is asked for.
	Standby ModelState = "Standby"
	// Loading says that the model is on its way into memory.
	Loading ModelState = "Loading"
	// Loaded says that the model answers.
	Loaded ModelState = "Loaded"
	// FailedToLoad says that the model could not be loaded.
	FailedToLoad ModelState = "FailedToLoad"
)

// ModelStatus says what has become of a model.
type ModelStatus struct {
	// How far the change to the wanted model has come.
	// +kubebuilder:default=UpToDate
	TransitionStatus TransitionStatus `json:"transitionStatus"`
	// States of the served and of the wanted model.
	// +optional
	ModelRevisionStates *ModelRevisionStates `json:"states,omitempty"`
	// The last failure.
	// +optional
	LastFailureInfo *FailureInfo `json:"lastFailureInfo,omitempty"`
	// Copies of the model.
	// +optional
	ModelCopies *ModelCopies `json:"copies,omitempty"`
}

// ModelRevisionStates are the states of the served and of the wanted model.
type ModelRevisionStates struct {
	// State of the model that is served.
	// +kubebuilder:default=Pending
	ActiveModelState ModelState `json:"activeModelState"`
	// State of the model that is wanted.
	// +optional
	// +kubebuilder:default=""
	TargetModelState ModelState `json:"targetModelState,omitempty"`
}

// ModelCopies counts the copies of a model.
type ModelCopies struct {
	// Copies that failed.
	// +kubebuilder:default=0
	FailedCopies int `json:"failedCopies"`
	// All copies.
	// +optional
	TotalCopies int `json:"totalCopies,omitempty"`
}

// FailureInfo is the last failure of a model.
type FailureInfo struct {
	// Pod or host where it failed.
	// +optional
	Location string `json:"location,omitempty"`
	// Kind of the failure.
	// +optional
	Reason FailureReason `json:"reason,omitempty"`
	// The failure in a sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// Revision that failed.
	// +optional
	ModelRevisionName string `json:"modelRevisionName,omitempty"`
	// When it failed.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Exit code of the container that failed.
	// +optional
	ExitCode int32 `json:"exitCode,omitempty"`
}
