// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// graphRetry is how soon a graph looks again for a service that it waits for.
const graphRetry = 5 * time.Second

// Graph decides what an InferenceGraph becomes: a router that knows its steps' addresses. The error is a *plan.Blocked or a *plan.Waiting.
func Graph(snap *plan.GraphSnapshot, st *settings.Settings) (*plan.Plan, error) {
	g := snap.Graph
	r := &resolver{
		snap: &plan.Snapshot{Runtimes: snap.Runtimes, ClusterRuntimes: snap.ClusterRuntimes, KnativeZeroInitialScale: snap.KnativeZeroInitialScale},
		st:   st,
		// What services and graphs have alike is decided by the same steps.
		svc: &servingv1beta1.InferenceService{ObjectMeta: g.ObjectMeta, Status: servingv1beta1.InferenceServiceStatus{DeploymentMode: g.Status.DeploymentMode}},
		plan: &plan.Plan{
			Owner: plan.Owner{
				APIVersion: servingv1alpha1.SchemeGroupVersion.String(), Kind: "InferenceGraph", Namespace: g.Namespace, Name: g.Name, UID: string(g.UID),
				Generation: g.Generation, Labels: maps.Clone(g.Labels), Annotations: maps.Clone(g.Annotations),
			},
			Around: &plan.Surroundings{},
		},
	}
	if err := r.mode(); err != nil {
		return nil, r.blocked(err)
	}
	if r.plan.Mode == serving.ModelMesh {
		return nil, r.blocked(unsupported("a graph cannot run in ModelMesh mode: set annotation %s to Standard or Knative", serving.AnnotationDeploymentMode))
	}
	if r.plan.Stopped {
		return r.plan, nil
	}
	spec, err := r.steps(&g.Spec, snap.Services)
	if err != nil {
		return nil, r.blocked(err)
	}
	c, err := r.router(g, spec)
	if err != nil {
		return nil, r.blocked(err)
	}
	r.plan.Components = []plan.Component{*c}
	if err := names.Check("Service", c.Name); err != nil {
		return nil, r.blocked(unsupported("%v", err))
	}
	return r.plan, r.graphRoute(c)
}

// steps fills in the URL of every step that names a service. It works on a copy.
func (r *resolver) steps(spec *servingv1alpha1.InferenceGraphSpec, services map[string]*servingv1beta1.InferenceService) (*servingv1alpha1.InferenceGraphSpec, error) {
	spec = spec.DeepCopy()
	for _, node := range slices.Sorted(maps.Keys(spec.Nodes)) {
		for i := range spec.Nodes[node].Steps {
			step := &spec.Nodes[node].Steps[i]
			if step.ServiceName == "" || step.ServiceURL != "" {
				continue
			}
			svc := services[step.ServiceName]
			if svc == nil || svc.Status.Address == nil || svc.Status.Address.URL == "" {
				what := "does not exist in namespace " + r.svc.Namespace
				if svc != nil {
					what = "has no address yet (status.address.url)"
				}
				return nil, &plan.Waiting{
					Reason: "ServiceNotReady", Message: fmt.Sprintf("spec.nodes.%s.steps[%d] names InferenceService %q, which %s", node, i, step.ServiceName, what), After: graphRetry,
				}
			}
			path, err := r.predictPath(svc)
			if err != nil {
				return nil, err
			}
			step.ServiceURL = svc.Status.Address.URL + path
		}
	}
	return spec, nil
}

// predictPath is where a service takes predictions, by the protocol of what a request reaches first.
func (r *resolver) predictPath(svc *servingv1beta1.InferenceService) (string, error) {
	p := &svc.Spec.Predictor
	protocol := serving.ProtocolV1
	switch {
	case svc.Spec.Transformer != nil && len(svc.Spec.Transformer.Containers) > 0:
		protocol = containerProtocol(&svc.Spec.Transformer.Containers[0])
	case isMultiModel(p):
		return "", nil
	case p.Model != nil:
		if v := p.Model.ProtocolVersion; v != nil && *v != "" {
			protocol = *v
		}
		if p.Model.Runtime != nil {
			var err error
			if protocol, err = r.runtimeProtocol(*p.Model.Runtime, protocol); err != nil {
				return "", err
			}
		}
	case len(p.Containers) > 0:
		protocol = containerProtocol(&p.Containers[0])
	}
	switch protocol {
	case serving.ProtocolV1:
		return "/v1/models/" + modelName(svc) + ":predict", nil
	case serving.ProtocolV2:
		return "/v2/models/" + modelName(svc) + "/infer", nil
	case serving.ProtocolGRPCV1, serving.ProtocolGRPCV2:
	}
	return "", nil
}

// runtimeProtocol is the first REST protocol that a named runtime lists.
func (r *resolver) runtimeProtocol(name string, fallback serving.ProtocolVersion) (serving.ProtocolVersion, error) {
	for _, c := range r.candidates() {
		if c.name != name || len(c.spec.ProtocolVersions) == 0 {
			continue
		}
		for _, p := range c.spec.ProtocolVersions {
			if p == serving.ProtocolV1 || p == serving.ProtocolV2 {
				return p, nil
			}
		}
		return "", unsupported("%s speaks neither v1 nor v2, so a graph cannot call it by name: set serviceUrl instead of serviceName", c.label())
	}
	return fallback, nil
}

// isMultiModel tells a service whose models come and go: it has no path of its own.
func isMultiModel(p *servingv1beta1.PredictorSpec) bool {
	if len(p.Containers) > 0 {
		multi, _ := plan.EnvValue(p.Containers[0].Env, handoff.EnvMultiModel)
		return strings.EqualFold(multi, "true")
	}
	m := p.Model
	return m != nil && text(m.StorageURI) == "" && m.Storage == nil && len(p.StorageURIs) == 0 && m.ModelFormat.Name != "huggingface"
}

// modelName is what the server of a service calls its model.
func modelName(svc *servingv1beta1.InferenceService) string {
	if t := svc.Spec.Transformer; t != nil && len(t.Containers) > 0 {
		if name := flagValue(t.Containers[0].Args, "--"+handoff.FlagModelName); name != "" {
			return name
		}
	}
	p := &svc.Spec.Predictor
	if m := p.Model; m != nil {
		if name, ok := plan.EnvValue(m.Env, handoff.EnvMLServerModelName); ok {
			return name
		}
		if name := flagValue(m.Args, "--"+handoff.FlagModelName); name != "" {
			return name
		}
	} else if len(p.Containers) > 0 {
		if name := flagValue(p.Containers[0].Args, "--"+handoff.FlagModelName); name != "" {
			return name
		}
	}
	return svc.Name
}

// flagValue finds --flag=value or --flag value.
func flagValue(args []string, flag string) string {
	for i, a := range args {
		if value, ok := strings.CutPrefix(a, flag+"="); ok {
			return value
		}
		if a == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// router is the workload of a graph.
func (r *resolver) router(g *servingv1alpha1.InferenceGraph, spec *servingv1alpha1.InferenceGraphSpec) (*plan.Component, error) {
	graph, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("write the graph for the router: %w", err)
	}
	conf := &r.st.Router
	main := corev1.Container{
		Image: conf.Image, ImagePullPolicy: corev1.PullPolicy(conf.ImagePullPolicy), Args: []string{"--" + handoff.FlagGraphJSON, string(graph)},
		Resources: corev1.ResourceRequirements{Requests: resourceList(conf.CPURequest, conf.MemoryRequest), Limits: resourceList(conf.CPULimit, conf.MemoryLimit)},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: handoff.RouterReadinessPath, Port: intstr.FromInt32(handoff.RouterPort), Scheme: corev1.URISchemeHTTP}},
			InitialDelaySeconds: 5, TimeoutSeconds: 2, PeriodSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3,
		},
		SecurityContext: &corev1.SecurityContext{
			Privileged: new(false), RunAsNonRoot: new(true), ReadOnlyRootFilesystem: new(true), AllowPrivilegeEscalation: new(false),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if len(spec.Resources.Limits) > 0 || len(spec.Resources.Requests) > 0 {
		main.Resources = spec.Resources
	}
	if headers, ok := conf.Headers["propagate"]; ok {
		main.Env = append(main.Env, corev1.EnvVar{Name: handoff.EnvPropagateHeaders, Value: strings.Join(headers, ",")})
	}
	if r.plan.Mode == serving.Standard {
		main.Name = g.Name
	}
	c := &plan.Component{
		Name: g.Name, TimeoutSeconds: spec.TimeoutSeconds, Annotations: layers(g.Annotations),
		Labels: layers(g.Labels, map[string]string{serving.LabelInferenceGraph: g.Name}),
		Pod: corev1.PodSpec{
			Containers: []corev1.Container{main}, AutomountServiceAccountToken: new(false), Affinity: spec.Affinity, Tolerations: spec.Tolerations,
			NodeSelector: spec.NodeSelector, NodeName: spec.NodeName, ServiceAccountName: spec.ServiceAccountName,
		},
	}
	for _, s := range conf.ImagePullSecrets {
		c.Pod.ImagePullSecrets = append(c.Pod.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
	}
	if r.plan.Mode == serving.Knative {
		c.Labels[serving.LabelKind] = "InferenceGraph"
	}
	ext := &servingv1beta1.ComponentExtensionSpec{MinReplicas: spec.MinReplicas, MaxReplicas: spec.MaxReplicas, ScaleTarget: spec.ScaleTarget}
	if m := spec.ScaleMetric; m != nil {
		ext.ScaleMetric = new(servingv1beta1.ScaleMetric(*m))
	}
	return c, r.finish(c, ext)
}

// graphRoute names the address of a graph. From outside the cluster only Knative routes to it.
func (r *resolver) graphRoute(c *plan.Component) error {
	route := &r.plan.Route
	route.Disabled, route.Address = true, "http://"+r.clusterHost(c.Name)
	if r.plan.Mode == serving.Knative {
		c.URL = "http://" + c.Name + "." + r.svc.Namespace + "." + r.st.Ingress.Domain
		route.URL = c.URL
	}
	r.decide(plan.Decision{Subject: plan.SubjectURL, Chosen: route.Address, Why: "the address of the router inside the cluster"})
	return nil
}

func resourceList(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: settings.Quantity(cpu), corev1.ResourceMemory: settings.Quantity(memory)}
}
