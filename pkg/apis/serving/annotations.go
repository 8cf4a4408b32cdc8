// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

// Annotations that people and operators write.
const (
	// AnnotationDeploymentMode chooses the deployment mode of an InferenceService or InferenceGraph.
	AnnotationDeploymentMode = GroupName + "/deploymentMode"
	// AnnotationAutoscalerClass chooses the autoscaler of Standard mode; see AutoscalerClass.
	AnnotationAutoscalerClass = GroupName + "/autoscalerClass"
	// AnnotationStop "true" removes the workloads and keeps the object.
	AnnotationStop = GroupName + "/stop"
	// AnnotationEnableTagRouting "true" gives the latest Knative revision a tag of its own during a canary.
	AnnotationEnableTagRouting = GroupName + "/enable-tag-routing"
	// AnnotationEnableMetricAggregation "true" lets the queue proxy join the metrics of the serving container.
	AnnotationEnableMetricAggregation = GroupName + "/enable-metric-aggregation"
	// AnnotationEnablePrometheusScraping "true" adds the prometheus.io annotations to pods.
	AnnotationEnablePrometheusScraping = GroupName + "/enable-prometheus-scraping"
	// AnnotationGKEAccelerator names the accelerator that becomes a node selector on GKE.
	AnnotationGKEAccelerator = GroupName + "/gke-accelerator"
	// AnnotationGPUResourceTypes is a JSON array of further resource names that count as GPUs.
	AnnotationGPUResourceTypes = GroupName + "/gpu-resource-types"
	// AnnotationDisableLocalModel keeps a service from using a local model cache, whatever its value.
	AnnotationDisableLocalModel = GroupName + "/disable-localmodel"
	// AnnotationNodeGroup chooses the node group of a local model cache.
	AnnotationNodeGroup = GroupName + "/nodegroup"
	// AnnotationDisableAutoUpdate "true" freezes a service that is Ready.
	AnnotationDisableAutoUpdate = GroupName + "/disable-auto-update"
	// AnnotationStorageInitializerUID is the user id of the storage initializer.
	AnnotationStorageInitializerUID = GroupName + "/storage-initializer-uid"
	// AnnotationStorageSecretName names the secret with the storage credentials.
	AnnotationStorageSecretName = GroupName + "/storageSecretName"
	// AnnotationServerType says on a runtime which server it holds.
	AnnotationServerType = GroupName + "/server-type"
	// AnnotationMetric and AnnotationMetrics name the metric of the autoscaler; kept for old files.
	AnnotationMetric  = GroupName + "/metric"
	AnnotationMetrics = GroupName + "/metrics"
	// AnnotationTargetUtilization is the target of the autoscaler in percent; kept for old files.
	AnnotationTargetUtilization = GroupName + "/targetUtilizationPercentage"
	// AnnotationLoggerSecretName, Path and File are accepted and unused.
	AnnotationLoggerSecretName = GroupName + "/logger-secret-name"
	AnnotationLoggerSecretPath = GroupName + "/logger-secret-path"
	AnnotationLoggerSecretFile = GroupName + "/logger-secret-file"
)

// Annotations on secrets and service accounts that describe an S3 store.
const (
	AnnotationS3Endpoint            = GroupName + "/s3-endpoint"
	AnnotationS3Region              = GroupName + "/s3-region"
	AnnotationS3VerifySSL           = GroupName + "/s3-verifyssl"
	AnnotationS3UseHTTPS            = GroupName + "/s3-usehttps"
	AnnotationS3UseVirtualBucket    = GroupName + "/s3-usevirtualbucket"
	AnnotationS3UseAccelerate       = GroupName + "/s3-useaccelerate"
	AnnotationS3UseAnonCredential   = GroupName + "/s3-useanoncredential"
	AnnotationS3CABundleConfigMap   = GroupName + "/s3-cabundle-configmap"
	AnnotationS3CABundle            = GroupName + "/s3-cabundle"
	AnnotationEKSRoleARN            = "eks.amazonaws.com/role-arn"
	AnnotationIstioInterceptionMode = "sidecar.istio.io/interceptionMode"
	AnnotationIstioStatus           = "sidecar.istio.io/status"
)

// Annotations of other projects that a service may carry.
const (
	AnnotationKnativeRolloutDuration  = "serving.knative.dev/rollout-duration"
	AnnotationKnativePassthrough      = "serving.knative.openshift.io/enablePassthrough"
	AnnotationKnativeAutoscalerClass  = "autoscaling.knative.dev/class"
	AnnotationKnativeMinScale         = "autoscaling.knative.dev/min-scale"
	AnnotationKnativeMaxScale         = "autoscaling.knative.dev/max-scale"
	AnnotationKnativeTarget           = "autoscaling.knative.dev/target"
	AnnotationKnativeMetric           = "autoscaling.knative.dev/metric"
	AnnotationKnativeInitialScale     = "autoscaling.knative.dev/initial-scale"
	AnnotationContainerPrometheusPort = "prometheus.kserve.io/port"
	AnnotationContainerPrometheusPath = "prometheus.kserve.io/path"
	AnnotationPrometheusPort          = "prometheus.io/port"
	AnnotationPrometheusPath          = "prometheus.io/path"
	AnnotationPrometheusScrape        = "prometheus.io/scrape"
	// AnnotationStorageReadOnly "false" mounts the model volume for writing.
	AnnotationStorageReadOnly = "storage.kserve.io/readonly"
	// AnnotationModelFormat is set by the defaults to the name of the model's format.
	AnnotationModelFormat = "modelFormat"
	// AnnotationMultiNodeExecutor chooses on a runtime how the nodes of one model talk: "mp"; absent means ray.
	AnnotationMultiNodeExecutor = "multinode/executor-backend"
	// MultiNodeExecutorMP is the value of AnnotationMultiNodeExecutor for plain multi-processing.
	MultiNodeExecutorMP = "mp"
)

// OwnPrefix starts the annotations that are this product's own, beside those of the serving group. They tell the controller what to do with the
// service; they are never copied to children or pod templates, so that changing one restarts nothing.
const OwnPrefix = "kserve-go.dev/"

// Annotations of this product's own.
const (
	// AnnotationCanaryAnalysis holds, as YAML or JSON, by which measurements canaries are judged and rolled back.
	AnnotationCanaryAnalysis = OwnPrefix + "canary-analysis"
	// AnnotationCanaryShadow names canaries that get a copy of requests, with percentages: "v2=100".
	AnnotationCanaryShadow = OwnPrefix + "canary-shadow"
)

// OwnAnnotations are all of them.
func OwnAnnotations() []string { return []string{AnnotationCanaryAnalysis, AnnotationCanaryShadow} }

// FinalizerInferenceService keeps a deleted service until what belongs to it by name only, its TrainedModels, is deleted too.
const FinalizerInferenceService = "inferenceservice.finalizers"

// InternalPrefix starts the keys that one part of the system writes for another.
const InternalPrefix = "internal." + GroupName + "/"

// Annotations that the controller writes on pods, or the defaults on services.
const (
	AnnotationInternalSourceURI            = InternalPrefix + "storage-initializer-sourceuri"
	AnnotationInternalStorageSpec          = InternalPrefix + "storage-spec"
	AnnotationInternalStorageSpecParam     = InternalPrefix + "storage-spec-param"
	AnnotationInternalStorageSpecKey       = InternalPrefix + "storage-spec-key"
	AnnotationInternalStorageContainer     = InternalPrefix + "storage-container-name"
	AnnotationInternalLogger               = InternalPrefix + "logger"
	AnnotationInternalLoggerSinkURL        = InternalPrefix + "logger-sink-url"
	AnnotationInternalLoggerMode           = InternalPrefix + "logger-mode"
	AnnotationInternalLoggerHeaders        = InternalPrefix + "logger-metadata-headers"
	AnnotationInternalLoggerAnnotations    = InternalPrefix + "logger-metadata-annotations"
	AnnotationInternalBatcher              = InternalPrefix + "batcher"
	AnnotationInternalBatcherMaxBatchSize  = InternalPrefix + "batcher-max-batchsize"
	AnnotationInternalBatcherMaxLatency    = InternalPrefix + "batcher-max-latency"
	AnnotationInternalAgent                = InternalPrefix + "agent"
	AnnotationInternalConfigVolumeName     = InternalPrefix + "configVolumeName"
	AnnotationInternalConfigMountPath      = InternalPrefix + "configMountPath"
	AnnotationInternalModelDir             = InternalPrefix + "modelDir"
	AnnotationInternalPredictorHost        = InternalPrefix + "predictor-host"
	AnnotationInternalPredictorProtocol    = InternalPrefix + "predictor-protocol"
	AnnotationInternalLocalModelSourceURI  = InternalPrefix + "localmodel-sourceuri"
	AnnotationInternalLocalModelPVC        = InternalPrefix + "localmodel-pvc-name"
	AnnotationInternalConfidentialEnabled  = InternalPrefix + "confidential-enabled"
	AnnotationInternalConfidentialResource = InternalPrefix + "confidential-resource-id"
)
