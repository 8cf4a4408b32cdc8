// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podspec makes pods: Build turns a component into the pod of its template, Inject adds at admission what the template's annotations ask for.
//
// Called by: pkg/control/render/workload (Build), pkg/control/admit (Inject).
// Next: pkg/apis/handoff, what the binaries inside the pod are told.
package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// Names of containers, volumes and ports that other software knows.
const (
	servingContainer     = handoff.MainContainer
	transformerContainer = handoff.TransformerContainer
	workerContainer      = handoff.WorkerContainer
	queueProxy           = handoff.QueueProxyContainer
	initContainer        = handoff.InitializerContainer
	modelVolume          = handoff.ProvisionVolume
	claimVolume          = handoff.PVCSourceVolume
)

// Build is the pod of a component's template. In Standard mode it carries the defaults that a Deployment has always had here; Knative sets its own.
func Build(p *plan.Plan, c *plan.Component, st *settings.Settings) (corev1.PodSpec, error) {
	pod := *c.Pod.DeepCopy()
	if c.Storage.Inline {
		if err := expandSources(&pod, p, c, st); err != nil {
			return corev1.PodSpec{}, err
		}
	}
	if p.Mode == serving.Standard {
		Default(&pod)
	}
	return pod, nil
}

// Default fills in what a pod template of Standard mode leaves open.
func Default(pod *corev1.PodSpec) {
	if pod.DNSPolicy == "" {
		pod.DNSPolicy = corev1.DNSClusterFirst
	}
	if pod.RestartPolicy == "" {
		pod.RestartPolicy = corev1.RestartPolicyAlways
	}
	if pod.TerminationGracePeriodSeconds == nil {
		pod.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	if pod.SecurityContext == nil {
		pod.SecurityContext = &corev1.PodSecurityContext{}
	}
	if pod.SchedulerName == "" {
		pod.SchedulerName = corev1.DefaultSchedulerName
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		if c.TerminationMessagePath == "" {
			c.TerminationMessagePath = corev1.TerminationMessagePathDefault
		}
		if c.TerminationMessagePolicy == "" {
			c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
		}
		if c.ImagePullPolicy == "" {
			c.ImagePullPolicy = corev1.PullIfNotPresent
		}
		if c.ReadinessProbe == nil && (c.Name == servingContainer || c.Name == transformerContainer) {
			c.ReadinessProbe = tcpProbe(firstPort(c))
		}
	}
}

// tcpProbe asks whether anybody listens.
func tcpProbe(port int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:   corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(port)}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

func firstPort(c *corev1.Container) int32 {
	if c != nil && len(c.Ports) > 0 {
		return c.Ports[0].ContainerPort
	}
	return handoff.HTTPPort
}

// targets are the containers that see the model: the server (or the worker) and the transformer beside it.
func targets(pod *corev1.PodSpec) []*corev1.Container {
	var found []*corev1.Container
	for _, name := range []string{servingContainer, workerContainer} {
		if c := container(pod, name); c != nil {
			found = append(found, c)
			break
		}
	}
	if c := container(pod, transformerContainer); c != nil {
		found = append(found, c)
	}
	return found
}

func container(pod *corev1.PodSpec, name string) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	return nil
}

func hasInit(pod *corev1.PodSpec, name string) bool {
	for i := range pod.InitContainers {
		if pod.InitContainers[i].Name == name {
			return true
		}
	}
	return false
}

// addVolume adds a volume unless one of that name is there.
func addVolume(pod *corev1.PodSpec, v corev1.Volume) {
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == v.Name {
			return
		}
	}
	pod.Volumes = append(pod.Volumes, v)
}

// addMount mounts a volume unless something is mounted at that path.
func addMount(c *corev1.Container, m corev1.VolumeMount) {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == m.MountPath {
			return
		}
	}
	c.VolumeMounts = append(c.VolumeMounts, m)
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// putEnv sets a variable, replacing one of the same name; addEnv leaves the one that is there.
func putEnv(c *corev1.Container, e corev1.EnvVar) {
	for i := range c.Env {
		if c.Env[i].Name == e.Name {
			c.Env[i] = e
			return
		}
	}
	c.Env = append(c.Env, e)
}

func resources(s settings.Sidecar) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: settings.Quantity(s.CPURequest), corev1.ResourceMemory: settings.Quantity(s.MemoryRequest)},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: settings.Quantity(s.CPULimit), corev1.ResourceMemory: settings.Quantity(s.MemoryLimit)},
	}
}

func isOCI(uri string) bool {
	scheme, _, ok := strings.Cut(uri, "://")
	return ok && (scheme == "oci" || strings.HasPrefix(scheme, "oci+"))
}
