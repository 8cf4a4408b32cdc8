// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Defaults is what an operator decides for services that do not.
//
// +kubebuilder:object:generate=false
type Defaults struct {
	// Mode of services that name none.
	Mode serving.DeploymentMode
	// Resources of custom containers and of the ART explainer: each request and limit that is absent.
	Resources corev1.ResourceRequirements
	// ARTVersion is the image tag of the ART explainer.
	ARTVersion string
	// NoServiceAccountToken keeps the service account's token out of pods that do not ask for it.
	NoServiceAccountToken bool
	// LocalModels are the caches that services use without asking.
	LocalModels LocalModels
}

// LocalModels are the local model caches that a service can use.
//
// +kubebuilder:object:generate=false
type LocalModels struct {
	// Enabled is false where the cluster has no such caches; marks of caches are then removed from services.
	Enabled bool
	// Caches of the service's namespace first, then of the cluster. The first that fits is used. nil says that they are not known here: the
	// marks of a cache then stay as they are.
	Caches []LocalModelCache
}

// LocalModelCache is one cache.
//
// +kubebuilder:object:generate=false
type LocalModelCache struct {
	Name string
	// Namespace is empty for a cache of the cluster.
	Namespace string
	SourceURI string
	// NodeGroups that hold the model, the default one first.
	NodeGroups []string
}

// SetDefaults fills in what a service leaves open. It never removes a contradiction: Validate reports it.
func (s *InferenceService) SetDefaults(d Defaults) {
	s.defaultMode(d.Mode)
	if s.Annotations[serving.AnnotationDeploymentMode] != string(serving.ModelMesh) {
		moveFramework(&s.Spec.Predictor)
		for i := range s.Spec.Canary {
			moveFramework(&s.Spec.Canary[i].Predictor)
		}
	}
	if m := s.Spec.Predictor.Model; m != nil && m.ModelFormat.Name != "" {
		if _, ok := s.Annotations[serving.AnnotationModelFormat]; !ok {
			s.annotate(serving.AnnotationModelFormat, m.ModelFormat.Name)
		}
	}
	s.defaultPredictor(&s.Spec.Predictor, d)
	for i := range s.Spec.Canary {
		s.defaultPredictor(&s.Spec.Canary[i].Predictor, d)
	}
	if t := s.Spec.Transformer; t != nil {
		defaultOwnContainer(t.Containers, d.Resources)
	}
	if e := s.Spec.Explainer; e != nil && len(e.implementations()) == 1 {
		if e.ART == nil {
			defaultOwnContainer(e.Containers, d.Resources)
		} else {
			e.ART.Name = handoff.MainContainer
			if e.ART.RuntimeVersion == nil && d.ARTVersion != "" {
				e.ART.RuntimeVersion = new(d.ARTVersion)
			}
			fillResources(&e.ART.Resources, d.Resources)
		}
	}
	s.defaultMounts()
	s.markLocalModel(d.LocalModels)
	if d.NoServiceAccountToken {
		s.withoutToken()
	}
}

func (s *InferenceService) annotate(key, value string) {
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[key] = value
}

// defaultMode writes the mode in its new spelling. A service that has been deployed keeps its mode whatever the operator's default is now.
func (s *InferenceService) defaultMode(mode serving.DeploymentMode) {
	if text, ok := s.Annotations[serving.AnnotationDeploymentMode]; ok {
		if parsed, known := serving.ParseDeploymentMode(text); known {
			s.annotate(serving.AnnotationDeploymentMode, string(parsed))
		}
		return
	}
	if stored, ok := serving.ParseDeploymentMode(string(s.Status.DeploymentMode)); ok {
		mode = stored
	}
	if mode == serving.Standard || mode == serving.ModelMesh {
		s.annotate(serving.AnnotationDeploymentMode, string(mode))
	}
}

// moveFramework turns an older field into model. Where there is more than one model, all stay for validation to name.
func moveFramework(p *PredictorSpec) {
	set := p.setFrameworks()
	if len(set) != 1 || p.Model != nil {
		return
	}
	old := set[0]
	p.Model = &ModelSpec{ModelFormat: ModelFormat{Name: old.Name}, PredictorExtensionSpec: **old.Spec}
	*old.Spec = nil
	switch old.Name {
	case "triton", "onnx", "huggingface":
		defaultProtocol(p.Model)
	}
}

func defaultProtocol(m *ModelSpec) {
	if m.ProtocolVersion == nil {
		m.ProtocolVersion = new(serving.ProtocolV2)
	}
}

func (s *InferenceService) defaultPredictor(p *PredictorSpec, d Defaults) {
	if m := p.Model; m != nil && (m.ModelFormat.Name == "triton" || m.ModelFormat.Name == "vLLM") {
		defaultProtocol(m)
	}
	if len(p.implementations()) != 1 || !p.IsCustom() {
		return
	}
	first := &p.Containers[0]
	if len(p.Containers) == 1 || first.Name == "" {
		first.Name = handoff.MainContainer
	}
	fillResources(&first.Resources, d.Resources)
}

// defaultOwnContainer names the container of a transformer or explainer and gives it resources.
func defaultOwnContainer(containers []corev1.Container, resources corev1.ResourceRequirements) {
	if main, _ := mainContainer(containers); main != nil {
		main.Name = handoff.MainContainer
		fillResources(&main.Resources, resources)
	}
}

// fillResources adds each cpu and memory that is absent.
func fillResources(to *corev1.ResourceRequirements, from corev1.ResourceRequirements) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		fillResource(&to.Requests, from.Requests, name)
		fillResource(&to.Limits, from.Limits, name)
	}
}

func fillResource(to *corev1.ResourceList, from corev1.ResourceList, name corev1.ResourceName) {
	quantity, ok := from[name]
	if _, present := (*to)[name]; present || !ok {
		return
	}
	if *to == nil {
		*to = corev1.ResourceList{}
	}
	(*to)[name] = quantity.DeepCopy()
}

// defaultMounts fills in where sources are put; an API server does the same by the schema.
func (s *InferenceService) defaultMounts() {
	lists := [][]StorageURI{s.Spec.Predictor.StorageURIs}
	if s.Spec.Transformer != nil {
		lists = append(lists, s.Spec.Transformer.StorageURIs)
	}
	if s.Spec.Explainer != nil {
		lists = append(lists, s.Spec.Explainer.StorageURIs)
	}
	for i := range s.Spec.Canary {
		lists = append(lists, s.Spec.Canary[i].Predictor.StorageURIs)
	}
	for _, list := range lists {
		for i := range list {
			if list[i].MountPath == "" {
				list[i].MountPath = handoff.ModelDir
			}
		}
	}
}

// markLocalModel puts the marks of the cache that the predictor's model is in on the service, or removes old ones.
func (s *InferenceService) markLocalModel(models LocalModels) {
	if models.Enabled && models.Caches == nil {
		return
	}
	cache, group := models.find(s)
	if cache == nil {
		delete(s.Labels, serving.LabelLocalModel)
		delete(s.Labels, serving.LabelLocalModelNamespace)
		delete(s.Annotations, serving.AnnotationInternalLocalModelSourceURI)
		delete(s.Annotations, serving.AnnotationInternalLocalModelPVC)
		return
	}
	if s.Labels == nil {
		s.Labels = map[string]string{}
	}
	s.Labels[serving.LabelLocalModel] = cache.Name
	delete(s.Labels, serving.LabelLocalModelNamespace)
	if cache.Namespace != "" {
		s.Labels[serving.LabelLocalModelNamespace] = cache.Namespace
	}
	s.annotate(serving.AnnotationInternalLocalModelSourceURI, cache.SourceURI)
	s.annotate(serving.AnnotationInternalLocalModelPVC, cache.Name+"-"+group)
}

// find returns the first cache that holds the service's model, and the node group to use.
func (l LocalModels) find(s *InferenceService) (*LocalModelCache, string) {
	_, off := s.Annotations[serving.AnnotationDisableLocalModel]
	uri := s.Spec.Predictor.SourceURI()
	if !l.Enabled || off || uri == "" {
		return nil, ""
	}
	wanted, chosen := s.Annotations[serving.AnnotationNodeGroup]
	for i := range l.Caches {
		cache := &l.Caches[i]
		if !IsWithin(uri, cache.SourceURI) || len(cache.NodeGroups) == 0 {
			continue
		}
		if !chosen {
			return cache, cache.NodeGroups[0]
		}
		if slices.Contains(cache.NodeGroups, wanted) {
			return cache, wanted
		}
	}
	return nil, ""
}

// IsWithin reports whether a URI names the same as another, or something inside it. A slash at the end means nothing.
func IsWithin(uri, whole string) bool {
	uri, whole = strings.TrimRight(uri, "/"), strings.TrimRight(whole, "/")
	return uri == whole || strings.HasPrefix(uri, whole+"/")
}

// IsCached reports whether the defaults found a model in a local cache: it is mounted from there and never fetched.
func (s *InferenceService) IsCached(uri string) bool {
	_, marked := s.Labels[serving.LabelLocalModel]
	cached := s.Annotations[serving.AnnotationInternalLocalModelSourceURI]
	return marked && cached != "" && IsWithin(uri, cached)
}

// withoutToken keeps the service account's token out of each component that does not ask for it.
func (s *InferenceService) withoutToken() {
	pods := []*PodSpec{&s.Spec.Predictor.PodSpec}
	if s.Spec.Transformer != nil {
		pods = append(pods, &s.Spec.Transformer.PodSpec)
	}
	if s.Spec.Explainer != nil {
		pods = append(pods, &s.Spec.Explainer.PodSpec)
	}
	for _, pod := range pods {
		if pod.AutomountServiceAccountToken == nil {
			pod.AutomountServiceAccountToken = new(false)
		}
	}
}
