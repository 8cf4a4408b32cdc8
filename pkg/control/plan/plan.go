// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan holds the words between reading and writing: what was observed (Snapshot), what was decided (Plan), why, and why nothing could be decided.
//
// Called by: pkg/control/resolve, pkg/control/render, pkg/cli.
// Next: pkg/control/render, which turns a Plan into objects.
package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// Surroundings is what the pods of one namespace can draw on.
type Surroundings struct {
	// ServiceAccounts by name. A service account that is not here has no secrets.
	ServiceAccounts map[string]corev1.ServiceAccount
	// Secrets by name: those that the service accounts list and the storage configuration.
	Secrets map[string]corev1.Secret
	// StorageContainers of the cluster, in any order.
	StorageContainers []servingv1alpha1.ClusterStorageContainer
}

// Snapshot is everything that one decision is made from, read in one pass. Nobody writes to it.
type Snapshot struct {
	// Service is the object after defaulting, with the status that was last written.
	Service *servingv1beta1.InferenceService
	// Runtimes are the ServingRuntimes of the service's namespace, ClusterRuntimes those of the cluster.
	Runtimes        []servingv1alpha1.ServingRuntime
	ClusterRuntimes []servingv1alpha1.ClusterServingRuntime
	Surroundings
	// ReadyCanaries are the names (spec.canary[].predictor.name) of canary predictors that can serve now.
	ReadyCanaries map[string]bool
	// CanaryShares bounds what canary predictors may have, in percent of the requests or of copies. One that is not here has what it asks for.
	CanaryShares map[string]int32
	// CanaryFaults says, by index in spec.canary, why a canary predictor cannot be made.
	CanaryFaults map[int]*Blocked
	// KnativeZeroInitialScale says that Knative Serving allows revisions to start with no pod.
	KnativeZeroInitialScale bool
	// KnativeDomains are the domain suffixes that Knative Serving hands out, example.com among them where it is so configured.
	KnativeDomains []string
	// NoVirtualServices says that the cluster does not have Istio's VirtualService.
	NoVirtualServices bool
	// Brief leaves the decisions out of the plan: their reasons are for people, and cost as much as all the rest.
	Brief bool
}

// GraphSnapshot is what the decision on an InferenceGraph is made from.
type GraphSnapshot struct {
	Graph *servingv1alpha1.InferenceGraph
	// Services of the graph's namespace by name: those that its steps name. A service that is not here does not exist.
	Services map[string]*servingv1beta1.InferenceService
	// Runtimes and ClusterRuntimes tell the protocol of services that name their runtime.
	Runtimes        []servingv1alpha1.ServingRuntime
	ClusterRuntimes []servingv1alpha1.ClusterServingRuntime
	// KnativeZeroInitialScale says that Knative Serving allows revisions to start with no pod.
	KnativeZeroInitialScale bool
}

// Owner is the object that a Plan is for, as its children refer to it.
type Owner struct {
	APIVersion  string
	Kind        string
	Namespace   string
	Name        string
	UID         string
	Generation  int64
	Labels      map[string]string
	Annotations map[string]string
}

// Plan is what one service (or graph) becomes.
type Plan struct {
	Owner Owner
	Mode  serving.DeploymentMode
	// Stopped says that nothing but the object itself is wanted.
	Stopped bool
	// Frozen says that the service is ready and asked to be left as it is: nothing is written or deleted.
	Frozen bool `json:",omitempty"`
	// Components in the order canary predictors, predictor, transformer, explainer.
	Components []Component
	// Unplanned are the canary predictors that cannot be made.
	Unplanned []Unplanned `json:",omitempty"`
	Route     Route
	// Decisions say why, for people; no renderer reads them.
	Decisions []Decision
	// Around is what the pods can draw on.
	Around *Surroundings `json:"-"`
}

// Component returns the stable component of a role, or nil.
func (p *Plan) Component(role serving.ComponentRole) *Component {
	for i := range p.Components {
		if c := &p.Components[i]; c.Role == role && c.Canary == nil {
			return c
		}
	}
	return nil
}

// Entry is the component that a request reaches first: the transformer if there is one, else the predictor.
func (p *Plan) Entry() *Component {
	if c := p.Component(serving.Transformer); c != nil {
		return c
	}
	return p.Component(serving.Predictor)
}

// Canaries are the canary predictors in the order of spec.canary.
func (p *Plan) Canaries() []*Component {
	var found []*Component
	for i := range p.Components {
		if p.Components[i].Canary != nil {
			found = append(found, &p.Components[i])
		}
	}
	return found
}

// RoleOf is the role of the component whose workload has the name, or empty.
func (p *Plan) RoleOf(workload string) serving.ComponentRole {
	for i := range p.Components {
		if c := &p.Components[i]; c.Name == workload || c.Workers != nil && c.Workers.Name == workload {
			return c.Role
		}
	}
	return ""
}

// Component is one workload with what belongs to it.
type Component struct {
	// Role in an InferenceService; empty for the router of a graph.
	Role serving.ComponentRole
	// Name of the workload, its Service and its autoscaler.
	Name string
	// Canary is set on canary predictors only.
	Canary *Canary `json:",omitempty"`
	// Runtime that serves the model; nil for containers of the user's own.
	Runtime *Runtime `json:",omitempty"`
	// Format of the model; empty for containers of the user's own.
	Format servingv1beta1.ModelFormat
	// Protocol that the component speaks.
	Protocol serving.ProtocolVersion
	// Labels and Annotations of the workload and of its pods, without the label app.
	Labels      map[string]string
	Annotations map[string]string
	// Pod is the merged pod with every placeholder filled in, before defaults and injected containers.
	Pod     corev1.PodSpec
	Storage Storage
	// MultiModel says that models come and go at run time: the pod gets a list of models instead of one.
	MultiModel bool `json:",omitempty"`
	Scale      Scale
	// Strategy of the Deployment where the user gave one.
	Strategy *appsv1.DeploymentStrategy `json:",omitempty"`
	// Sidecar says that requests pass an agent in front of the component.
	Sidecar bool `json:",omitempty"`
	// Logger of the component, for the agent.
	Logger *servingv1beta1.LoggerSpec `json:",omitempty"`
	// Concurrency and TimeoutSeconds limit requests.
	Concurrency    *int64 `json:",omitempty"`
	TimeoutSeconds *int64 `json:",omitempty"`
	// Traffic is how Knative splits requests over revisions.
	Traffic []serving.TrafficTarget `json:",omitempty"`
	// InitialScale of a Knative revision, as text.
	InitialScale string `json:",omitempty"`
	// Workers are the further nodes of a multi-node predictor.
	Workers *Workers `json:",omitempty"`
	// Host under which the component itself is reached from outside, and its URL.
	Host string
	URL  string
	// GRPCURL and RestURL are there where gRPC is spoken, for each protocol that is: inside the cluster, where nothing outside tells them apart.
	GRPCURL string `json:",omitempty"`
	RestURL string `json:",omitempty"`
}

// Runtime is the runtime that a predictor uses.
type Runtime struct {
	Name       string
	Cluster    bool // a ClusterServingRuntime
	ServerType string
}

// Kind of the runtime's object.
func (r Runtime) Kind() string {
	if r.Cluster {
		return "ClusterServingRuntime"
	}
	return "ServingRuntime"
}

// ModelPath is where a single model is put.
const ModelPath = handoff.ModelDir

// ModelConfigPath is where the list of models of a multi-model service is mounted.
const ModelConfigPath = handoff.ConfigDir

// Source is one thing to bring, and where to.
type Source struct {
	URI  string
	Path string
}

// Storage says where the model comes from. No source and no spec: the model is in the image, or comes at run time.
type Storage struct {
	Sources []Source `json:",omitempty"`
	// Inline says that the sources are spec.storageUris, which are part of the pod template; a single source is brought by pod admission.
	Inline bool `json:",omitempty"`
	// Spec is the entry of the storage configuration that holds the credentials, where the user named one.
	Spec *servingv1beta1.ModelStorageSpec `json:",omitempty"`
	// Container is the ClusterStorageContainer that brings the model; empty means the operator's storage initializer.
	Container string `json:",omitempty"`
	Writable  bool   `json:",omitempty"`
}

// Scale says how many pods there are.
type Scale struct {
	Class serving.AutoscalerClass
	Min   *int32 `json:",omitempty"`
	Max   int32  `json:",omitempty"`
	// Metric, Target and TargetType are the short form of a metric, AutoScaling the long one.
	Metric      servingv1beta1.ScaleMetric      `json:",omitempty"`
	Target      *int32                          `json:",omitempty"`
	TargetType  servingv1beta1.MetricTargetType `json:",omitempty"`
	AutoScaling *servingv1beta1.AutoScalingSpec `json:",omitempty"`
}

// Workers are the further nodes of a multi-node predictor.
type Workers struct {
	Name        string
	Replicas    int32
	Labels      map[string]string
	Annotations map[string]string
	Pod         corev1.PodSpec
	HeadService string
	Service     string
}

// Route says how the service is reached.
type Route struct {
	// Host and URL of the service from outside. The host stands also where nothing is created for it.
	Host string
	URL  string
	// Address is the URL from inside the cluster.
	Address string
	// Internal services get nothing outside the cluster; Disabled is the operator's decision for all.
	Internal bool `json:",omitempty"`
	Disabled bool `json:",omitempty"`
	// MoreHosts are the hosts under additional domains.
	MoreHosts []string `json:",omitempty"`
	// Path is the path of the service on the shared domain; empty when there is none.
	Path string `json:",omitempty"`
	// Mesh says that Istio's VirtualService and the alias Service are wanted (Knative mode).
	Mesh bool `json:",omitempty"`
	// NoSplit says why canary predictors get no requests, although they run; empty where they do.
	NoSplit string `json:",omitempty"`
	// NoVirtualService says that the cluster does not know that kind; the alias Service is made all the same.
	NoVirtualService bool `json:",omitempty"`
}
