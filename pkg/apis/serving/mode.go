// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import "strings"

// DeploymentMode says what kind of workload a service becomes.
type DeploymentMode string

// The deployment modes, in the spelling that is always written.
const (
	// Standard makes Deployments, Services and autoscalers.
	Standard DeploymentMode = "Standard"
	// Knative makes Knative Services.
	Knative DeploymentMode = "Knative"
	// ModelMesh leaves the service to a ModelMesh controller.
	ModelMesh DeploymentMode = "ModelMesh"
)

// Older spellings that are still accepted as input.
const (
	LegacyRawDeployment = "RawDeployment"
	LegacyServerless    = "Serverless"
)

// ParseDeploymentMode reads a mode in its new or old spelling; ok is false for any other text.
func ParseDeploymentMode(text string) (mode DeploymentMode, ok bool) {
	switch text {
	case string(Standard), LegacyRawDeployment:
		return Standard, true
	case string(Knative), LegacyServerless:
		return Knative, true
	case string(ModelMesh):
		return ModelMesh, true
	}
	return "", false
}

// ProtocolVersion is the inference protocol that a model server speaks.
type ProtocolVersion string

// The protocol versions that a service or a runtime may name.
const (
	ProtocolV1     ProtocolVersion = "v1"
	ProtocolV2     ProtocolVersion = "v2"
	ProtocolGRPCV1 ProtocolVersion = "grpc-v1"
	ProtocolGRPCV2 ProtocolVersion = "grpc-v2"
)

// ProtocolVersions returns every protocol version, in the order in which messages list them.
func ProtocolVersions() []ProtocolVersion {
	return []ProtocolVersion{ProtocolV1, ProtocolV2, ProtocolGRPCV1, ProtocolGRPCV2}
}

// ListProtocols lists them in a text.
func ListProtocols() string {
	var all []string
	for _, p := range ProtocolVersions() {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// AutoscalerClass is the value of AnnotationAutoscalerClass.
type AutoscalerClass string

// The autoscalers of Standard mode.
const (
	// AutoscalerHPA is a HorizontalPodAutoscaler, the default.
	AutoscalerHPA AutoscalerClass = "hpa"
	// AutoscalerKEDA is a KEDA ScaledObject.
	AutoscalerKEDA AutoscalerClass = "keda"
	// AutoscalerExternal leaves the replica count to somebody else.
	AutoscalerExternal AutoscalerClass = "external"
	// AutoscalerNone fixes the replica count.
	AutoscalerNone AutoscalerClass = "none"
)

// AutoscalerClasses returns every autoscaler class, in the order in which messages list them.
func AutoscalerClasses() []AutoscalerClass {
	return []AutoscalerClass{AutoscalerHPA, AutoscalerKEDA, AutoscalerExternal, AutoscalerNone}
}

// KnativeHPAClass is the value of AnnotationKnativeAutoscalerClass that asks Knative for a HorizontalPodAutoscaler.
const KnativeHPAClass = "hpa.autoscaling.knative.dev"

// GPUResources returns the resource names that count as GPUs without any configuration.
func GPUResources() []string {
	return []string{"nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "habana.ai/gaudi"}
}
