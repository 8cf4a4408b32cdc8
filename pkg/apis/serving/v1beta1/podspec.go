// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import corev1 "k8s.io/api/core/v1"

// PodSpec is the pod of a component. It has the fields of the core type in the core type's order, so corev1.PodSpec(p) and PodSpec(c)
// convert without a copy; the compiler reports a field that the core type gains. What differs is the schema: containers are optional.
type PodSpec struct {
	// Volumes that containers can mount.
	// +optional
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	// Containers that run to their end before the others start.
	// +optional
	// +listType=map
	// +listMapKey=name
	InitContainers []corev1.Container `json:"initContainers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// Containers of the pod; a custom component is the one called kserve-container.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Containers []corev1.Container `json:"containers,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// EphemeralContainers is here so that the layout is that of the core type; a pod template cannot hold any.
	EphemeralContainers []corev1.EphemeralContainer `json:"-"`
	// When containers are started again.
	// +optional
	RestartPolicy corev1.RestartPolicy `json:"restartPolicy,omitempty"`
	// Seconds between asking the pod to end and killing it.
	// +optional
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
	// Seconds that the pod may live.
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// Where names are resolved.
	// +optional
	DNSPolicy corev1.DNSPolicy `json:"dnsPolicy,omitempty"`
	// Labels that the node must have.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Service account of the pod; its secrets hold the storage credentials.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// Older form of serviceAccountName.
	// +optional
	DeprecatedServiceAccount string `json:"serviceAccount,omitempty"`
	// Whether the service account's token is mounted.
	// +optional
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty"`
	// Node that the pod is bound to.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// Use the node's network.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// Use the node's process ids.
	// +optional
	HostPID bool `json:"hostPID,omitempty"`
	// Use the node's inter-process communication.
	// +optional
	HostIPC bool `json:"hostIPC,omitempty"`
	// Let containers see each other's processes.
	// +optional
	ShareProcessNamespace *bool `json:"shareProcessNamespace,omitempty"`
	// User, groups and further limits of all containers.
	// +optional
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// Secrets to pull images with.
	// +optional
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// Host name of the pod.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// Subdomain of the host name.
	// +optional
	Subdomain string `json:"subdomain,omitempty"`
	// Nodes and pods to be near to or far from.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// Scheduler that places the pod.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`
	// Taints of nodes that are no obstacle.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Further lines of the hosts file.
	// +optional
	// +listType=map
	// +listMapKey=ip
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty" patchStrategy:"merge" patchMergeKey:"ip"`
	// Class of the pod's priority.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Priority of the pod.
	// +optional
	Priority *int32 `json:"priority,omitempty"`
	// Name servers and search domains.
	// +optional
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// Conditions that count for readiness.
	// +optional
	// +listType=atomic
	ReadinessGates []corev1.PodReadinessGate `json:"readinessGates,omitempty"`
	// Container runtime that runs the pod.
	// +optional
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Whether services appear as environment variables.
	// +optional
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty"`
	// Whether pods of lower priority make room.
	// +optional
	PreemptionPolicy *corev1.PreemptionPolicy `json:"preemptionPolicy,omitempty"`
	// Resources that the pod itself costs.
	// +optional
	Overhead corev1.ResourceList `json:"overhead,omitempty"`
	// How pods are spread over nodes and zones.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey"`
	// Use the full domain name as host name.
	// +optional
	SetHostnameAsFQDN *bool `json:"setHostnameAsFQDN,omitempty"`
	// Operating system of the containers.
	// +optional
	OS *corev1.PodOS `json:"os,omitempty"`
	// Use the node's user ids.
	// +optional
	HostUsers *bool `json:"hostUsers,omitempty"`
	// What holds back the scheduling of the pod.
	// +optional
	// +listType=map
	// +listMapKey=name
	SchedulingGates []corev1.PodSchedulingGate `json:"schedulingGates,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	// Claims for devices that containers refer to.
	// +optional
	// +listType=map
	// +listMapKey=name
	ResourceClaims []corev1.PodResourceClaim `json:"resourceClaims,omitempty" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	// Resources of the pod as a whole.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Host name that wins over all others.
	// +optional
	HostnameOverride *string `json:"hostnameOverride,omitempty"`
	// Group of pods that are scheduled together.
	// +optional
	SchedulingGroup *corev1.PodSchedulingGroup `json:"schedulingGroup,omitempty"`
	// Who is asked before the pod is evicted.
	// +optional
	// +listType=map
	// +listMapKey=name
	EvictionResponders []corev1.EvictionResponder `json:"evictionResponders,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
}
