// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings turns the operator's ConfigMap inferenceservice-config into one validated value that nobody changes afterwards.
//
// Called by: pkg/cli; the controller, once it reconciles.
// Next: pkg/control/resolve, pkg/control/render.
package settings

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kserve-go/kserve-go/pkg/apis/quantity"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// ConfigMapName is the name of the operator's ConfigMap in the namespace of the controller.
const ConfigMapName = "inferenceservice-config"

// How every process that reads the ConfigMap tells that it cannot use it: an event on the ConfigMap with that reason, and that metric at 0.
const (
	EventInvalid = "InvalidSettings"
	MetricValid  = "kserve_settings_valid"
)

// EventOdd is the reason of an event on a ConfigMap that can be used and holds what nobody reads.
const EventOdd = "UnknownSettings"

// Settings is everything the operator can set. Treat it as immutable: it is shared between reconciles.
type Settings struct {
	Explainers        Explainers
	Storage           StorageInitializer
	Credentials       Credentials
	Ingress           Ingress
	Logger            Logger
	Batcher           Batcher
	Agent             Sidecar
	Router            Router
	Deploy            Deploy
	Metrics           MetricsAggregator
	LocalModel        LocalModel
	Security          Security
	Service           InferenceService
	ClusterService    Service
	MultiNode         MultiNode
	OpenTelemetry     OpenTelemetryCollector
	Autoscaler        Autoscaler
	CanaryAnalysis    CanaryAnalysis
	ClusterDomain     string // not in the ConfigMap: the DNS suffix of the cluster, "cluster.local" unless the caller sets it
	OperatorNamespace string // not in the ConfigMap: where the controller runs, "kserve" unless the caller sets it
	// Odd is what the ConfigMap holds and nobody reads, with what was probably meant; no fault.
	Odd []Fault `json:"-"`
}

// Explainers holds the image of each built-in explainer.
type Explainers struct {
	ART ExplainerImage `json:"art"`
}

// ExplainerImage is a repository and the tag to use when a service names none.
type ExplainerImage struct {
	Image          string `json:"image"`
	DefaultVersion string `json:"defaultImageVersion"`
}

// Sidecar is an image with the resources of its container.
type Sidecar struct {
	Image         string `json:"image"`
	CPURequest    string `json:"cpuRequest"`
	CPULimit      string `json:"cpuLimit"`
	MemoryRequest string `json:"memoryRequest"`
	MemoryLimit   string `json:"memoryLimit"`
}

// OCIMode says how oci:// models reach a pod.
type OCIMode string

// The OCI modes. Disabled leaves oci:// to the storage initializer.
const (
	OCIDisabled OCIMode = ""
	OCIModelcar OCIMode = "modelcar"
	OCINative   OCIMode = "native"
	OCIFetch    OCIMode = "fetch"
)

// StorageInitializer describes the init container that brings the model.
type StorageInitializer struct {
	Sidecar
	CABundleConfigMap   string  `json:"caBundleConfigMapName"`
	CABundleMountPath   string  `json:"caBundleVolumeMountPath"`
	EnableModelcar      bool    `json:"enableModelcar"`
	EnableOCI           bool    `json:"enableOciModelSupport"`
	Mode                OCIMode `json:"ociModelMode"`
	CPUModelcar         string  `json:"cpuModelcar"`
	MemoryModelcar      string  `json:"memoryModelcar"`
	UIDModelcar         *int64  `json:"uidModelcar"`
	OCIInsecureRegistry bool    `json:"ociInsecureRegistry"`
}

// OCI is the effective mode: the explicit one, else modelcar when either switch is on.
func (s StorageInitializer) OCI() OCIMode {
	if s.Mode != "" {
		return s.Mode
	}
	if s.EnableModelcar || s.EnableOCI {
		return OCIModelcar
	}
	return OCIDisabled
}

// Credentials says where secrets are looked for and what their keys are called.
type Credentials struct {
	StorageSpecSecret       string `json:"storageSpecSecretName"`
	StorageSecretAnnotation string `json:"storageSecretNameAnnotation"`
	GCS                     GCS    `json:"gcs"`
	S3                      S3     `json:"s3"`
}

// GCS names the key of a secret that holds a Google service account file.
type GCS struct {
	CredentialFile string `json:"gcsCredentialFileName"`
}

// S3 holds the key names of S3 secrets and the values used where neither secret nor service account says anything.
type S3 struct {
	AccessKeyIDName     string `json:"s3AccessKeyIDName"`
	SecretAccessKeyName string `json:"s3SecretAccessKeyName"`
	Endpoint            string `json:"s3Endpoint"`
	UseHTTPS            string `json:"s3UseHttps"`
	Region              string `json:"s3Region"`
	VerifySSL           string `json:"s3VerifySSL"`
	UseVirtualBucket    string `json:"s3UseVirtualBucket"`
	UseAccelerate       string `json:"s3UseAccelerate"`
	UseAnonymous        string `json:"s3UseAnonymousCredential"`
	CABundleConfigMap   string `json:"s3CABundleConfigMap"`
	CABundle            string `json:"s3CABundle"`
}

// How HTTPRoutes match paths (Ingress.PathMatch). Not every Gateway knows regular expressions, which are the default.
const (
	MatchRegularExpression = "RegularExpression"
	MatchPathPrefix        = "PathPrefix"
)

// Ingress says how services are reached from outside.
type Ingress struct {
	EnableGatewayAPI           bool     `json:"enableGatewayApi"`
	KServeGateway              string   `json:"kserveIngressGateway"`
	IngressGateway             string   `json:"ingressGateway"`
	LocalGateway               string   `json:"localGateway"`
	LocalGatewayService        string   `json:"localGatewayService"`
	KnativeLocalGatewayService string   `json:"knativeLocalGatewayService"`
	Domain                     string   `json:"ingressDomain"`
	ClassName                  *string  `json:"ingressClassName"`
	AdditionalDomains          []string `json:"additionalIngressDomains"`
	DomainTemplate             string   `json:"domainTemplate"`
	URLScheme                  string   `json:"urlScheme"`
	PathTemplate               string   `json:"pathTemplate"`
	PathMatch                  string   `json:"pathMatchType"`
	DisableIstioVirtualHost    bool     `json:"disableIstioVirtualHost"`
	DisableCreation            bool     `json:"disableIngressCreation"`
	DisableHTTPRouteTimeout    bool     `json:"disableHTTPRouteTimeout"`
	EnableLLMTLS               bool     `json:"enableLLMInferenceServiceTLS"`
	ModelRoutingHeader         string   `json:"modelBasedRoutingHeaderName"`
	ModelRoutingMode           string   `json:"modelBasedRoutingMode"`
}

// LoggerStorage is where payloads are stored when they do not go to a URL.
type LoggerStorage struct {
	Path           string            `json:"path"`
	Parameters     map[string]string `json:"parameters"`
	Key            string            `json:"key"`
	ServiceAccount string            `json:"serviceAccountName"`
}

// Logger holds the payload logger's defaults.
type Logger struct {
	Sidecar
	DefaultURL    string         `json:"defaultUrl"`
	CABundle      string         `json:"caBundle"`
	CACertFile    string         `json:"caCertFile"`
	TLSSkipVerify bool           `json:"tlsSkipVerify"`
	Storage       *LoggerStorage `json:"storage"`
	MarshallerURL string         `json:"marshallerUrl"`
	BatchSize     *int           `json:"batchSize"`
	BatchInterval string         `json:"batchInterval"`
}

// Batcher holds the request batcher's defaults.
type Batcher struct {
	Sidecar
	MaxBatchSize string `json:"maxBatchSize"`
	MaxLatency   string `json:"maxLatency"`
}

// Router describes the container that executes an InferenceGraph.
type Router struct {
	Sidecar
	Headers          map[string][]string `json:"headers"`
	ImagePullPolicy  string              `json:"imagePullPolicy"`
	ImagePullSecrets []string            `json:"imagePullSecrets"`
}

// Deploy holds the default deployment mode and rollout.
type Deploy struct {
	DefaultMode serving.DeploymentMode `json:"defaultDeploymentMode"`
	Rollout     Rollout                `json:"deploymentRolloutStrategy"`
}

// Rollout overrides the update strategy of Deployments in Standard mode.
type Rollout struct {
	Default struct {
		MaxSurge       string `json:"maxSurge"`
		MaxUnavailable string `json:"maxUnavailable"`
	} `json:"defaultRollout"`
}

// MetricsAggregator says what pods without annotations of their own get ("true" or "false").
type MetricsAggregator struct {
	Aggregation string `json:"enableMetricAggregation"`
	Scraping    string `json:"enablePrometheusScraping"`
}

// LocalModel configures node-local model caches.
type LocalModel struct {
	Enabled                 bool   `json:"enabled"`
	JobNamespace            string `json:"jobNamespace"`
	DefaultJobImage         string `json:"defaultJobImage"`
	FSGroup                 *int64 `json:"fsGroup"`
	JobTTLSeconds           *int32 `json:"jobTTLSecondsAfterFinished"`
	ReconcileSeconds        *int64 `json:"reconcilationFrequencyInSecs"`
	DisableVolumeManagement bool   `json:"disableVolumeManagement"`
}

// Security holds switches that make pods safer than Kubernetes' own defaults.
type Security struct {
	AutoMountToken bool `json:"autoMountServiceAccountToken"`
}

// Resources are default requests and limits; an empty field gives no default.
type Resources struct {
	CPULimit      string `json:"cpuLimit"`
	MemoryLimit   string `json:"memoryLimit"`
	CPURequest    string `json:"cpuRequest"`
	MemoryRequest string `json:"memoryRequest"`
}

// InferenceService holds defaults of containers that users bring, and the metadata that is not copied to pods.
type InferenceService struct {
	Resource           Resources `json:"resource"`
	AnnotationsNotKept []string  `json:"serviceAnnotationDisallowedList"`
	LabelsNotKept      []string  `json:"serviceLabelDisallowedList"`
}

// Service says what kind of cluster Service a component gets.
type Service struct {
	Headless bool `json:"serviceClusterIPNone"`
}

// MultiNode extends the list of resource names that count as GPUs.
type MultiNode struct {
	GPUResources []string `json:"customGPUResourceTypeList"`
}

// OpenTelemetryCollector configures the collector beside pods that scale on their own metrics.
type OpenTelemetryCollector struct {
	ScrapeInterval  string    `json:"scrapeInterval"`
	MetricReceiver  string    `json:"metricReceiverEndpoint"`
	MetricScaler    string    `json:"metricScalerEndpoint"`
	CollectorLimits Resources `json:"resource"`
}

// Autoscaler holds stabilisation windows, in seconds as text, for KEDA.
type Autoscaler struct {
	ScaleUpStabilization   string `json:"scaleUpStabilizationWindowSeconds"`
	ScaleDownStabilization string `json:"scaleDownStabilizationWindowSeconds"`
}

// CanaryAnalysis says what canaries are measured by. The address is the operator's alone: services name queries, never where they are sent.
type CanaryAnalysis struct {
	// Address of a server with Prometheus' HTTP API; empty means that nothing is measured.
	Address string `json:"prometheusAddress"`
	// BearerTokenFile is a file of the controller's with the token that requests carry; empty means none.
	BearerTokenFile string `json:"bearerTokenFile"`
	// TimeoutSeconds for one query.
	TimeoutSeconds int `json:"timeoutSeconds"`
	// SuccessRateQuery gives a percentage, LatencyQuery seconds. They have the placeholders of a service's own queries, and $(quantile).
	SuccessRateQuery string `json:"successRateQuery"`
	LatencyQuery     string `json:"latencyQuery"`
	// DisableOwnQueries says that services may not bring queries of their own, which can read everything that the server knows.
	DisableOwnQueries bool `json:"disableOwnQueries"`
}

// NoSplit says why requests are not split between the predictors of a service in Standard mode; empty where they are.
func (s *Settings) NoSplit() string {
	switch {
	case s.Ingress.DisableCreation:
		return "ingress.disableIngressCreation of " + ConfigMapName + " is true, so that there is no HTTPRoute"
	case !s.Ingress.EnableGatewayAPI:
		return "ingress.enableGatewayApi of " + ConfigMapName + " is false, and an Ingress cannot split requests; a local cluster has it with kserve local up --gateway-api"
	}
	return ""
}

// DisallowedAnnotations are the annotations of a service that never reach its pods.
func (s *Settings) DisallowedAnnotations() []string {
	return append([]string{
		serving.AnnotationKnativeMinScale,
		serving.AnnotationKnativeMaxScale,
		serving.AnnotationInternalSourceURI,
		corev1.LastAppliedConfigAnnotation,
		serving.AnnotationModelFormat,
	}, s.Service.AnnotationsNotKept...)
}

// DisallowedLabels are the labels of a service that never reach its routes and revisions.
func (s *Settings) DisallowedLabels() []string {
	return append([]string{serving.LabelKnativeVisibility}, s.Service.LabelsNotKept...)
}

// GPUResources are all resource names that count as GPUs: the known vendors' and the operator's.
func (s *Settings) GPUResources() []string {
	return append(serving.GPUResources(), s.MultiNode.GPUResources...)
}

// Quantity is a resource quantity of a validated Settings; the zero quantity for an empty text.
func Quantity(text string) resource.Quantity {
	q, err := quantity.Parse(text)
	if err != nil {
		return resource.Quantity{}
	}
	return q
}
