// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// workers decides on the further nodes of a predictor and tells head and workers about each other.
func (r *resolver) workers(c *plan.Component, spec *servingv1beta1.PredictorSpec, runtime *servingv1alpha1.ServingRuntimeSpec, labels, internal map[string]string) error {
	if runtime.WorkerSpec == nil {
		return &plan.Blocked{
			Reason:  servingv1beta1.ReasonInvalidWorkerSpec,
			Message: "spec.predictor.workerSpec needs a model in a runtime that has a workerSpec: containers of the service's own run on one node",
		}
	}
	own := spec.WorkerSpec
	pp := size(own.PipelineParallelSize, runtime.WorkerSpec.PipelineParallelSize)
	tp := size(own.TensorParallelSize, runtime.WorkerSpec.TensorParallelSize)
	pod, worker, err := workerPod(runtime.WorkerSpec, own)
	if err != nil {
		return err
	}
	head := findContainer(c.Pod.Containers, ServingContainer)
	if head == nil {
		return invalidPredictor("spec.predictor.model.name must be %s or absent: head and workers are told about each other in that container", ServingContainer)
	}
	gpus := r.gpus(runtime)
	n, err := spread(pp, tp, requestedGPUs(head, gpus), requestedGPUs(worker, gpus), runtime.Annotations[serving.AnnotationMultiNodeExecutor])
	if err != nil {
		return err
	}
	setGPUs(head, gpus, n.head)
	setGPUs(worker, gpus, n.worker)
	headService, workerService := names.HeadService(r.svc.Name, r.svc.Generation), names.WorkerService(r.svc.Name, r.svc.Generation)
	for _, e := range [][2]string{
		{handoff.EnvPipelineParallelSize, strconv.Itoa(pp)},
		{handoff.EnvTensorParallelSize, strconv.Itoa(tp)},
		{handoff.EnvRayNodeCount, strconv.Itoa(n.nodes)},
		{handoff.EnvRequestGPUCount, strconv.Itoa(n.head)},
		{handoff.EnvModelName, r.svc.Name},
	} {
		setEnv(head, e[0], e[1])
	}
	if len(c.Storage.Sources) > 0 {
		if scheme, _, _ := strings.Cut(c.Storage.Sources[0].URI, "://"); scheme == "pvc" || scheme == "oci" {
			setEnv(head, handoff.EnvModelDir, plan.ModelPath)
		}
	}
	for _, e := range [][2]string{
		{handoff.EnvRayNodeCount, strconv.Itoa(n.nodes)},
		{handoff.EnvRequestGPUCount, strconv.Itoa(n.worker)},
		{handoff.EnvPipelineParallelSize, strconv.Itoa(pp)},
		{handoff.EnvTensorParallelSize, strconv.Itoa(tp)},
		{handoff.EnvMultiNodeServiceName, r.svc.Name},
		{handoff.EnvHeadService, headService},
		{handoff.EnvWorkerService, workerService},
	} {
		setEnv(worker, e[0], e[1])
	}
	pod.Containers = []corev1.Container{*worker}
	generation := map[string]string{serving.LabelGeneration: strconv.FormatInt(r.svc.Generation, 10)}
	c.Labels = layers(c.Labels, generation)
	drop := r.st.DisallowedAnnotations()
	r.trace(pod.Containers)
	c.Workers = &plan.Workers{
		Name: names.Worker(r.svc.Name), Replicas: int32(n.nodes - 1), Pod: pod, HeadService: headService, Service: workerService,
		Labels:      layers(r.labels(serving.Predictor, runtime.WorkerSpec.Labels, labels, spec.Labels), generation),
		Annotations: layers(plan.Without(runtime.WorkerSpec.Annotations, drop), plan.Without(r.svc.Annotations, drop), internal, plan.Without(spec.Annotations, drop)),
	}
	return nil
}

func workerPod(runtime *servingv1alpha1.WorkerSpec, own *servingv1beta1.WorkerSpec) (corev1.PodSpec, *corev1.Container, error) {
	base := findContainer(runtime.Containers, WorkerContainer)
	if base == nil {
		return corev1.PodSpec{}, nil, invalidPredictor("the workerSpec of the runtime has no container named %s", WorkerContainer)
	}
	overlay := servingv1beta1.Container{}
	if len(own.Containers) > 0 {
		overlay = servingv1beta1.Container(own.Containers[0])
	}
	worker, err := mergeContainer(*base, overlay)
	if err != nil {
		return corev1.PodSpec{}, nil, invalidPredictor("%v", err)
	}
	worker.Name = WorkerContainer // whatever the service calls it: by this name it gets the model
	pod, err := mergePod(&runtime.ServingRuntimePodSpec, own.PodSpec)
	if err != nil {
		return corev1.PodSpec{}, nil, invalidPredictor("%v", err)
	}
	return pod, &worker, nil
}

func size(own, runtime *int) int {
	switch {
	case own != nil:
		return *own
	case runtime != nil:
		return *runtime
	}
	return 1
}

// maxGPUs bounds what one predictor may ask for: far above any cluster, and far below what a count of replicas can hold.
const maxGPUs = 1 << 20

type shares struct{ nodes, head, worker int }

// spread lays pp x tp GPUs over nodes. A request of zero means that the container says nothing.
func spread(pp, tp, head, worker int, executor string) (shares, error) {
	if pp < 1 || tp < 1 || pp > maxGPUs/tp {
		return shares{}, &plan.Blocked{
			Reason:  servingv1beta1.ReasonInvalidGPUAllocation,
			Message: fmt.Sprintf("tensorParallelSize %d and pipelineParallelSize %d must be at least 1, and their product at most %d", tp, pp, maxGPUs),
		}
	}
	if executor == serving.MultiNodeExecutorMP {
		return shares{nodes: pp, head: tp, worker: tp}, nil
	}
	total := pp * tp
	s := shares{nodes: total, head: 1, worker: 1}
	switch {
	case worker > 0 && head == 0:
		s.nodes, s.worker = (total+worker-1)/worker, worker
		s.head = total - worker*(s.nodes-1)
	case worker > 0:
		s.nodes, s.head, s.worker = (total+worker-1)/worker, head, worker
		if head >= total {
			s.nodes = 1
		}
	case head > 0:
		s = shares{nodes: 1, head: head, worker: 1}
		if total > head {
			s.nodes = total - head + 1
		}
	}
	if worker > 0 && s.nodes == 1 {
		s.head, s.worker = total, 0
	}
	if have := s.head + s.worker*(s.nodes-1); total > have {
		return shares{}, &plan.Blocked{
			Reason: servingv1beta1.ReasonInvalidGPUAllocation,
			Message: "tensorParallelSize x pipelineParallelSize needs " + strconv.Itoa(total) + " GPUs, but head and workers have " + strconv.Itoa(have) +
				" (" + strconv.Itoa(s.head) + " + " + strconv.Itoa(s.worker) + " x " + strconv.Itoa(s.nodes-1) + "): raise the GPU requests or lower the sizes",
		}
	}
	return s, nil
}

// gpus are the resource names that count as GPUs: the known ones, the operator's, and those that service or runtime name.
func (r *resolver) gpus(runtime *servingv1alpha1.ServingRuntimeSpec) []string {
	list := r.st.GPUResources()
	for _, annotations := range []map[string]string{r.svc.Annotations, runtime.Annotations} {
		if text, ok := annotations[serving.AnnotationGPUResourceTypes]; ok {
			more, _ := serving.ExtraGPUResources(nil, text) // which admission refuses where it is no list
			list = append(list, more...)
		}
	}
	return list
}

// requestedGPUs are the GPUs of a container. A limit without a request is a request to Kubernetes too.
func requestedGPUs(c *corev1.Container, gpus []string) int {
	for _, have := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		for _, g := range gpus {
			if q, ok := have[corev1.ResourceName(g)]; ok && !q.IsZero() {
				return int(max(min(q.Value(), maxGPUs), 0))
			}
		}
	}
	return 0
}

// setGPUs gives a container its share, of the kind of GPU that it names already.
func setGPUs(c *corev1.Container, gpus []string, n int) {
	kind := corev1.ResourceName(gpus[0])
	for _, g := range gpus {
		name := corev1.ResourceName(g)
		limit, request := c.Resources.Limits[name], c.Resources.Requests[name]
		if !limit.IsZero() || !request.IsZero() {
			kind = name
			break
		}
	}
	for _, l := range []*corev1.ResourceList{&c.Resources.Limits, &c.Resources.Requests} {
		if *l == nil {
			*l = corev1.ResourceList{}
		}
		(*l)[kind] = *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
}
