// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

// Names of containers.
const (
	// MainContainer holds the model, or is the transformer or explainer of a component of its own.
	MainContainer = "kserve-container"
	// TransformerContainer is a transformer in the predictor's pod.
	TransformerContainer = "transformer-container"
	// WorkerContainer is the model server on the worker nodes of a multi-node predictor.
	WorkerContainer = "worker-container"
	// InitializerContainer fetches the model before the others start.
	InitializerContainer = "storage-initializer"
	// AgentContainer logs, batches and pulls models.
	AgentContainer = "agent"
	// ModelcarContainer and ModelcarInitContainer carry a model in an image; the second and later ones end in -1, -2, …
	ModelcarContainer     = "modelcar"
	ModelcarInitContainer = "modelcar-init"
	// QueueProxyContainer is Knative's own sidecar.
	QueueProxyContainer = "queue-proxy"
	// IstioInitContainer is the mesh's own init container.
	IstioInitContainer = "istio-init"
)

// Names of volumes.
const (
	// ProvisionVolume holds the fetched model; the second and later ones end in -1, -2, …
	ProvisionVolume = "kserve-provision-location"
	// PVCSourceVolume is the claim of a pvc:// model.
	PVCSourceVolume = "kserve-pvc-source"
	// CABundleVolume holds further certificate authorities for the initializer.
	CABundleVolume = "cabundle-cert"
	// AgentCABundleVolume holds the certificate authority of the agent's log sink.
	AgentCABundleVolume = "agent-ca-bundle"
	// ModelConfigVolume holds ModelsFile.
	ModelConfigVolume = "model-config"
	// ModelDirVolume holds the models that the agent pulls.
	ModelDirVolume = "model-dir"
	// GCSVolume holds the key of a Google service account.
	GCSVolume = "user-gcp-sa"
	// HDFSVolume holds the secret of an HDFS.
	HDFSVolume = "hdfs-secrets"
	// OCIAuthVolume holds the registry credentials of the initializer.
	OCIAuthVolume = "kserve-oci-fetch-docker-config"
	// OCIModelVolume and OCIFetchVolume name the volume of a model whose path is the root.
	OCIModelVolume = "oci-model"
	OCIFetchVolume = "oci-fetch-model"
)

// Paths inside containers.
const (
	// ModelDir is where a model server finds its model.
	ModelDir = "/mnt/models"
	// ConfigDir and ModelsFile are where the agent finds the list of models.
	ConfigDir  = "/mnt/configs"
	ModelsFile = "models.json"
	// CABundleDir and CABundleFile are where further certificate authorities are, by default.
	CABundleDir  = "/etc/ssl/custom-certs"
	CABundleFile = "cabundle.crt"
	// LoggerCADir is where the certificate authority of the agent's log sink is.
	LoggerCADir = "/etc/tls/logger"
	// GCSCredentialDir and GCSCredentialFile are where the key of a Google service account is.
	GCSCredentialDir  = "/var/secrets/"
	GCSCredentialFile = "gcloud-application-credentials.json"
	// HDFSCredentialDir is where the secret of an HDFS is.
	HDFSCredentialDir = "/var/secrets/kserve-hdfscreds"
	// OCIAuthDir and OCIAuthFile are where registry credentials are.
	OCIAuthDir  = "/mnt/oci-fetch-auth"
	OCIAuthFile = "config.json"
	// OCIModelSubPath is the folder of an image that holds the model.
	OCIModelSubPath = "models"
)

// Names of objects that pods mount.
const (
	// GlobalCABundle is the ConfigMap with further certificate authorities in each namespace.
	GlobalCABundle = "global-ca-bundle"
	// StorageConfigSecret is the Secret that describes stores in JSON.
	StorageConfigSecret = "storage-config"
	// ModelConfigPrefix and ModelConfigSuffix enclose the service's name in the name of its ConfigMap with ModelsFile.
	ModelConfigPrefix = "modelconfig-"
	ModelConfigSuffix = "-0"
)

// Ports.
const (
	// ServicePort is the port of every component's Service.
	ServicePort = 80
	// HTTPPort and GRPCPort are the ports of a model server.
	HTTPPort = 8080
	GRPCPort = 8081
	// HTTPSPort replaces HTTPPort where the server has a certificate and no port was chosen.
	HTTPSPort = 8443
	// AgentPort is the port of the agent.
	AgentPort     = 9081
	AgentPortName = "agent-port"
	// MarshallerPort is the port on which the agent turns records into files.
	MarshallerPort = 9083
	// AggregateMetricsPort is the port of the joined metrics.
	AggregateMetricsPort     = 9088
	AggregateMetricsPortName = "aggr-metric"
	// QueueProxyMetricsPort is the port of Knative's own metrics.
	QueueProxyMetricsPort = 9091
)

// Names of environment variables of serving containers.
const (
	// EnvServiceName holds the name of the InferenceService.
	EnvServiceName = "INFERENCE_SERVICE_NAME"
	// EnvStorageURI is set by a person on a custom container; the pod sees ModelDir in its place.
	EnvStorageURI = "STORAGE_URI"
	// EnvProtocol is set by a person on a custom container: the protocol that it speaks.
	EnvProtocol = "PROTOCOL"
	// EnvMultiModel "true" is set by a person on a custom container that serves many models.
	EnvMultiModel = "MULTI_MODEL_SERVER"
	// EnvModelInitMode ModelInitAsync tells a server that its model may appear after its start.
	EnvModelInitMode = "MODEL_INIT_MODE"
	ModelInitAsync   = "async"

	EnvMLServerModelName         = "MLSERVER_MODEL_NAME"
	EnvMLServerModelURI          = "MLSERVER_MODEL_URI"
	EnvMLServerLoadModelsAtStart = "MLSERVER_LOAD_MODELS_AT_STARTUP"
	EnvTorchServeProtocolVersion = "PROTOCOL_VERSION"
	EnvTensorParallelSize        = "TENSOR_PARALLEL_SIZE"
	EnvPipelineParallelSize      = "PIPELINE_PARALLEL_SIZE"
	EnvRayNodeCount              = "RAY_NODE_COUNT"
	EnvRequestGPUCount           = "REQUEST_GPU_COUNT"
	EnvModelName                 = "MODEL_NAME"
	EnvModelDir                  = "MODEL_DIR"
	EnvMultiNodeServiceName      = "ISVC_NAME"
	EnvHeadService               = "HEAD_SVC"
	EnvWorkerService             = "WORKER_SVC"
	EnvPythonPath                = "PYTHONPATH"
	EnvTracesExporter            = "OTEL_TRACES_EXPORTER"
	EnvTracesEndpoint            = "OTEL_EXPORTER_OTLP_ENDPOINT"
	EnvTracesSampler             = "OTEL_TRACES_SAMPLER"
	EnvTracesSamplerArg          = "OTEL_TRACES_SAMPLER_ARG"
	EnvAggregateMetricsPort      = "AGGREGATE_PROMETHEUS_METRICS_PORT"
	EnvContainerMetricsPort      = "KSERVE_CONTAINER_PROMETHEUS_METRICS_PORT"
	EnvContainerMetricsPath      = "KSERVE_CONTAINER_PROMETHEUS_METRICS_PATH"
)
