// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// ServingRuntime is a model server that the services of its namespace can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=servingruntimes,scope=Namespaced
// +kubebuilder:printcolumn:name="Disabled",type="boolean",JSONPath=".spec.disabled"
// +kubebuilder:printcolumn:name="ModelType",type="string",JSONPath=".spec.supportedModelFormats[*].name"
// +kubebuilder:printcolumn:name="Containers",type="string",JSONPath=".spec.containers[*].name"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ServingRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The model server.
	// +optional
	Spec ServingRuntimeSpec `json:"spec,omitempty"`
	// Nothing yet.
	// +optional
	Status ServingRuntimeStatus `json:"status,omitzero"`
}

// ServingRuntimeList is a list of ServingRuntimes.
//
// +kubebuilder:object:root=true
type ServingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The runtimes.
	Items []ServingRuntime `json:"items"`
}

// ClusterServingRuntime is a model server that the services of every namespace can use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusterservingruntimes,scope=Cluster
// +kubebuilder:printcolumn:name="Disabled",type="boolean",JSONPath=".spec.disabled"
// +kubebuilder:printcolumn:name="ModelType",type="string",JSONPath=".spec.supportedModelFormats[*].name"
// +kubebuilder:printcolumn:name="Containers",type="string",JSONPath=".spec.containers[*].name"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
type ClusterServingRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The model server.
	// +optional
	Spec ServingRuntimeSpec `json:"spec,omitempty"`
	// Nothing yet.
	// +optional
	Status ServingRuntimeStatus `json:"status,omitzero"`
}

// ClusterServingRuntimeList is a list of ClusterServingRuntimes.
//
// +kubebuilder:object:root=true
type ClusterServingRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// The runtimes.
	Items []ClusterServingRuntime `json:"items"`
}

// ServingRuntimeStatus has no fields yet.
type ServingRuntimeStatus struct{}

// ServingRuntimeSpec is a model server: what it can serve and the pod that does it.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.workerSpec) || has(self.workerSpec) || has(self.disabled) && self.disabled",message="workerSpec cannot be removed: make a new runtime",fieldPath=".workerSpec"
type ServingRuntimeSpec struct {
	// Formats that the server can load.
	// +optional
	// +listType=atomic
	SupportedModelFormats []SupportedModelFormat `json:"supportedModelFormats,omitempty"`
	// One pod serves many models.
	// +optional
	MultiModel *bool `json:"multiModel,omitempty"`
	// The runtime is not to be used.
	// +optional
	Disabled *bool `json:"disabled,omitempty"`
	// Protocols that the server speaks: v1, v2, grpc-v1, grpc-v2.
	// +optional
	// +listType=atomic
	ProtocolVersions []serving.ProtocolVersion `json:"protocolVersions,omitempty"`
	// Worker pods of a model that needs several nodes.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`

	ServingRuntimePodSpec `json:",inline"`

	// Where ModelMesh reaches the server's management.
	// +optional
	GRPCMultiModelManagementEndpoint *string `json:"grpcEndpoint,omitempty"`
	// Where ModelMesh reaches the server's gRPC protocol.
	// +optional
	GRPCDataEndpoint *string `json:"grpcDataEndpoint,omitempty"`
	// Where ModelMesh reaches the server's REST protocol.
	// +optional
	HTTPDataEndpoint *string `json:"httpDataEndpoint,omitempty"`
	// Number of pods under ModelMesh.
	// +optional
	Replicas *uint16 `json:"replicas,omitempty"`
	// Model fetching under ModelMesh.
	// +optional
	StorageHelper *StorageHelper `json:"storageHelper,omitempty"`
	// Adapter between ModelMesh and the server.
	// +optional
	BuiltInAdapter *BuiltInAdapter `json:"builtInAdapter,omitempty"`
}

// SupportedModelFormat is a format that a runtime can load.
type SupportedModelFormat struct {
	// Name of the format, as in sklearn.
	Name string `json:"name"`
	// Version of the format; absent supports every version.
	// +optional
	Version *string `json:"version,omitempty"`
	// The runtime may be chosen for services that name only a format.
	// +optional
	AutoSelect *bool `json:"autoSelect,omitempty"`
	// Of several runtimes for a format and version, the one with the greatest priority is chosen.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Priority *int32 `json:"priority,omitempty"`
}

// ServingRuntimePodSpec is the part of a pod that a runtime may set.
type ServingRuntimePodSpec struct {
	// Containers of the server; the one called kserve-container holds the model.
	// +listType=map
	// +listMapKey=name
	Containers []corev1.Container `json:"containers" patchStrategy:"merge" patchMergeKey:"name"`
	// Volumes that containers can mount.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	// Labels that the node must have.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Nodes and pods to be near to or far from.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Taints of nodes that are no obstacle.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Labels of the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Secrets to pull images with.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// Scheduler that places the pods.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`
	// Use the node's inter-process communication.
	// +optional
	HostIPC bool `json:"hostIPC,omitempty"`
	// Claims for devices that containers refer to.
	// +optional
	// +listType=map
	// +listMapKey=name
	ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
}

// WorkerSpec describes the worker pods of a multi-node server.
//
// +kubebuilder:validation:XValidation:rule="self.containers.size() <= 1",message="worker pods have one container: worker-container",fieldPath=".containers"
type WorkerSpec struct {
	ServingRuntimePodSpec `json:",inline"`

	// Number of nodes that a model is spread over.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PipelineParallelSize *int `json:"pipelineParallelSize,omitempty"`
	// Number of GPUs per node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TensorParallelSize *int `json:"tensorParallelSize,omitempty"`
}

// StorageHelper says whether ModelMesh fetches models.
type StorageHelper struct {
	// The server fetches models itself.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
}

// ServerType names a server that ModelMesh has an adapter for.
type ServerType string

// The servers that ModelMesh has an adapter for.
const (
	ServerTypeTriton   ServerType = "triton"
	ServerTypeMLServer ServerType = "mlserver"
	ServerTypeOVMS     ServerType = "ovms"
)

// BuiltInAdapter is the adapter between ModelMesh and a server.
type BuiltInAdapter struct {
	// Which server: triton, mlserver or ovms.
	// +optional
	ServerType ServerType `json:"serverType,omitempty"`
	// Port of the server's management.
	// +optional
	RuntimeManagementPort int `json:"runtimeManagementPort,omitempty"`
	// Memory that is kept free for the server itself.
	// +optional
	MemBufferBytes int `json:"memBufferBytes,omitempty"`
	// Milliseconds that loading a model may take.
	// +optional
	ModelLoadingTimeoutMillis int `json:"modelLoadingTimeoutMillis,omitempty"`
	// Variables of the adapter.
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
}
