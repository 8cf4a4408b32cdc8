// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

// Flags of the agent.
const (
	FlagAgentPort           = "port"
	FlagComponentPort       = "component-port"
	FlagEnablePuller        = "enable-puller"
	FlagConfigDir           = "config-dir"
	FlagAgentModelDir       = "model-dir"
	FlagLogURL              = "log-url"
	FlagLogWorkers          = "workers"
	FlagSourceURI           = "source-uri"
	FlagLogMode             = "log-mode"
	FlagLogStorePath        = "log-store-path"
	FlagLogStoreFormat      = "log-store-format"
	FlagLogMarshallerURL    = "log-marshaller-url"
	FlagLogMarshallerPort   = "log-marshaller-port"
	FlagLogBatchSize        = "log-batch-size"
	FlagLogBatchInterval    = "log-batch-interval"
	FlagInferenceService    = "inference-service"
	FlagNamespace           = "namespace"
	FlagEndpoint            = "endpoint"
	FlagComponent           = "component"
	FlagMetadataHeaders     = "metadata-headers"
	FlagMetadataAnnotations = "metadata-annotations"
	FlagEnableBatcher       = "enable-batcher"
	FlagMaxBatchSize        = "max-batchsize"
	FlagMaxLatency          = "max-latency"
	FlagProbePeriod         = "probe-period"
	FlagLoggerCACertFile    = "logger-ca-cert-file"
	FlagLoggerTLSSkipVerify = "logger-tls-skip-verify"
)

// Environment of the agent.
const (
	// EnvReadinessProbe holds the serving container's readiness probe as JSON; empty means always ready.
	EnvReadinessProbe = "SERVING_READINESS_PROBE"
	// EnvMultiContainerProbes "true" makes EnvReadinessProbe an array.
	EnvMultiContainerProbes = "ENABLE_MULTI_CONTAINER_PROBES"
	// EnvUserPort is the port that Knative's queue proxy sends to.
	EnvUserPort = "USER_PORT"
)

// Defaults of the agent that pods rely on.
const (
	DefaultLogMode          = "all"
	DefaultLogStoreFormat   = "json"
	DefaultLogWorkers       = 5
	DefaultMarshallerURL    = "http://localhost:9083/marshal"
	DefaultLogBatchSize     = 1
	DefaultMaxBatchSize     = 32
	DefaultMaxLatencyMillis = 5000
	DefaultLoggerCACertFile = "service-ca.crt"
	DefaultLoggerStorageKey = "credentials"
	DefaultLoggerAccount    = "logger-sa"
)

// Models is the content of ModelsFile: the models that the agent keeps on a multi-model server.
type Models []ModelEntry

// ModelEntry is one model of Models.
type ModelEntry struct {
	Name string    `json:"modelName"`
	Spec ModelSpec `json:"modelSpec"`
}

// ModelSpec is where a model is and what it needs. Any change of it is another model.
type ModelSpec struct {
	StorageURI string `json:"storageUri"`
	Framework  string `json:"framework"`
	// Memory is a resource quantity such as 1Gi.
	Memory string `json:"memory"`
}
