// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/podrules"
)

// RuntimeRules is what validation has to know about the place of a runtime.
//
// +kubebuilder:object:generate=false
type RuntimeRules struct {
	// Others are the runtimes of the same scope by name: of the namespace for a ServingRuntime, of the cluster for a
	// ClusterServingRuntime. The runtime itself may be among them.
	Others map[string]ServingRuntimeSpec
	// GPUResources are the operator's resource names that count as GPUs beside the built-in ones.
	GPUResources []string
}

// Validate returns what is wrong with a runtime, and what is odd about it. A disabled runtime is right.
func (r *ServingRuntime) Validate(rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	return r.Spec.validate(&r.ObjectMeta, rules)
}

// ValidateUpdate returns what is wrong with a change of a runtime. Faults that the stored runtime has too are warnings.
func (r *ServingRuntime) ValidateUpdate(old *ServingRuntime, rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	return r.Spec.validateUpdate(&r.ObjectMeta, &old.Spec, &old.ObjectMeta, rules)
}

// Validate returns what is wrong with a runtime, and what is odd about it. A disabled runtime is right.
func (r *ClusterServingRuntime) Validate(rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	return r.Spec.validate(&r.ObjectMeta, rules)
}

// ValidateUpdate returns what is wrong with a change of a runtime. Faults that the stored runtime has too are warnings.
func (r *ClusterServingRuntime) ValidateUpdate(old *ClusterServingRuntime, rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	return r.Spec.validateUpdate(&r.ObjectMeta, &old.Spec, &old.ObjectMeta, rules)
}

// IsDisabled reports whether the runtime is not to be used.
func (s *ServingRuntimeSpec) IsDisabled() bool { return s.Disabled != nil && *s.Disabled }

// IsMultiModel reports whether one pod serves many models.
func (s *ServingRuntimeSpec) IsMultiModel() bool { return s.MultiModel != nil && *s.MultiModel }

// IsAutoSelect reports whether the runtime may be chosen for services that name only this format.
func (f *SupportedModelFormat) IsAutoSelect() bool { return f.AutoSelect != nil && *f.AutoSelect }

func (s *ServingRuntimeSpec) validateUpdate(meta *metav1.ObjectMeta, old *ServingRuntimeSpec, was *metav1.ObjectMeta, rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	faults, warnings := s.validate(meta, rules)
	before, _ := old.validate(was, rules)
	faults, kept := serving.Ratchet(faults, before)
	if !s.IsDisabled() && old.WorkerSpec != nil && s.WorkerSpec == nil {
		faults = append(faults, field.Forbidden(field.NewPath("spec", "workerSpec"), "cannot be removed, because services on several nodes may use it; make a new runtime"))
	}
	return faults, append(warnings, kept...)
}

func (s *ServingRuntimeSpec) validate(meta *metav1.ObjectMeta, rules RuntimeRules) (field.ErrorList, []serving.Warning) {
	if s.IsDisabled() {
		return nil, nil
	}
	spec := field.NewPath("spec")
	faults, warnings := serving.ValidateAnnotations(field.NewPath("metadata", "annotations"), meta.Annotations, serving.OnRuntime)
	more, odd := serving.ValidateAnnotations(spec.Child("annotations"), s.Annotations, serving.OnRuntimePods)
	faults, warnings = append(faults, more...), append(warnings, odd...)
	warnings = append(warnings, s.oddProtocols(spec.Child("protocolVersions"))...)
	faults = append(faults, s.validateFormats(spec.Child("supportedModelFormats"))...)
	for _, other := range slices.Sorted(maps.Keys(rules.Others)) {
		if other == meta.Name {
			continue
		}
		runtime := rules.Others[other]
		faults = append(faults, s.validateAgainst(spec.Child("supportedModelFormats"), other, &runtime)...)
	}
	faults = append(faults, serving.ValidateContainers(spec.Child("containers"), s.Containers)...)
	faults = append(faults, serving.ValidateContainerNames(spec.Child("containers"), s.Containers, map[string]bool{})...)
	faults = append(faults, s.ServingRuntimePodSpec.validatePods(spec)...)
	faults = append(faults, s.validateWorkers(spec, rules.GPUResources)...)
	isMain := func(c corev1.Container) bool { return c.Name == handoff.MainContainer }
	if s.GRPCMultiModelManagementEndpoint == nil && !slices.ContainsFunc(s.Containers, isMain) {
		warnings = append(warnings, serving.Warning{
			Field:  "spec.containers",
			Detail: "no container is called " + handoff.MainContainer + ", so no predictor can use the runtime; rename the one that serves",
		})
	}
	return faults, warnings
}

// oddProtocols tells protocols that no service can ask for.
func (s *ServingRuntimeSpec) oddProtocols(path *field.Path) []serving.Warning {
	var warnings []serving.Warning
	for i, protocol := range s.ProtocolVersions {
		if !slices.Contains(serving.ProtocolVersions(), protocol) {
			warnings = append(warnings, serving.Warning{Field: path.Index(i).String(), Detail: fmt.Sprintf(
				"no service can ask for %q; a server that speaks one of %s is chosen by that", protocol, serving.ListProtocols())})
		}
	}
	return warnings
}

func (s *ServingRuntimeSpec) validateFormats(path *field.Path) field.ErrorList {
	var faults field.ErrorList
	first := map[string]int{}
	for i := range s.SupportedModelFormats {
		format := &s.SupportedModelFormats[i]
		at := path.Index(i)
		if format.Name == "" {
			faults = append(faults, field.Required(at.Child("name"), "a format needs a name; set one such as sklearn"))
		}
		if format.Priority == nil {
			continue
		}
		if *format.Priority < 1 {
			faults = append(faults, field.Invalid(at.Child("priority"), *format.Priority, "must be at least 1; remove it for a runtime without priority"))
		}
		if !format.IsAutoSelect() {
			continue
		}
		earlier, ok := first[format.Name]
		if !ok {
			first[format.Name] = i
			continue
		}
		if other := *s.SupportedModelFormats[earlier].Priority; other != *format.Priority {
			faults = append(faults, field.Invalid(at.Child("priority"), *format.Priority, fmt.Sprintf(
				"%s has priority %d for the same format; a runtime has one priority per format, so make them equal", path.Index(earlier), other)))
		}
	}
	return faults
}

// validateAgainst refuses a priority that leaves open which of two runtimes a model gets.
func (s *ServingRuntimeSpec) validateAgainst(path *field.Path, name string, other *ServingRuntimeSpec) field.ErrorList {
	// A model that spans several nodes is served by a runtime with workers, and another one never is.
	if other.IsDisabled() || s.IsMultiModel() != other.IsMultiModel() || (s.WorkerSpec == nil) != (other.WorkerSpec == nil) || !s.sharesProtocol(other) {
		return nil
	}
	var faults field.ErrorList
	for i := range s.SupportedModelFormats {
		mine := &s.SupportedModelFormats[i]
		for j := range other.SupportedModelFormats {
			if mine.clashes(&other.SupportedModelFormats[j]) {
				faults = append(faults, field.Invalid(path.Index(i).Child("priority"), *mine.Priority, fmt.Sprintf(
					"the runtime %s has the same priority for this format and version, so the choice would be open; choose another", name)))
				break
			}
		}
	}
	return faults
}

// sharesProtocol reports whether two runtimes can serve the same model; one that lists no protocol speaks any.
func (s *ServingRuntimeSpec) sharesProtocol(other *ServingRuntimeSpec) bool {
	if len(s.ProtocolVersions) == 0 || len(other.ProtocolVersions) == 0 {
		return true
	}
	return slices.ContainsFunc(s.ProtocolVersions, func(p serving.ProtocolVersion) bool { return slices.Contains(other.ProtocolVersions, p) })
}

func (f *SupportedModelFormat) clashes(other *SupportedModelFormat) bool {
	if !f.IsAutoSelect() || !other.IsAutoSelect() || f.Priority == nil || other.Priority == nil || *f.Priority != *other.Priority {
		return false
	}
	sameVersion := f.Version == nil && other.Version == nil || f.Version != nil && other.Version != nil && *f.Version == *other.Version
	return sameVersion && strings.EqualFold(f.Name, other.Name)
}

func (s *ServingRuntimeSpec) validateWorkers(spec *field.Path, extra []string) field.ErrorList {
	w, path := s.WorkerSpec, spec.Child("workerSpec")
	if w == nil {
		return nil
	}
	var faults field.ErrorList
	gpus := slices.Concat(serving.GPUResources(), extra)
	if text, ok := s.Annotations[serving.AnnotationGPUResourceTypes]; ok {
		more, fault := serving.ExtraGPUResources(spec.Child("annotations").Key(serving.AnnotationGPUResourceTypes), text)
		if fault != nil {
			faults = append(faults, fault)
		}
		gpus = append(gpus, more...)
	}
	if len(w.Containers) > 1 {
		faults = append(faults, field.TooMany(path.Child("containers"), len(w.Containers), 1))
	}
	faults = append(faults, serving.ValidateContainers(path.Child("containers"), w.Containers)...)
	faults = append(faults, w.ServingRuntimePodSpec.validatePods(path)...)
	faults = append(faults, serving.ValidateParallelism(path, w.PipelineParallelSize, w.TensorParallelSize)...)
	for i := range w.Containers {
		faults = append(faults, serving.ValidateGPUResources(path.Child("containers").Index(i).Child("resources"), w.Containers[i].Resources, gpus)...)
	}
	for i := range s.Containers {
		if s.Containers[i].Name != handoff.MainContainer {
			continue
		}
		at := spec.Child("containers").Index(i)
		faults = append(faults, serving.ValidateParallelEnv(at.Child("env"), s.Containers[i].Env)...)
		faults = append(faults, serving.ValidateGPUResources(at.Child("resources"), s.Containers[i].Resources, gpus)...)
	}
	return faults
}

// validatePods refuses what an API server would refuse in the pods of any service that uses the runtime.
func (p *ServingRuntimePodSpec) validatePods(at *field.Path) field.ErrorList {
	pod := corev1.PodSpec{
		Containers: p.Containers, Volumes: p.Volumes, NodeSelector: p.NodeSelector, Affinity: p.Affinity, Tolerations: p.Tolerations,
		ImagePullSecrets: p.ImagePullSecrets, ResourceClaims: p.ResourceClaims,
	}
	return slices.Concat(podrules.Pod(at, &pod, podrules.Options{Merged: true}),
		podrules.Labels(at.Child("labels"), p.Labels), podrules.Annotations(at.Child("annotations"), p.Annotations))
}
