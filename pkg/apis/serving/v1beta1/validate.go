// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

// Rules is what validation has to know about the place where a service is to run.
//
// +kubebuilder:object:generate=false
type Rules struct {
	// Mode of services that name none.
	Mode serving.DeploymentMode
	// GPUResources are the operator's resource names that count as GPUs beside the built-in ones.
	GPUResources []string
	// StorageFormats are those of the storage containers that are not disabled: sources beyond the built-in schemes.
	StorageFormats []v1alpha1.SupportedURIFormat
	// NoOCI says that the operator has switched models in images off, so that none can be mounted.
	NoOCI bool
	// Hosts are the host names that the service would get.
	Hosts Hosts
	// NoTimeout says why a request's time is not limited here; empty where it can be.
	NoTimeout string
	// Stored says that the service is stored already: what a new one would be refused for, and what does no harm, is a warning.
	Stored bool
	// NoSplit says why requests cannot be split between predictors here; empty where they can.
	NoSplit string
	// NoMeasurements says that the operator has named no Prometheus that canaries can be measured by.
	NoMeasurements bool
	// NoOwnQueries says that services may not bring queries of their own.
	NoOwnQueries bool
}

// Hosts are the host names that the operator's template makes of a service.
//
// +kubebuilder:object:generate=false
type Hosts struct {
	// Names are the host names. Each part of one has a limit.
	Names []string
	// Fault says why there are none; empty where there are.
	Fault string
}

// validator collects what is wrong with one service.
type validator struct {
	service  *InferenceService
	rules    Rules
	mode     serving.DeploymentMode
	gpus     []string
	faults   field.ErrorList
	warnings []serving.Warning

	// told are the texts of the faults that once has read, and read is how many those are.
	told map[string]bool
	read int
}

// Validate returns what is wrong with a service that has its defaults, and what is odd about it. A service that is being deleted is right.
func (s *InferenceService) Validate(rules Rules) (field.ErrorList, []serving.Warning) {
	if s.DeletionTimestamp != nil {
		return nil, nil
	}
	v := &validator{service: s, rules: rules}
	v.metadata()
	spec := field.NewPath("spec")
	v.predictor(spec.Child("predictor"), &s.Spec.Predictor)
	v.scaling(spec.Child("predictor"), &s.Spec.Predictor.ComponentExtensionSpec)
	if t := s.Spec.Transformer; t != nil {
		v.transformer(spec.Child("transformer"), t)
	}
	if e := s.Spec.Explainer; e != nil {
		v.explainer(spec.Child("explainer"), e)
	}
	v.canaries(spec.Child("canary"))
	v.canaryTraffic(spec.Child("canary"))
	return v.faults, v.warnings
}

// ValidateUpdate returns what is wrong with a change of a service. Faults that the stored service has too are warnings.
func (s *InferenceService) ValidateUpdate(old *InferenceService, rules Rules) (field.ErrorList, []serving.Warning) {
	if s.DeletionTimestamp != nil {
		return nil, nil
	}
	faults, warnings := s.Validate(rules)
	before, _ := old.Validate(rules)
	faults, kept := serving.Ratchet(faults, before)
	warnings = append(warnings, kept...)
	// A change while no webhook ran, or before the mode was stored, may have left the two apart: that is no reason to refuse every further update.
	switch fault := s.modeChange(old); {
	case fault == nil:
	case s.Annotations[serving.AnnotationDeploymentMode] == old.Annotations[serving.AnnotationDeploymentMode]:
		warnings = append(warnings, serving.Warning{Field: fault.Field, Detail: fmt.Sprintf("has no effect: the service was deployed in %s mode and stays in it; remove the annotation", old.Status.DeploymentMode)})
	default:
		faults = append(faults, fault)
	}
	if fault := s.nameChange(old); fault != nil {
		faults = append(faults, fault)
	}
	return faults, warnings
}

func (v *validator) add(faults ...*field.Error) { v.faults = append(v.faults, faults...) }

func (v *validator) warn(path *field.Path, format string, args ...any) {
	v.warnings = append(v.warnings, serving.Warning{Field: path.String(), Detail: fmt.Sprintf(format, args...)})
}

// annotation is the path of an annotation of the service.
func annotation(key string) *field.Path { return field.NewPath("metadata", "annotations").Key(key) }

// Mode returns the mode that a service has or would get.
func (s *InferenceService) Mode(fallback serving.DeploymentMode) serving.DeploymentMode {
	if mode, ok := serving.ParseDeploymentMode(string(s.Status.DeploymentMode)); ok {
		return mode
	}
	if mode, ok := serving.ParseDeploymentMode(s.Annotations[serving.AnnotationDeploymentMode]); ok {
		return mode
	}
	return fallback
}

// IsStopped reports whether the service is to have nothing (serving.AnnotationStop).
func (s *InferenceService) IsStopped() bool {
	return strings.EqualFold(s.Annotations[serving.AnnotationStop], "true")
}

// metadata checks name and annotations, and what they decide for the rest.
func (v *validator) metadata() {
	s := v.service
	v.mode = s.Mode(v.rules.Mode)
	v.add(serving.ValidateName(field.NewPath("metadata", "name"), s.Name)...)
	if text, ok := s.Annotations[serving.AnnotationDeploymentMode]; ok {
		if _, known := serving.ParseDeploymentMode(text); !known {
			v.add(field.NotSupported(annotation(serving.AnnotationDeploymentMode), text,
				[]serving.DeploymentMode{serving.Standard, serving.Knative, serving.ModelMesh}))
		}
	}
	v.gpus = slices.Concat(serving.GPUResources(), v.rules.GPUResources)
	if text, ok := s.Annotations[serving.AnnotationGPUResourceTypes]; ok {
		extra, fault := serving.ExtraGPUResources(annotation(serving.AnnotationGPUResourceTypes), text)
		if fault != nil {
			v.add(fault)
		}
		v.gpus = append(v.gpus, extra...)
	}
	v.annotations()
	v.names()
}

// names checks every name that is made of the service's.
func (v *validator) names() {
	s, path := v.service, field.NewPath("metadata", "name")
	workloads := []string{serving.PredictorName(s.Name, s.Spec.Predictor.Name)}
	if s.Spec.Transformer != nil {
		workloads = append(workloads, serving.TransformerName(s.Name))
	}
	if s.Spec.Explainer != nil {
		workloads = append(workloads, serving.ExplainerName(s.Name))
	}
	if s.Spec.Predictor.WorkerSpec != nil {
		workloads = append(workloads, serving.WorkerName(s.Name))
	}
	for _, name := range workloads {
		v.workloadName(path, s.Name, name)
	}
	for i := range s.Spec.Canary {
		// The fault is the canary's: with a shorter name of its own it fits.
		name := s.Spec.Canary[i].Predictor.Name
		v.workloadName(field.NewPath("spec", "canary").Index(i).Child("predictor", "name"), name, serving.PredictorName(s.Name, name))
	}
	v.hosts(path)
}

// hosts checks the host names that the operator's template makes of the service.
func (v *validator) hosts(path *field.Path) {
	const template = "the operator's ingress.domainTemplate"
	name := v.service.Name
	if fault := v.rules.Hosts.Fault; fault != "" {
		v.refuse(field.Invalid(path, name, "has no host name: "+template+" "+fault))
	}
	for _, host := range v.rules.Hosts.Names {
		before := len(v.faults)
		for part := range strings.SplitSeq(host, ".") {
			v.add(serving.ValidateDerivedName(path, name, part, "part of the host name "+host, "metadata.name or the namespace")...)
		}
		if len(v.faults) > before {
			continue
		}
		if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 || !strings.Contains(host, ".") {
			v.refuse(field.Invalid(path, name, fmt.Sprintf(
				"makes the host name %q, which is none: at most %d lower-case letters, digits, '-' and at least one '.'; change what %s takes of the service",
				host, validation.DNS1123SubdomainMaxLength, template)))
		}
	}
}

// workloadName checks the name of a workload, and the label that is made of it in Standard mode. The value at the path is what to shorten.
func (v *validator) workloadName(path *field.Path, value, name string) {
	what := "name"
	if len(name) <= serving.MaxNameLength && v.mode == serving.Standard {
		what, name = "label "+serving.LabelApp, serving.AppName(name)
	}
	v.add(serving.ValidateDerivedName(path, value, name, what, path.String())...)
}

func (s *InferenceService) modeChange(old *InferenceService) *field.Error {
	stored, ok := serving.ParseDeploymentMode(string(old.Status.DeploymentMode))
	text, present := s.Annotations[serving.AnnotationDeploymentMode]
	wanted, known := serving.ParseDeploymentMode(text)
	if !ok || !present || !known || stored == wanted {
		return nil
	}
	return field.Forbidden(annotation(serving.AnnotationDeploymentMode),
		fmt.Sprintf("the mode of a deployed service cannot change from %s to %s; delete the service and make it anew", stored, wanted))
}

// nameChange refuses a new name that would only make every object of the predictor anew. A canary that becomes the stable predictor
// brings its name with it.
func (s *InferenceService) nameChange(old *InferenceService) *field.Error {
	name := s.Spec.Predictor.Name
	promoted := func(c CanarySpec) bool { return name != "" && c.Predictor.Name == name }
	if name == old.Spec.Predictor.Name || !s.Spec.Predictor.sameSource(&old.Spec.Predictor) || slices.ContainsFunc(old.Spec.Canary, promoted) {
		return nil
	}
	return field.Invalid(field.NewPath("spec", "predictor", "name"), name,
		fmt.Sprintf("cannot change from %q while the model stays the same; change storageUri with it, or keep the name", old.Spec.Predictor.Name))
}

// sameSource reports whether two predictors serve what is at the same place.
func (p *PredictorSpec) sameSource(other *PredictorSpec) bool {
	return p.SourceURI() == other.SourceURI() && apiequality.Semantic.DeepEqual(p.StorageURIs, other.StorageURIs) &&
		apiequality.Semantic.DeepEqual(p.storage(), other.storage())
}

// storage is the place in a store that a predictor's model is at, if it names one.
func (p *PredictorSpec) storage() *ModelStorageSpec {
	if all := p.models(nil); len(all) > 0 {
		return all[0].spec.Storage
	}
	return nil
}

// exactlyOne checks the number of implementations of a component.
func (v *validator) exactlyOne(path *field.Path, found, choices []string) {
	switch {
	case len(found) == 0:
		v.add(field.Required(path, "exactly one of "+strings.Join(choices, ", ")+" must be set; set one"))
	case len(found) > 1:
		v.add(field.Invalid(path, strings.Join(found, ", "), "exactly one of "+strings.Join(choices, ", ")+" must be set; keep one"))
	}
}

func predictorChoices() []string {
	choices := []string{"model"}
	for _, framework := range (&PredictorSpec{}).Frameworks() {
		choices = append(choices, framework.Name)
	}
	return append(choices, "containers (with one called kserve-container)")
}

func (v *validator) predictor(path *field.Path, p *PredictorSpec) {
	if p.isEmpty() {
		v.add(field.Required(path, "exactly one of "+strings.Join(predictorChoices(), ", ")+" must be set; name a model"))
		return
	}
	v.exactlyOne(path, p.implementations(), predictorChoices())
	if p.Name != "" {
		v.add(serving.ValidateName(path.Child("name"), p.Name)...)
	}
	v.pod(path, &p.PodSpec)
	for _, m := range p.models(path) {
		v.model(m, len(p.StorageURIs) > 0)
		v.modelContainer(m.path, &m.spec.Container)
	}
	if p.Model != nil && p.Model.ModelFormat.Name == "" {
		v.add(field.Required(path.Child("model", "modelFormat", "name"), "a model needs a format; set one that a runtime supports, such as sklearn"))
	}
	v.predictorContainers(path, p)
	v.storageURIs(path.Child("storageUris"), p.StorageURIs)
	v.multiNode(path, p)
	v.extension(path, &p.ComponentExtensionSpec)
	v.children(path, &p.PodSpec, &p.ComponentExtensionSpec, p.StorageURIs, !p.IsCustom())
}

func (p *PredictorSpec) isEmpty() bool { return apiequality.Semantic.DeepEqual(*p, PredictorSpec{}) }

func (v *validator) transformer(path *field.Path, t *TransformerSpec) {
	if len(t.Containers) == 0 {
		v.add(field.Required(path.Child("containers"), "a transformer is a container of your own; add one"))
	}
	v.pod(path, &t.PodSpec)
	v.ownStorage(path, &t.PodSpec, len(t.StorageURIs) > 0)
	v.storageURIs(path.Child("storageUris"), t.StorageURIs)
	v.extension(path, &t.ComponentExtensionSpec)
	v.children(path, &t.PodSpec, &t.ComponentExtensionSpec, t.StorageURIs, false)
	v.scaling(path, &t.ComponentExtensionSpec)
}

func (v *validator) explainer(path *field.Path, e *ExplainerSpec) {
	v.exactlyOne(path, e.implementations(), []string{"art", "containers (with one called kserve-container)"})
	v.pod(path, &e.PodSpec)
	if e.ART != nil {
		v.art(path.Child("art"), e.ART, len(e.StorageURIs) > 0)
		v.modelContainer(path.Child("art"), &e.ART.Container)
	} else {
		v.ownStorage(path, &e.PodSpec, len(e.StorageURIs) > 0)
	}
	v.storageURIs(path.Child("storageUris"), e.StorageURIs)
	v.extension(path, &e.ComponentExtensionSpec)
	v.children(path, &e.PodSpec, &e.ComponentExtensionSpec, e.StorageURIs, false)
	v.scaling(path, &e.ComponentExtensionSpec)
}
