// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Admission is what Inject needs beside the pod.
type Admission struct {
	Settings *settings.Settings
	// Around are the service accounts, secrets and storage containers that the pod can draw on.
	Around *plan.Surroundings
	// PredictorLogger is spec.predictor.logger of the pod's service, whose store settings hold for every component.
	PredictorLogger *servingv1beta1.LoggerSpec
	// Namespace of the pod.
	Namespace string
}

// Inject adds to a pod what its annotations ask for: the model, the agent, metrics. A pod that is not of an InferenceService is left as it is,
// and so is one that was injected before. The error says why the pod must be refused.
func Inject(pod *corev1.Pod, a Admission) error {
	if _, ours := pod.Labels[serving.LabelInferenceService]; !ours {
		return nil
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	accelerator(pod)
	if err := injectStorage(pod, a); err != nil {
		return fmt.Errorf("add the storage initializer: %w", err)
	}
	istioUser(pod)
	if err := injectAgent(pod, a); err != nil {
		return fmt.Errorf("add the agent: %w", err)
	}
	injectMetrics(pod, a.Settings)
	if uri := pod.Annotations[serving.AnnotationInternalSourceURI]; isOCI(uri) && a.Settings.Storage.OCI() != settings.OCIDisabled {
		if err := addOCI(&pod.Spec, a.Settings, []plan.Source{{URI: uri, Path: plan.ModelPath}}, a.Namespace); err != nil {
			return fmt.Errorf("add the model image: %w", err)
		}
	}
	return nil
}

// Needs says what Inject draws on for one pod, so that nothing else is read for it.
type Needs struct {
	// Account: the pod's service account and the secrets it lists, and the secret that an annotation names.
	Account bool
	// StorageSpec: the secret with the entries of storage specs.
	StorageSpec bool
	// StorageContainers of the cluster.
	StorageContainers bool
	// Logger of the predictor.
	Logger bool
}

// NeedsOf says it before anything was read.
func NeedsOf(pod *corev1.Pod, st *settings.Settings) Needs {
	var n Needs
	if uri, wanted := wantedSource(pod, st); wanted {
		_, cached, err := fromLocalCache(pod, uri)
		if !cached && err == nil && !strings.HasPrefix(uri, "pvc://") {
			n = Needs{Account: true, StorageContainers: true, StorageSpec: specOf(pod.Annotations) != nil}
		}
	}
	logs, pulls, batches := agentTasks(pod)
	n.Account = n.Account || logs || pulls || batches
	n.Logger = logs
	return n
}

// accelerator selects nodes of Google's Kubernetes by the kind of GPU.
func accelerator(pod *corev1.Pod) {
	kind, ok := pod.Annotations[serving.AnnotationGKEAccelerator]
	if !ok {
		return
	}
	for i := range pod.Spec.Containers {
		if _, gpu := pod.Spec.Containers[i].Resources.Limits["nvidia.com/gpu"]; gpu {
			if pod.Spec.NodeSelector == nil {
				pod.Spec.NodeSelector = map[string]string{}
			}
			pod.Spec.NodeSelector["cloud.google.com/gke-accelerator"] = kind
			return
		}
	}
}

// istioProxyUser is the user whose traffic Istio lets pass before its proxy runs.
const istioProxyUser = 1337

// istioUser lets the storage initializer reach the network where Istio's CNI plug-in redirects traffic to a proxy that is not up yet.
func istioUser(pod *corev1.Pod) {
	var initializer *corev1.Container
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == initContainer {
			initializer = &pod.Spec.InitContainers[i]
		}
	}
	if initializer == nil {
		return
	}
	run := func(uid int64) {
		if initializer.SecurityContext == nil {
			initializer.SecurityContext = &corev1.SecurityContext{}
		}
		initializer.SecurityContext.RunAsUser = &uid
	}
	if uid, err := strconv.ParseInt(pod.Annotations[serving.AnnotationStorageInitializerUID], 10, 64); err == nil {
		run(uid)
		return
	}
	if hasInit(&pod.Spec, handoff.IstioInitContainer) || pod.Annotations[serving.AnnotationIstioInterceptionMode] != "REDIRECT" {
		return
	}
	var status struct {
		Containers []string `json:"containers"`
	}
	if err := json.Unmarshal([]byte(pod.Annotations[serving.AnnotationIstioStatus]), &status); err != nil || len(status.Containers) == 0 {
		return
	}
	proxy := container(&pod.Spec, status.Containers[0])
	if proxy == nil {
		return
	}
	if proxy.SecurityContext != nil && proxy.SecurityContext.RunAsUser != nil {
		run(*proxy.SecurityContext.RunAsUser)
		return
	}
	run(istioProxyUser)
}

func injectMetrics(pod *corev1.Pod, st *settings.Settings) {
	orElse := func(key, value string) string {
		if _, ok := pod.Annotations[key]; !ok && value != "" {
			pod.Annotations[key] = value
		}
		return pod.Annotations[key]
	}
	aggregate := orElse(serving.AnnotationEnableMetricAggregation, st.Metrics.Aggregation) == "true"
	scrape := orElse(serving.AnnotationEnablePrometheusScraping, st.Metrics.Scraping) == "true"
	port, path := pod.Annotations[serving.AnnotationContainerPrometheusPort], pod.Annotations[serving.AnnotationContainerPrometheusPath]
	if port == "" {
		port = strconv.Itoa(handoff.HTTPPort)
	}
	if path == "" {
		path = handoff.DefaultContainerMetricsPath
	}
	proxy := container(&pod.Spec, queueProxy)
	if aggregate && proxy != nil {
		putEnv(proxy, corev1.EnvVar{Name: handoff.EnvContainerMetricsPort, Value: port})
		putEnv(proxy, corev1.EnvVar{Name: handoff.EnvContainerMetricsPath, Value: path})
		putEnv(proxy, corev1.EnvVar{Name: handoff.EnvAggregateMetricsPort, Value: strconv.Itoa(handoff.AggregateMetricsPort)})
		if !hasPort(proxy, handoff.AggregateMetricsPort) {
			proxy.Ports = append(proxy.Ports, corev1.ContainerPort{Name: handoff.AggregateMetricsPortName, ContainerPort: handoff.AggregateMetricsPort, Protocol: corev1.ProtocolTCP})
		}
	}
	if !scrape {
		return
	}
	switch {
	case proxy == nil: // nobody but the serving container has metrics
		pod.Annotations[serving.AnnotationPrometheusPort], pod.Annotations[serving.AnnotationPrometheusPath] = port, path
	case aggregate:
		pod.Annotations[serving.AnnotationPrometheusPort], pod.Annotations[serving.AnnotationPrometheusPath] = strconv.Itoa(handoff.AggregateMetricsPort), handoff.DefaultContainerMetricsPath
	default:
		pod.Annotations[serving.AnnotationPrometheusPort], pod.Annotations[serving.AnnotationPrometheusPath] = strconv.Itoa(handoff.QueueProxyMetricsPort), handoff.DefaultContainerMetricsPath
	}
	pod.Annotations[serving.AnnotationPrometheusScrape] = "true"
}

func hasPort(c *corev1.Container, port int32) bool {
	for i := range c.Ports {
		if c.Ports[i].ContainerPort == port {
			return true
		}
	}
	return false
}
