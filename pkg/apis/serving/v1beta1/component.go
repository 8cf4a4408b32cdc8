// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// PredictorSpec is a model server: a model and, by choice, fields of its pod.
//
// +kubebuilder:validation:XValidation:rule="[has(self.sklearn), has(self.xgboost), has(self.tensorflow), has(self.pytorch), has(self.triton), has(self.onnx), has(self.huggingface), has(self.pmml), has(self.lightgbm), has(self.paddle), has(self.model)].filter(x, x).size() == (has(self.containers) && self.containers.exists(c, c.name == 'kserve-container') ? 0 : 1) || [has(self.sklearn), has(self.xgboost), has(self.tensorflow), has(self.pytorch), has(self.triton), has(self.onnx), has(self.huggingface), has(self.pmml), has(self.lightgbm), has(self.paddle), has(self.model)].filter(x, x).size() == 0 && has(self.containers) && self.containers.size() > 0",message="exactly one of model (or an older framework field) and a container called kserve-container must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.storageUris) || !has(self.model) || !has(self.model.storageUri) || size(self.model.storageUri) == 0",message="model.storageUri and storageUris cannot be used together: list the model in storageUris",fieldPath=".storageUris"
// +kubebuilder:validation:XValidation:rule="!has(self.storageUris) || !(has(self.sklearn) && has(self.sklearn.storageUri) && size(self.sklearn.storageUri) != 0 || has(self.xgboost) && has(self.xgboost.storageUri) && size(self.xgboost.storageUri) != 0 || has(self.tensorflow) && has(self.tensorflow.storageUri) && size(self.tensorflow.storageUri) != 0 || has(self.pytorch) && has(self.pytorch.storageUri) && size(self.pytorch.storageUri) != 0 || has(self.triton) && has(self.triton.storageUri) && size(self.triton.storageUri) != 0 || has(self.onnx) && has(self.onnx.storageUri) && size(self.onnx.storageUri) != 0 || has(self.huggingface) && has(self.huggingface.storageUri) && size(self.huggingface.storageUri) != 0 || has(self.pmml) && has(self.pmml.storageUri) && size(self.pmml.storageUri) != 0 || has(self.lightgbm) && has(self.lightgbm.storageUri) && size(self.lightgbm.storageUri) != 0 || has(self.paddle) && has(self.paddle.storageUri) && size(self.paddle.storageUri) != 0)",message="storageUri and storageUris cannot be used together: list the model in storageUris",fieldPath=".storageUris"
// +kubebuilder:validation:XValidation:rule="!has(self.workerSpec) || !has(self.model) || has(self.model.storageUri) && (self.model.storageUri.startsWith('pvc://') || self.model.storageUri.startsWith('oci://') || self.model.storageUri.startsWith('oci+'))",message="a model on several nodes must come from pvc:// or oci://",fieldPath=".workerSpec"
type PredictorSpec struct {
	// Becomes part of the names of the predictor's objects.
	// +optional
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`

	// A scikit-learn model; older form of model.
	// +optional
	SKLearn *PredictorExtensionSpec `json:"sklearn,omitempty"`
	// An XGBoost model; older form of model.
	// +optional
	XGBoost *PredictorExtensionSpec `json:"xgboost,omitempty"`
	// A TensorFlow model; older form of model.
	// +optional
	Tensorflow *PredictorExtensionSpec `json:"tensorflow,omitempty"`
	// A PyTorch model; older form of model.
	// +optional
	PyTorch *PredictorExtensionSpec `json:"pytorch,omitempty"`
	// A model repository of Triton; older form of model.
	// +optional
	Triton *PredictorExtensionSpec `json:"triton,omitempty"`
	// An ONNX model; older form of model.
	// +optional
	ONNX *PredictorExtensionSpec `json:"onnx,omitempty"`
	// A Hugging Face model; older form of model.
	// +optional
	HuggingFace *PredictorExtensionSpec `json:"huggingface,omitempty"`
	// A PMML model; older form of model.
	// +optional
	PMML *PredictorExtensionSpec `json:"pmml,omitempty"`
	// A LightGBM model; older form of model.
	// +optional
	LightGBM *PredictorExtensionSpec `json:"lightgbm,omitempty"`
	// A Paddle model; older form of model.
	// +optional
	Paddle *PredictorExtensionSpec `json:"paddle,omitempty"`

	// The model, in any format that a runtime supports.
	// +optional
	Model *ModelSpec `json:"model,omitempty"`

	// Several model artefacts, each at its own path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	StorageURIs []StorageURI `json:"storageUris,omitempty"`
	// ClusterStorageContainer that fetches the model; absent means the first that supports its URI.
	// +optional
	StorageContainerName *string `json:"storageContainerName,omitempty"`

	// Worker pods of a model that needs several nodes.
	// +optional
	WorkerSpec *WorkerSpec `json:"workerSpec,omitempty"`

	PodSpec                `json:",inline"`
	ComponentExtensionSpec `json:",inline"`
}

// WorkerSpec describes the worker pods of a multi-node predictor.
//
// +kubebuilder:validation:XValidation:rule="!has(self.containers) || self.containers.size() <= 1",message="worker pods have one container: worker-container",fieldPath=".containers"
type WorkerSpec struct {
	PodSpec `json:",inline"`

	// Ephemeral containers; a pod template cannot hold any, so the API server refuses them later.
	// +optional
	EphemeralContainers []corev1.EphemeralContainer `json:"ephemeralContainers,omitempty"`

	// Number of nodes that a model is spread over.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PipelineParallelSize *int `json:"pipelineParallelSize,omitempty"`
	// Number of GPUs per node.
	// +optional
	// +kubebuilder:validation:Minimum=1
	TensorParallelSize *int `json:"tensorParallelSize,omitempty"`
}

// TransformerSpec is a custom container before the predictor.
//
// +kubebuilder:validation:XValidation:rule="has(self.containers) && self.containers.size() > 0",message="a transformer needs a container"
type TransformerSpec struct {
	// Artefacts that the transformer needs, each at its own path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	StorageURIs []StorageURI `json:"storageUris,omitempty"`

	PodSpec                `json:",inline"`
	ComponentExtensionSpec `json:",inline"`
}

// ExplainerSpec is a custom container, or the ART explainer, beside the predictor.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storageUris) || !has(self.art) || !has(self.art.storageUri) || size(self.art.storageUri) == 0",message="art.storageUri and storageUris cannot be used together: list the source in storageUris",fieldPath=".storageUris"
// +kubebuilder:validation:XValidation:rule="has(self.art) != (has(self.containers) && self.containers.exists(c, c.name == 'kserve-container')) || !has(self.art) && has(self.containers) && self.containers.size() > 0",message="exactly one of art and a container called kserve-container must be set"
type ExplainerSpec struct {
	// The Adversarial Robustness Toolbox.
	// +optional
	ART *ARTExplainerSpec `json:"art,omitempty"`
	// Artefacts that the explainer needs, each at its own path.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	StorageURIs []StorageURI `json:"storageUris,omitempty"`

	PodSpec                `json:",inline"`
	ComponentExtensionSpec `json:",inline"`
}

// ARTExplainerType names an attack of the Adversarial Robustness Toolbox.
type ARTExplainerType string

// ARTSquareAttack is the one known ARTExplainerType.
const ARTSquareAttack ARTExplainerType = "SquareAttack"

// ARTExplainerSpec configures the Adversarial Robustness Toolbox.
type ARTExplainerSpec struct {
	// Attack to explain with: SquareAttack.
	Type ARTExplainerType `json:"type"`
	// Where the explainer's own artefact is.
	// +optional
	StorageURI string `json:"storageUri,omitempty"`
	// Tag of the explainer's image.
	// +optional
	RuntimeVersion *string `json:"runtimeVersion,omitempty"`
	// Further settings of the explainer.
	// +optional
	Config map[string]string `json:"config,omitempty"`

	Container `json:",inline"`

	// Where the artefact is, by a key of the storage secret.
	// +optional
	Storage *ModelStorageSpec `json:"storage,omitempty"`
}

// StorageURI is one artefact and the path that it is put at.
type StorageURI struct {
	// Source of the artefact.
	// +kubebuilder:validation:MinLength=1
	URI string `json:"uri"`
	// Directory inside the containers.
	// +optional
	// +kubebuilder:default=/mnt/models
	// +kubebuilder:validation:Pattern=`^/([^.]|[.][^.])+[.]?$`
	// +kubebuilder:validation:MaxLength=255
	MountPath string `json:"mountPath,omitempty"`
}

// PredictorExtensionSpec is where a model is, and the fields of its container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.name) || size(self.name) == 0",message="the container of a model has no name of its own: remove it",fieldPath=".name"
// +kubebuilder:validation:XValidation:rule="!has(self.storageUri) || size(self.storageUri) == 0 || !has(self.storage) || !has(self.storage.path) || size(self.storage.path) == 0",message="storageUri and storage.path cannot be used together: remove one",fieldPath=".storage"
// +kubebuilder:validation:XValidation:rule="!has(self.confidential) || !self.confidential.enabled || has(self.storageUri) && size(self.storageUri) != 0",message="an encrypted model needs a storageUri",fieldPath=".confidential"
type PredictorExtensionSpec struct {
	// Source of the model.
	// +optional
	StorageURI *string `json:"storageUri,omitempty"`
	// Tag of the runtime's image.
	// +optional
	RuntimeVersion *string `json:"runtimeVersion,omitempty"`
	// Protocol that the model server speaks: v1, v2, grpc-v1 or grpc-v2.
	// +optional
	// +kubebuilder:validation:Enum=v1;v2;grpc-v1;grpc-v2
	ProtocolVersion *serving.ProtocolVersion `json:"protocolVersion,omitempty"`
	// Source of the model, by a key of the storage secret.
	// +optional
	Storage *ModelStorageSpec `json:"storage,omitempty"`
	// The model is encrypted.
	// +optional
	Confidential *ConfidentialSpec `json:"confidential,omitempty"`

	Container `json:",inline"`
}

// ConfidentialSpec says where the key of an encrypted model is.
//
// +kubebuilder:validation:XValidation:rule="!self.enabled || !has(self.resourceId) || self.resourceId.matches('^kbs:///[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+$')",message="a key is named kbs:///repository/type/tag",fieldPath=".resourceId"
type ConfidentialSpec struct {
	// The model is encrypted.
	Enabled bool `json:"enabled"`
	// Key in the key broker: kbs:///repository/type/tag.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ResourceID *string `json:"resourceId,omitempty"`
}

// ModelSpec is a model of some format, served by a runtime that supports it.
type ModelSpec struct {
	// Format of the model.
	ModelFormat ModelFormat `json:"modelFormat"`
	// ServingRuntime or ClusterServingRuntime; absent means chosen by format.
	// +optional
	Runtime *string `json:"runtime,omitempty"`

	PredictorExtensionSpec `json:",inline"`
}

// ModelFormat is a format and, by choice, its version.
type ModelFormat struct {
	// Name of the format, as in sklearn.
	Name string `json:"name"`
	// Version of the format.
	// +optional
	Version *string `json:"version,omitempty"`
}

// StorageSpec is a place in a store whose credentials are in the storage secret.
type StorageSpec struct {
	// Path inside the store.
	// +optional
	Path *string `json:"path,omitempty"`
	// Settings that win over those of the secret.
	// +optional
	Parameters map[string]string `json:"parameters,omitempty"`
	// Key of the secret that describes the store.
	// +optional
	StorageKey *string `json:"key,omitempty"`
}

// ModelStorageSpec is the source of a model.
type ModelStorageSpec struct {
	StorageSpec `json:",inline"`

	// Path of the model's schema file.
	// +optional
	SchemaPath *string `json:"schemaPath,omitempty"`
}

// LoggerStorageSpec is where a logger writes to.
type LoggerStorageSpec struct {
	StorageSpec `json:",inline"`

	// Service account whose credentials are used.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// ComponentExtensionSpec is what every component may say beyond its pod.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || self.maxReplicas == 0 || (has(self.minReplicas) ? self.minReplicas : 1) <= self.maxReplicas",message="minReplicas must not be greater than maxReplicas"
type ComponentExtensionSpec struct {
	// Least number of replicas; absent means 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// Greatest number of replicas; 0 means no limit of its own.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxReplicas int32 `json:"maxReplicas,omitempty"`
	// Target of the scale metric.
	// +optional
	ScaleTarget *int32 `json:"scaleTarget,omitempty"`
	// Metric to scale on.
	// +optional
	ScaleMetric *ScaleMetric `json:"scaleMetric,omitempty"`
	// How the target is to be read.
	// +optional
	ScaleMetricType *MetricTargetType `json:"scaleMetricType,omitempty"`
	// Scaling on several metrics and at chosen speeds.
	// +optional
	AutoScaling *AutoScalingSpec `json:"autoScaling,omitempty"`
	// Number of requests that one container handles at a time; 0 means no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ContainerConcurrency *int64 `json:"containerConcurrency,omitempty"`
	// Seconds that a request may take.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TimeoutSeconds *int64 `json:"timeout,omitempty"`
	// Share of the traffic, in percent, that the latest revision gets; Knative mode only.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	CanaryTrafficPercent *int64 `json:"canaryTrafficPercent,omitempty"`
	// Sends requests and answers to a sink.
	// +optional
	Logger *LoggerSpec `json:"logger,omitempty"`
	// Joins requests into batches.
	// +optional
	Batcher *Batcher `json:"batcher,omitempty"`
	// Labels of the component's pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the component's pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// How pods are replaced; Standard mode only.
	// +optional
	DeploymentStrategy *appsv1.DeploymentStrategy `json:"deploymentStrategy,omitempty"`
}

// LoggerType says what a logger sends.
//
// +kubebuilder:validation:Enum=all;request;response
type LoggerType string

// What a logger sends.
const (
	LogAll      LoggerType = "all"
	LogRequest  LoggerType = "request"
	LogResponse LoggerType = "response"
)

// LoggerSpec sends requests and answers to a sink.
//
// +kubebuilder:validation:XValidation:rule="has(self.mode)",message="a logger needs a mode: all, request or response",fieldPath=".mode",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || has(self.storage.path) && has(self.storage.key) && has(self.storage.parameters)",message="a logger's storage needs path, key and parameters",fieldPath=".storage"
type LoggerSpec struct {
	// Sink of the records.
	// +optional
	URL *string `json:"url,omitempty"`
	// What is sent: all, request or response.
	// +optional
	Mode LoggerType `json:"mode,omitempty"`
	// Request headers that go into the records.
	// +optional
	// +listType=set
	MetadataHeaders []string `json:"metadataHeaders,omitempty"`
	// Annotations of the service that go into the records.
	// +optional
	// +listType=set
	MetadataAnnotations []string `json:"metadataAnnotations,omitempty"`
	// Store that records are written to.
	// +optional
	Storage *LoggerStorageSpec `json:"storage,omitempty"`
	// Service that turns records into what is stored.
	// +optional
	MarshallerURL *string `json:"marshallerUrl,omitempty"`
	// Number of records that are written together.
	// +optional
	// +kubebuilder:validation:Minimum=1
	BatchSize *int `json:"batchSize,omitempty"`
	// Time after which records are written, as in 5s.
	// +optional
	BatchInterval *string `json:"batchInterval,omitempty"`
}

// Batcher joins requests into batches.
type Batcher struct {
	// Greatest number of instances in a batch.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxBatchSize *int `json:"maxBatchSize,omitempty"`
	// Greatest time in milliseconds that a request waits for others.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxLatency *int `json:"maxLatency,omitempty"`
	// Accepted and without effect.
	// +optional
	Timeout *int `json:"timeout,omitempty"`
}
