// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import "github.com/kserve-go/kserve-go/pkg/apis/serving"

// Condition types of an InferenceService, beside serving.ConditionReady.
const (
	PredictorReady   serving.ConditionType = "PredictorReady"
	TransformerReady serving.ConditionType = "TransformerReady"
	ExplainerReady   serving.ConditionType = "ExplainerReady"

	PredictorRouteReady   serving.ConditionType = "PredictorRouteReady"
	TransformerRouteReady serving.ConditionType = "TransformerRouteReady"
	// ExplainerRoutesReady has a plural of its own; clients know it so.
	ExplainerRoutesReady serving.ConditionType = "ExplainerRoutesReady"

	PredictorConfigurationReady   serving.ConditionType = "PredictorConfigurationReady"
	TransformerConfigurationReady serving.ConditionType = "TransformerConfigurationReady"
	ExplainerConfigurationReady   serving.ConditionType = "ExplainerConfigurationReady"

	// IngressReady says that the service can be reached from outside.
	IngressReady serving.ConditionType = "IngressReady"
	// RoutesReady and LatestDeploymentReady sum up the components.
	RoutesReady           serving.ConditionType = "RoutesReady"
	LatestDeploymentReady serving.ConditionType = "LatestDeploymentReady"
	// CanaryPredictorReady says that every canary predictor can serve.
	CanaryPredictorReady serving.ConditionType = "CanaryPredictorReady"
	// Stopped says that the stop annotation is in force.
	Stopped serving.ConditionType = "Stopped"
	// OCIImageVolumeCompatible is an advice: False where the cluster cannot mount images as volumes.
	OCIImageVolumeCompatible serving.ConditionType = "OciImageVolumeCompatible"
	// AutoscalerReady and HostUnique are there while they are False, and the service may be ready all the same: an autoscaler cannot do its
	// work, another service claims a host of this one.
	AutoscalerReady serving.ConditionType = "AutoscalerReady"
	HostUnique      serving.ConditionType = "HostUnique"
)

// FailureReason is the reason of a FailureInfo, and of the conditions that go with it.
//
// +kubebuilder:validation:Enum=ModelLoadFailed;RuntimeUnhealthy;RuntimeDisabled;NoSupportingRuntime;RuntimeNotRecognized;InvalidPredictorSpec
type FailureReason string

const (
	// ModelLoadFailed says that the server could not load the model.
	ModelLoadFailed FailureReason = "ModelLoadFailed"
	// RuntimeUnhealthy says that the runtime's containers do not run.
	RuntimeUnhealthy FailureReason = "RuntimeUnhealthy"
	// RuntimeDisabled says that the chosen runtime is disabled.
	RuntimeDisabled FailureReason = "RuntimeDisabled"
	// NoSupportingRuntime says that no runtime supports the model.
	NoSupportingRuntime FailureReason = "NoSupportingRuntime"
	// RuntimeNotRecognized says that the chosen runtime does not exist.
	RuntimeNotRecognized FailureReason = "RuntimeNotRecognized"
	// InvalidPredictorSpec says that the predictor contradicts itself or its runtime.
	InvalidPredictorSpec FailureReason = "InvalidPredictorSpec"
)

// Further reasons of conditions.
const (
	// ReasonInvalidWorkerSpec says that service and runtime do not agree about worker pods.
	ReasonInvalidWorkerSpec = "InvalidWorkerSpecNotSet"
	// ReasonInvalidGPUAllocation says that the GPUs asked for do not fit the parallel sizes.
	ReasonInvalidGPUAllocation = "InvalidGPUAllocation"
	// ReasonStopped says that the stop annotation is in force.
	ReasonStopped = "Stopped"
	// ReasonReconcileFailed says that the last attempt to make the objects failed.
	ReasonReconcileFailed = "ReconcileFailed"
	// ReasonImageVolumeUnsupported, SubPathUnsupported and Alpha tell which feature of image volumes the cluster lacks.
	ReasonImageVolumeUnsupported        = "ImageVolumeUnsupported"
	ReasonImageVolumeSubPathUnsupported = "ImageVolumeSubPathUnsupported"
	ReasonImageVolumeAlpha              = "ImageVolumeAlpha"
)
