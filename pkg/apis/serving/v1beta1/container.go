// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import corev1 "k8s.io/api/core/v1"

// Container is the container of a model or explainer. It has the fields of the core type in the core type's order, so
// corev1.Container(c) converts without a copy. What differs is the schema: the name is optional.
type Container struct {
	// Name of the container; leave it empty where the kind of component decides it.
	// +optional
	Name string `json:"name,omitempty"`
	// Image of the container.
	// +optional
	Image string `json:"image,omitempty"`
	// Program to run.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`
	// Arguments of the program; those of a model follow those of its runtime.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// Directory that the program starts in.
	// +optional
	WorkingDir string `json:"workingDir,omitempty"`
	// Ports that the container listens on.
	// +optional
	// +listType=map
	// +listMapKey=containerPort
	// +listMapKey=protocol
	Ports []corev1.ContainerPort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"containerPort"`
	// Where further variables come from.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Environment variables.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// CPU, memory and devices that the container gets.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	// What happens when resources change.
	// +optional
	// +listType=atomic
	ResizePolicy []corev1.ContainerResizePolicy `json:"resizePolicy,omitempty"`
	// When the container is started again.
	// +optional
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
	// Exit codes that decide over a restart.
	// +optional
	// +listType=atomic
	RestartPolicyRules []corev1.ContainerRestartRule `json:"restartPolicyRules,omitempty"`
	// Volumes and where they are mounted.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty" patchStrategy:"merge" patchMergeKey:"mountPath"`
	// Block devices of the container.
	// +optional
	// +listType=map
	// +listMapKey=devicePath
	VolumeDevices []corev1.VolumeDevice `json:"volumeDevices,omitempty" patchStrategy:"merge" patchMergeKey:"devicePath"`
	// How to see that the container lives.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// How to see that the container can serve.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// How to see that the container has started.
	// +optional
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// What to do after start and before stop.
	// +optional
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
	// File that holds the container's last words.
	// +optional
	TerminationMessagePath string `json:"terminationMessagePath,omitempty"`
	// Where the last words come from.
	// +optional
	TerminationMessagePolicy corev1.TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty"`
	// When the image is pulled.
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// User, groups and further limits of the container.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Keep the standard input open.
	// +optional
	Stdin bool `json:"stdin,omitempty"`
	// Close the standard input after its first use.
	// +optional
	StdinOnce bool `json:"stdinOnce,omitempty"`
	// Give the container a terminal.
	// +optional
	TTY bool `json:"tty,omitempty"`
}

// The conversions that other packages rely on.
var (
	_ = func(p PodSpec) corev1.PodSpec { return corev1.PodSpec(p) }
	_ = func(c Container) corev1.Container { return corev1.Container(c) }
)
