// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// Framework is one of the older fields of a predictor, which say format and source of a model in one.
//
// +kubebuilder:object:generate=false
type Framework struct {
	// Name is the JSON name of the field and the name of the format.
	Name string
	// Spec is nil where the field is not set.
	Spec **PredictorExtensionSpec
}

// Frameworks returns the older fields of a predictor in the order in which they are looked at.
func (p *PredictorSpec) Frameworks() []Framework {
	return []Framework{
		{"sklearn", &p.SKLearn},
		{"tensorflow", &p.Tensorflow},
		{"xgboost", &p.XGBoost},
		{"pytorch", &p.PyTorch},
		{"triton", &p.Triton},
		{"onnx", &p.ONNX},
		{"huggingface", &p.HuggingFace},
		{"pmml", &p.PMML},
		{"lightgbm", &p.LightGBM},
		{"paddle", &p.Paddle},
	}
}

// setFrameworks returns the older fields that are set.
func (p *PredictorSpec) setFrameworks() []Framework {
	return slices.DeleteFunc(p.Frameworks(), func(f Framework) bool { return *f.Spec == nil })
}

// model is a model of a predictor and where it stands.
type model struct {
	path *field.Path
	spec *PredictorExtensionSpec
}

// models returns every model of a predictor: model and the older fields.
func (p *PredictorSpec) models(path *field.Path) []model {
	var all []model
	if p.Model != nil {
		all = append(all, model{path.Child("model"), &p.Model.PredictorExtensionSpec})
	}
	for _, framework := range p.setFrameworks() {
		all = append(all, model{path.Child(framework.Name), *framework.Spec})
	}
	return all
}

// implementations names everything of a predictor that would serve a model. A right predictor has exactly one.
func (p *PredictorSpec) implementations() []string {
	var names []string
	for _, framework := range p.setFrameworks() {
		names = append(names, framework.Name)
	}
	if p.Model != nil {
		names = append(names, "model")
	}
	return withContainers(names, p.Containers)
}

// IsCustom reports whether the predictor is a person's own container instead of a model for a runtime.
func (p *PredictorSpec) IsCustom() bool {
	return p.Model == nil && len(p.setFrameworks()) == 0 && len(p.Containers) > 0
}

// MainContainer returns the container of a custom predictor that serves, and its place; nil if there is none.
func (p *PredictorSpec) MainContainer() (*corev1.Container, int) { return mainContainer(p.Containers) }

// SourceURI returns the source of the predictor's one model: of its model or older field, or the STORAGE_URI of a custom container.
func (p *PredictorSpec) SourceURI() string {
	if all := p.models(nil); len(all) > 0 {
		if uri := all[0].spec.StorageURI; uri != nil {
			return *uri
		}
		return ""
	}
	if main, _ := p.MainContainer(); main != nil {
		return envValue(main.Env, handoff.EnvStorageURI)
	}
	return ""
}

func (e *ExplainerSpec) implementations() []string {
	var names []string
	if e.ART != nil {
		names = append(names, "art")
	}
	return withContainers(names, e.Containers)
}

// withContainers adds the custom implementations: each container of the main container's name, or the containers as a whole if nothing else serves.
func withContainers(names []string, containers []corev1.Container) []string {
	for i := range containers {
		if containers[i].Name == handoff.MainContainer {
			names = append(names, "containers["+handoff.MainContainer+"]")
		}
	}
	if len(names) == 0 && len(containers) > 0 {
		names = append(names, "containers")
	}
	return names
}

// mainContainer returns the container called kserve-container, or else the first.
func mainContainer(containers []corev1.Container) (*corev1.Container, int) {
	for i := range containers {
		if containers[i].Name == handoff.MainContainer {
			return &containers[i], i
		}
	}
	if len(containers) > 0 {
		return &containers[0], 0
	}
	return nil, -1
}

func envValue(env []corev1.EnvVar, name string) string {
	for _, variable := range env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}
