// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

// Flags of the model server. Runtimes and people write them in pods, so their spelling never changes.
const (
	FlagHTTPPort                    = "http_port"
	FlagGRPCPort                    = "grpc_port"
	FlagWorkers                     = "workers"
	FlagMaxThreads                  = "max_threads"
	FlagMaxAsyncioWorkers           = "max_asyncio_workers"
	FlagEnableGRPC                  = "enable_grpc"
	FlagEnableDocsURL               = "enable_docs_url"
	FlagEnableLatencyLogging        = "enable_latency_logging"
	FlagConfigureLogging            = "configure_logging"
	FlagLogConfigFile               = "log_config_file"
	FlagAccessLogFormat             = "access_log_format"
	FlagEventLoop                   = "event-loop"
	FlagTimeoutKeepAlive            = "timeout-keep-alive"
	FlagModelName                   = "model_name"
	FlagPredictorHost               = "predictor_host"
	FlagPredictorProtocol           = "predictor_protocol"
	FlagProtocol                    = "protocol"
	FlagPredictorUseSSL             = "predictor_use_ssl"
	FlagPredictorTimeout            = "predictor_request_timeout_seconds"
	FlagPredictorRetries            = "predictor_request_retries"
	FlagPredictorHealthCheck        = "enable_predictor_health_check"
	FlagGRPCMaxSendMessageLength    = "grpc_max_send_message_length"
	FlagGRPCMaxReceiveMessageLength = "grpc_max_receive_message_length"
	FlagSSLCertFile                 = "ssl_certfile"
	FlagSSLKeyFile                  = "ssl_keyfile"

	// FlagModelDir is the directory of the model, or of a folder per model.
	FlagModelDir = "model_dir"
	// FlagFramework names the engine where the file's name does not: sklearn, xgboost or lightgbm.
	FlagFramework = "framework"
	// FlagNThread is the number of threads for one prediction of a tree model.
	FlagNThread = "nthread"
)

// Environment of the model server.
const (
	EnvLogLevel          = "KSERVE_LOGLEVEL"
	EnvOpenAIRoutePrefix = "KSERVE_OPENAI_ROUTE_PREFIX"
	EnvCEMerge           = "CE_MERGE"
	EnvCEType            = "CE_TYPE"
	EnvCESource          = "CE_SOURCE"
	EnvPredictProba      = "PREDICT_PROBA"
	EnvTLSCertFile       = "KSERVE_TLS_CERT_FILE"
	EnvTLSKeyFile        = "KSERVE_TLS_KEY_FILE"
	EnvRequestsCABundle  = "REQUESTS_CA_BUNDLE"
	EnvCurlCABundle      = "CURL_CA_BUNDLE"
)

// Defaults of the model server that pods rely on.
const (
	DefaultModelName            = "model"
	DefaultGRPCMessageLength    = 8 << 20
	DefaultPredictorTimeout     = 600
	DefaultKeepAliveSeconds     = 65
	DefaultOpenAIRoutePrefix    = "/openai"
	DefaultCEType               = "io.kserve.inference.response"
	DefaultCESourcePrefix       = "io.kserve.inference."
	RepositoryLoadPath          = "/v2/repository/models/%s/load"
	RepositoryUnloadPath        = "/v2/repository/models/%s/unload"
	RouterReadinessPath         = "/readyz"
	DefaultContainerMetricsPath = "/metrics"
	AgentSocket                 = "@/kserve/agent.sock"
	ProbeHeader                 = "K-Network-Probe"
	ProbeHeaderQueue            = "queue"
)
