// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Defaults are the values of the shipped ConfigMap (deploy/config), fresh each time.
func Defaults() *Settings {
	class := "istio"
	sidecar := func(image, cpuRequest, memoryRequest string) Sidecar {
		return Sidecar{Image: image, CPURequest: cpuRequest, CPULimit: "1", MemoryRequest: memoryRequest, MemoryLimit: "1Gi"}
	}
	const agent = "kserve-go/agent:latest"
	return &Settings{
		ClusterDomain:     "cluster.local",
		OperatorNamespace: "kserve",
		Explainers:        Explainers{ART: ExplainerImage{Image: "kserve/art-explainer", DefaultVersion: "latest"}},
		Storage: StorageInitializer{
			Sidecar:           sidecar("kserve-go/storage-initializer:latest", "100m", "100Mi"),
			CABundleMountPath: handoff.CABundleDir,
			EnableModelcar:    true,
			CPUModelcar:       "10m",
			MemoryModelcar:    "15Mi",
			UIDModelcar:       new(int64(1010)),
		},
		Credentials: Credentials{
			StorageSpecSecret:       handoff.StorageConfigSecret,
			StorageSecretAnnotation: "serving.kserve.io/storageSecretName",
			GCS:                     GCS{CredentialFile: handoff.GCSCredentialFile},
			S3:                      S3{AccessKeyIDName: handoff.EnvAWSAccessKeyID, SecretAccessKeyName: handoff.EnvAWSSecretAccessKey},
		},
		Ingress: Ingress{
			KServeGateway:              "kserve/kserve-ingress-gateway",
			IngressGateway:             "knative-serving/knative-ingress-gateway",
			LocalGateway:               "knative-serving/knative-local-gateway",
			LocalGatewayService:        "knative-local-gateway.istio-system.svc.cluster.local",
			KnativeLocalGatewayService: "knative-local-gateway.istio-system.svc.cluster.local",
			Domain:                     "example.com",
			ClassName:                  &class,
			DomainTemplate:             "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}",
			URLScheme:                  "http",
		},
		Logger:        Logger{Sidecar: sidecar(agent, "100m", "100Mi"), DefaultURL: "http://default-broker"},
		Batcher:       Batcher{Sidecar: sidecar(agent, "1", "1Gi"), MaxBatchSize: "32", MaxLatency: "5000"},
		Agent:         sidecar(agent, "100m", "100Mi"),
		Router:        Router{Sidecar: sidecar("kserve-go/router:latest", "100m", "100Mi"), ImagePullPolicy: "IfNotPresent"},
		Deploy:        Deploy{DefaultMode: serving.Knative},
		Metrics:       MetricsAggregator{Aggregation: "false", Scraping: "false"},
		LocalModel:    LocalModel{JobNamespace: "kserve-localmodel-jobs", DefaultJobImage: "kserve-go/storage-initializer:latest", FSGroup: new(int64(1000)), JobTTLSeconds: new(int32(3600)), ReconcileSeconds: new(int64(60))},
		Security:      Security{AutoMountToken: true},
		Service:       InferenceService{Resource: Resources{CPULimit: "1", MemoryLimit: "2Gi", CPURequest: "1", MemoryRequest: "2Gi"}},
		OpenTelemetry: OpenTelemetryCollector{ScrapeInterval: "5s", MetricReceiver: "keda-otel-scaler.keda.svc:4317", MetricScaler: "keda-otel-scaler.keda.svc:4318", CollectorLimits: Resources{CPULimit: "1", MemoryLimit: "2Gi", CPURequest: "200m", MemoryRequest: "512Mi"}},
		Autoscaler:    Autoscaler{ScaleUpStabilization: "0", ScaleDownStabilization: "300"},
		CanaryAnalysis: CanaryAnalysis{
			TimeoutSeconds: 5,
			// Requests that fail all have no series of success: what fails is counted, not what succeeds. Codes below 100 are gRPC's.
			SuccessRateQuery: `100 * (1 - (sum(rate(kserve_requests_total{namespace="$(namespace)",pod=~"$(canary)-[a-z0-9]+-[a-z0-9]+",protocol!="other",code=~"5..|2|4|13|14|15"}[$(window)])) or vector(0)) / sum(rate(kserve_requests_total{namespace="$(namespace)",pod=~"$(canary)-[a-z0-9]+-[a-z0-9]+",protocol!="other"}[$(window)])))`,
			LatencyQuery:     `histogram_quantile($(quantile), sum by (le) (rate(request_predict_seconds_bucket{namespace="$(namespace)",pod=~"$(canary)-[a-z0-9]+-[a-z0-9]+"}[$(window)])))`,
		},
	}
}
