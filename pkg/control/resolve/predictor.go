// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// resolved is a predictor with what its canaries build on.
type resolved struct {
	component *plan.Component
	// labels are the service's, with those that the server of its model wants.
	labels map[string]string
}

// predictor decides on one predictor, the stable one or a canary. The spec is its own, to write into.
func (r *resolver) predictor(spec *servingv1beta1.PredictorSpec) (*resolved, error) {
	c := &plan.Component{
		Role: serving.Predictor, Name: names.Predictor(r.svc.Name, spec.Name),
		Logger: spec.Logger, Sidecar: spec.Logger != nil || spec.Batcher != nil,
		Strategy: spec.DeploymentStrategy, Concurrency: spec.ContainerConcurrency, TimeoutSeconds: spec.TimeoutSeconds,
	}
	r.workload = c.Name
	serviceLabels := layers(r.svc.Labels)
	var runtime *candidate
	var err error
	switch {
	case spec.Model != nil:
		runtime, err = r.modelPredictor(c, spec, serviceLabels)
	case len(spec.Containers) > 0:
		err = r.customPredictor(c, spec)
	default:
		err = invalidPredictor("spec.predictor says nothing to serve: set spec.predictor.model (with modelFormat and storageUri) or spec.predictor.containers")
	}
	if err != nil {
		return nil, err
	}
	for i := range c.Pod.Containers {
		setEnv(&c.Pod.Containers[i], handoff.EnvServiceName, r.svc.Name)
	}
	r.trace(c.Pod.Containers)
	runtimeSpec := &servingv1alpha1.ServingRuntimeSpec{}
	if runtime != nil {
		runtimeSpec = runtime.spec
	}
	c.Labels = r.labels(serving.Predictor, runtimeSpec.Labels, serviceLabels, spec.Labels)
	own := r.internal(c, &spec.ComponentExtensionSpec)
	if spec.StorageContainerName != nil && !c.Storage.Inline {
		own[serving.AnnotationInternalStorageContainer] = *spec.StorageContainerName
	}
	if m := spec.Model; m != nil && m.Confidential != nil && m.Confidential.Enabled {
		own[serving.AnnotationInternalConfidentialEnabled] = "true"
		if m.Confidential.ResourceID != nil {
			own[serving.AnnotationInternalConfidentialResource] = *m.Confidential.ResourceID
		}
	}
	c.Annotations = r.annotations(runtimeSpec.Annotations, own, spec.Annotations)
	if spec.WorkerSpec != nil {
		if err := r.workers(c, spec, runtimeSpec, serviceLabels, own); err != nil {
			return nil, err
		}
	}
	if err := r.finish(c, &spec.ComponentExtensionSpec); err != nil {
		return nil, err
	}
	return &resolved{component: c, labels: serviceLabels}, nil
}

// finish decides what every component has alike: scaling, Knative traffic, storage access.
func (r *resolver) finish(c *plan.Component, ext *servingv1beta1.ComponentExtensionSpec) error {
	if err := r.checkPods(c); err != nil {
		return err
	}
	r.credentials(c)
	c.Storage.Writable = c.Annotations[serving.AnnotationStorageReadOnly] == "false"
	if err := r.scale(c, ext); err != nil {
		return err
	}
	if r.plan.Mode != serving.Standard {
		r.knative(c, ext)
	}
	return nil
}

// trace sets the variables of OpenTelemetry; a variable that the container has wins.
func (r *resolver) trace(containers []corev1.Container) {
	t := r.svc.Spec.Tracing
	if t == nil {
		return
	}
	orElse := func(text, value string) string {
		if text == "" {
			return value
		}
		return text
	}
	for i := range containers {
		c := &containers[i]
		if !seesModel(c.Name) {
			continue
		}
		plan.AddEnv(c, handoff.EnvTracesExporter, orElse(t.Exporter, servingv1beta1.DefaultTracingExporter))
		plan.AddEnv(c, handoff.EnvTracesEndpoint, orElse(t.ExporterEndpoint, servingv1beta1.DefaultTracingEndpoint))
		if t.Sampler != "" {
			plan.AddEnv(c, handoff.EnvTracesSampler, t.Sampler)
		}
		if t.SamplerArg != "" {
			plan.AddEnv(c, handoff.EnvTracesSamplerArg, t.SamplerArg)
		}
	}
}

// modelPredictor is a model in a runtime. It writes the runtime's choice back into the spec.
func (r *resolver) modelPredictor(c *plan.Component, spec *servingv1beta1.PredictorSpec, labels map[string]string) (*candidate, error) {
	model := spec.Model
	runtime, err := r.runtime(model, spec.WorkerSpec != nil)
	if err != nil {
		return nil, err
	}
	if spec.WorkerSpec != nil && runtime.spec.WorkerSpec == nil {
		return nil, &plan.Blocked{
			Reason:  servingv1beta1.ReasonInvalidWorkerSpec,
			Message: fmt.Sprintf("spec.predictor.workerSpec asks for several nodes, but %s has no workerSpec: name a runtime that has one, or remove workerSpec", runtime.label()),
		}
	}
	model.Runtime = &runtime.name
	c.Runtime, c.Format = runtime.plan(), model.ModelFormat
	wish := model.ProtocolVersion
	hasModel := text(model.StorageURI) != "" || model.Storage != nil || len(spec.StorageURIs) > 0
	serverDefaults(runtime.serverType, r.svc.Name, model, hasModel, labels)
	if model.ProtocolVersion == nil {
		model.ProtocolVersion = new(firstProtocol(runtime.spec.ProtocolVersions))
	}
	c.Protocol = *model.ProtocolVersion
	why := "the first protocol that " + runtime.label() + " lists"
	switch {
	case wish != nil:
		why = "spec.predictor.model.protocolVersion"
	case c.Protocol == "":
		why = runtime.label() + " lists no protocols"
	}
	r.decide(plan.Decision{Subject: plan.SubjectProtocol, Role: serving.Predictor, Chosen: string(c.Protocol), Why: why})
	if c.Pod, err = r.assemble(runtime, spec, labels); err != nil {
		return nil, err
	}
	if c.Storage, err = r.modelStorage(spec); err != nil {
		return nil, err
	}
	c.MultiModel = !hasModel && len(spec.Containers) == 0 && model.ModelFormat.Name != "huggingface"
	return runtime, nil
}

// assemble merges runtime and service into one pod: serving container, transformer beside it, the runtime's further containers, the service's.
func (r *resolver) assemble(runtime *candidate, spec *servingv1beta1.PredictorSpec, labels map[string]string) (corev1.PodSpec, error) {
	base := findContainer(runtime.spec.Containers, ServingContainer)
	if base == nil {
		return corev1.PodSpec{}, invalidPredictor("%s has no container named %s: add one, or name another runtime", runtime.label(), ServingContainer)
	}
	main, err := mergeContainer(*base, spec.Model.Container)
	if err != nil {
		return corev1.PodSpec{}, invalidPredictor("%v", err)
	}
	pod, err := mergePod(&runtime.spec.ServingRuntimePodSpec, spec.PodSpec)
	if err != nil {
		return corev1.PodSpec{}, invalidPredictor("%v", err)
	}
	meta := r.svc.ObjectMeta
	meta.Labels = labels
	// The annotation was written when the service was made, and the format may have changed since.
	meta.Annotations = layers(meta.Annotations, map[string]string{serving.AnnotationModelFormat: spec.Model.ModelFormat.Name})
	if err := fillIn(&main, meta); err != nil {
		return corev1.PodSpec{}, invalidPredictor("%s: %v", runtime.label(), err)
	}
	main.Image = image(main.Image, text(spec.Model.RuntimeVersion), runtime.serverType, wantsGPU(main.Resources.Limits))
	containers := []corev1.Container{main}
	beside := findContainer(runtime.spec.Containers, TransformerContainer)
	own := findContainer(spec.Containers, TransformerContainer)
	var transformer *corev1.Container
	switch {
	case beside != nil && own != nil:
		merged, err := mergeContainer(*beside, servingv1beta1.Container(*own))
		if err != nil {
			return corev1.PodSpec{}, invalidPredictor("%v", err)
		}
		transformer = &merged
	case beside != nil:
		transformer = beside.DeepCopy()
	case own != nil:
		transformer = own.DeepCopy()
	}
	if transformer != nil {
		if err := fillIn(transformer, meta); err != nil {
			return corev1.PodSpec{}, invalidPredictor("%v", err)
		}
		containers = append(containers, *transformer)
	}
	more, err := sidecars(runtime.spec.Containers, spec.Containers)
	if err != nil {
		return corev1.PodSpec{}, invalidPredictor("%v", err)
	}
	pod.Containers = append(containers, more...)
	return pod, nil
}

// sidecars are the further containers: the runtime's, each merged with the service's of the same name, then the rest of the service's.
func sidecars(runtime, service []corev1.Container) ([]corev1.Container, error) {
	var all []corev1.Container
	special := func(c *corev1.Container) bool { return c.Name == ServingContainer || c.Name == TransformerContainer }
	for i := range runtime {
		if special(&runtime[i]) {
			continue
		}
		c := *runtime[i].DeepCopy()
		if own := findContainer(service, c.Name); own != nil {
			merged, err := mergeContainer(c, servingv1beta1.Container(*own))
			if err != nil {
				return nil, err
			}
			c = merged
		}
		all = append(all, c)
	}
	for i := range service {
		if !special(&service[i]) && findContainer(runtime, service[i].Name) == nil {
			all = append(all, *service[i].DeepCopy())
		}
	}
	return all, nil
}

// customPredictor is a pod of the user's own.
func (r *resolver) customPredictor(c *plan.Component, spec *servingv1beta1.PredictorSpec) error {
	c.Pod = *(*corev1.PodSpec)(&spec.PodSpec).DeepCopy()
	main := mainContainer(c.Pod.Containers)
	if main.Name == "" {
		main.Name = ServingContainer
	}
	speaks := main
	if t := findContainer(c.Pod.Containers, TransformerContainer); t != nil {
		speaks = t
	}
	c.Protocol = serving.ProtocolV1
	if p, ok := plan.EnvValue(speaks.Env, handoff.EnvProtocol); ok && p != "" {
		c.Protocol = serving.ProtocolVersion(p)
	}
	r.decide(plan.Decision{Subject: plan.SubjectRuntime, Role: serving.Predictor, Chosen: "containers of the service", Why: "spec.predictor.containers is set"})
	r.decide(plan.Decision{Subject: plan.SubjectProtocol, Role: serving.Predictor, Chosen: string(c.Protocol), Why: "variable PROTOCOL of container " + speaks.Name + ", v1 when it is absent"})
	var err error
	c.Storage, err = r.containerStorage(serving.Predictor, main, spec.StorageURIs, text(spec.StorageContainerName))
	if multi, _ := plan.EnvValue(main.Env, handoff.EnvMultiModel); strings.EqualFold(multi, "true") {
		c.MultiModel = true
	}
	return err
}

func text[T ~string](p *T) string {
	if p == nil {
		return ""
	}
	return string(*p)
}
