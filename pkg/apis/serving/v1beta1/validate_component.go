// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// pod checks the containers of a component.
func (v *validator) pod(at *field.Path, pod *PodSpec) {
	v.add(serving.ValidateContainers(at.Child("containers"), pod.Containers)...)
	v.add(serving.ValidateContainers(at.Child("initContainers"), pod.InitContainers)...)
	seen := map[string]bool{}
	v.add(serving.ValidateContainerNames(at.Child("containers"), pod.Containers, seen)...)
	v.add(serving.ValidateContainerNames(at.Child("initContainers"), pod.InitContainers, seen)...)
}

// predictorContainers checks containers that a predictor brings itself.
func (v *validator) predictorContainers(at *field.Path, p *PredictorSpec) {
	containers := at.Child("containers")
	for i := range p.Containers {
		if p.Containers[i].Name != handoff.TransformerContainer {
			continue
		}
		for j, variable := range p.Containers[i].Env {
			if variable.Name == handoff.EnvStorageURI {
				v.add(field.Forbidden(containers.Index(i).Child("env").Index(j).Child("name"),
					"the transformer beside a model gets the model's own directory; remove STORAGE_URI"))
			}
		}
	}
	if !p.IsCustom() {
		return
	}
	v.ownStorage(at, &p.PodSpec, len(p.StorageURIs) > 0)
	main, index := p.MainContainer()
	for i, variable := range main.Env {
		protocols := []string{string(serving.ProtocolV1), string(serving.ProtocolV2)}
		if variable.Name == handoff.EnvProtocol && !slices.Contains(protocols, variable.Value) {
			v.add(field.NotSupported(containers.Index(index).Child("env").Index(i).Child("value"), variable.Value, protocols))
		}
	}
}

// multiNode checks a predictor with worker pods.
func (v *validator) multiNode(at *field.Path, p *PredictorSpec) {
	w, worker := p.WorkerSpec, at.Child("workerSpec")
	if w == nil {
		return
	}
	if len(w.Containers) > 1 {
		v.add(field.TooMany(worker.Child("containers"), len(w.Containers), 1))
	}
	v.add(serving.ValidateContainers(worker.Child("containers"), w.Containers)...)
	v.add(serving.ValidateContainers(worker.Child("initContainers"), w.InitContainers)...)
	seen := map[string]bool{}
	v.add(serving.ValidateContainerNames(worker.Child("containers"), w.Containers, seen)...)
	v.add(serving.ValidateContainerNames(worker.Child("initContainers"), w.InitContainers, seen)...)
	v.add(serving.ValidateParallelism(worker, w.PipelineParallelSize, w.TensorParallelSize)...)
	v.template(worker, &w.PodSpec, p.StorageURIs, true)
	for i := range w.Containers {
		v.add(serving.ValidateGPUResources(worker.Child("containers").Index(i).Child("resources"), w.Containers[i].Resources, v.gpus)...)
	}
	if len(w.EphemeralContainers) > 0 {
		v.add(field.Forbidden(worker.Child("ephemeralContainers"), "a pod template cannot hold ephemeral containers; remove them"))
	}
	for _, m := range p.models(at) {
		v.add(serving.ValidateParallelEnv(m.path.Child("env"), m.spec.Env)...)
		v.add(serving.ValidateGPUResources(m.path.Child("resources"), m.spec.Resources, v.gpus)...)
		v.multiNodeSource(m)
	}
	if len(p.models(at)) == 0 {
		return
	}
	if class := v.service.Annotations[serving.AnnotationAutoscalerClass]; class != string(serving.AutoscalerNone) {
		v.add(field.Invalid(annotation(serving.AnnotationAutoscalerClass), class, "a model on several nodes is not scaled; set the annotation to none"))
	}
}

func (v *validator) multiNodeSource(m model) {
	at := m.path.Child("storageUri")
	switch uri := m.spec.StorageURI; {
	case uri == nil || *uri == "":
		v.add(field.Required(at, "every node of a model needs its files; name a source with pvc:// or oci://"))
	case !strings.HasPrefix(*uri, "pvc://") && !strings.HasPrefix(*uri, "oci://") && !strings.HasPrefix(*uri, "oci+"):
		v.add(field.Invalid(at, modelref.Redact(*uri), "every node of a model needs its files; use pvc:// or oci://"))
	}
}

// extension checks what every component may say beyond its pod.
func (v *validator) extension(at *field.Path, e *ComponentExtensionSpec) {
	v.add(serving.ValidateReplicas(at, e.MinReplicas, e.MaxReplicas)...)
	v.notNegative(at.Child("containerConcurrency"), e.ContainerConcurrency, "0 sets no limit")
	v.notNegative(at.Child("timeout"), e.TimeoutSeconds, "it is a number of seconds")
	if percent := e.CanaryTrafficPercent; percent != nil {
		where := at.Child("canaryTrafficPercent")
		if *percent < 0 || *percent > 100 {
			v.add(field.Invalid(where, *percent, "must be between 0 and 100; it is the latest revision's share in percent"))
		}
		if v.mode == serving.Standard {
			v.warn(where, "has no effect in Standard mode; use spec.canary, or the annotation %s: %s", serving.AnnotationDeploymentMode, serving.Knative)
		}
	}
	if e.Logger != nil {
		v.logger(at.Child("logger"), e.Logger)
	}
	if e.Batcher != nil {
		v.batcher(at.Child("batcher"), e.Batcher)
	}
}

func (v *validator) notNegative(at *field.Path, value *int64, hint string) {
	if value != nil && *value < 0 {
		v.add(field.Invalid(at, *value, "must not be less than 0; "+hint))
	}
}

func (v *validator) logger(at *field.Path, l *LoggerSpec) {
	modes := []LoggerType{LogAll, LogRequest, LogResponse}
	switch {
	case l.Mode == "":
		v.add(field.Required(at.Child("mode"), "must be all, request or response; set all to log both"))
	case !slices.Contains(modes, l.Mode):
		v.add(field.NotSupported(at.Child("mode"), l.Mode, modes))
	}
	if s := l.Storage; s != nil {
		for _, part := range []struct {
			name    string
			missing bool
		}{{"path", s.Path == nil}, {"parameters", s.Parameters == nil}, {"key", s.StorageKey == nil}} {
			if part.missing {
				v.add(field.Required(at.Child("storage", part.name), "a logger that writes to a store needs path, parameters and key; set it"))
			}
		}
	}
	if n := l.BatchSize; n != nil && *n < 1 {
		v.add(field.Invalid(at.Child("batchSize"), *n, "must be at least 1; it is the number of records that are written together"))
	}
	if text := l.BatchInterval; text != nil {
		if interval, err := time.ParseDuration(*text); err != nil || interval <= 0 {
			v.refuse(field.Invalid(at.Child("batchInterval"), *text, "must be a time greater than 0; write for instance 5s"))
		}
	}
}

func (v *validator) batcher(at *field.Path, b *Batcher) {
	for _, limit := range []struct {
		name  string
		value *int
	}{{"maxBatchSize", b.MaxBatchSize}, {"maxLatency", b.MaxLatency}} {
		if limit.value != nil && *limit.value < 1 {
			v.add(field.Invalid(at.Child(limit.name), *limit.value, "must be at least 1; remove it for the default"))
		}
	}
	if b.Timeout != nil {
		v.warn(at.Child("timeout"), "has no effect; use maxLatency, or timeout of the component")
	}
}

// canaries checks the further predictors and their shares.
func (v *validator) canaries(at *field.Path) {
	spec := &v.service.Spec
	if len(spec.Canary) == 0 {
		return
	}
	if v.mode != serving.Standard {
		v.add(field.Forbidden(at, fmt.Sprintf("canary predictors need Standard mode, and this service has %s; set the annotation %s: Standard, or use canaryTrafficPercent",
			v.mode, serving.AnnotationDeploymentMode)))
	}
	if spec.Predictor.Model == nil && spec.Predictor.SourceURI() == "" && len(spec.Predictor.StorageURIs) == 0 {
		v.add(field.Forbidden(at, "canary predictors need a stable predictor with a model or a source of its own; set spec.predictor.model"))
	}
	if spec.Predictor.WorkerSpec != nil {
		v.add(field.Forbidden(at, "a predictor that spans several nodes has no canary predictors; serve the new model as a service of its own, or remove workerSpec"))
	}
	seen, sum := map[string]bool{}, int64(0)
	for i := range spec.Canary {
		c, where := &spec.Canary[i], at.Index(i)
		v.canary(where, c)
		name := c.Predictor.Name
		switch {
		case name == "":
		case seen[name]:
			v.add(serving.Duplicate(where.Child("predictor", "name"), name, "canary predictors need names of their own; choose another"))
		case name == spec.Predictor.Name:
			v.add(field.Invalid(where.Child("predictor", "name"), name, "is the name of the stable predictor; choose another"))
		}
		seen[name] = true
		sum += int64(c.TrafficPercent)
	}
	if sum > 100 {
		v.add(field.Invalid(at, sum, "the shares of all canary predictors together must not be more than 100; lower trafficPercent"))
	}
}

func (v *validator) canary(at *field.Path, c *CanarySpec) {
	p, where := &c.Predictor, at.Child("predictor")
	if p.Name == "" {
		v.add(field.Required(where.Child("name"), "a canary predictor needs a name of its own; set one such as v2"))
	}
	if c.TrafficPercent < 0 || c.TrafficPercent > 100 {
		v.add(field.Invalid(at.Child("trafficPercent"), c.TrafficPercent, "must be between 0 and 100; it is a share in percent"))
	}
	const unscaled = "a canary predictor has a fixed number of replicas; remove it and set minReplicas"
	if p.WorkerSpec != nil {
		v.add(field.Forbidden(where.Child("workerSpec"), "a canary predictor cannot span several nodes; remove it"))
	}
	if p.MaxReplicas > 0 {
		v.add(field.Forbidden(where.Child("maxReplicas"), unscaled))
	}
	if p.ScaleTarget != nil {
		v.add(field.Forbidden(where.Child("scaleTarget"), unscaled))
	}
	if p.ScaleMetric != nil {
		v.add(field.Forbidden(where.Child("scaleMetric"), unscaled))
	}
	if p.AutoScaling != nil {
		v.add(field.Forbidden(where.Child("autoScaling"), unscaled))
	}
	v.canaryAnnotations(where, &p.ComponentExtensionSpec)
	stable := int32(1)
	if n := v.service.Spec.Predictor.MinReplicas; n != nil {
		stable = *n
	}
	if n := p.MinReplicas; n != nil && *n > stable {
		v.add(field.Invalid(where.Child("minReplicas"), *n, fmt.Sprintf("must not be greater than the stable predictor's, which is %d; lower it", stable)))
	}
	v.predictor(where, p)
}
