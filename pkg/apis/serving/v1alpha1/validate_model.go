// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/podrules"
)

// trainedModelSchemes are what the agent of a multi-model server can pull from.
func trainedModelSchemes() []string { return []string{"s3://", "gs://", "https://", "http://"} }

// Validate returns what is wrong with a model. A model that is being deleted is right.
func (m *TrainedModel) Validate() field.ErrorList {
	if m.DeletionTimestamp != nil {
		return nil
	}
	var faults field.ErrorList
	if strings.Contains(m.Name, ".") || len(validation.IsDNS1123Subdomain(m.Name)) > 0 {
		faults = append(faults, field.Invalid(field.NewPath("metadata", "name"), m.Name,
			"must hold only lower-case letters, digits and '-', and start and end with a letter or digit; choose a name such as my-model-1"))
	}
	spec := field.NewPath("spec")
	if m.Spec.InferenceService == "" {
		faults = append(faults, field.Required(spec.Child("inferenceService"), "a model is added to a service; name one of this namespace"))
	}
	if m.Spec.Model.Framework == "" {
		faults = append(faults, field.Required(spec.Child("model", "framework"), "a model needs a format; set one such as sklearn"))
	}
	if m.Spec.Model.Memory.Sign() < 0 {
		faults = append(faults, field.Invalid(spec.Child("model", "memory"), m.Spec.Model.Memory.String(), "must not be less than 0; write a quantity such as 256Mi"))
	}
	return append(faults, m.validateURI(spec.Child("model", "storageUri"))...)
}

func (m *TrainedModel) validateURI(path *field.Path) field.ErrorList {
	uri := m.Spec.Model.StorageURI
	isPrefix := func(prefix string) bool { return strings.HasPrefix(uri, prefix) }
	if !slices.ContainsFunc(trainedModelSchemes(), isPrefix) {
		return field.ErrorList{field.Invalid(path, modelref.Redact(uri),
			"must start with "+strings.Join(trainedModelSchemes(), ", ")+"; a multi-model server pulls from no other source")}
	}
	if _, err := modelref.Parse(uri); err != nil {
		return field.ErrorList{field.Invalid(path, modelref.Redact(uri), err.Error())}
	}
	return nil
}

// ValidateUpdate returns what is wrong with a change of a model. Faults that the stored model has too are warnings.
func (m *TrainedModel) ValidateUpdate(old *TrainedModel) (field.ErrorList, []serving.Warning) {
	if m.DeletionTimestamp != nil {
		return nil, nil
	}
	faults, warnings := serving.Ratchet(m.Validate(), old.Validate())
	if now, before := m.Spec.Model.Memory, old.Spec.Model.Memory; now.Cmp(before) != 0 {
		faults = append(faults, field.Invalid(field.NewPath("spec", "model", "memory"), now.String(),
			fmt.Sprintf("cannot change from %s, because the server has been chosen by it; make a new model", before.String())))
	}
	return faults, warnings
}

// Validate returns what is wrong with a storage container.
func (c *ClusterStorageContainer) Validate() field.ErrorList {
	var faults field.ErrorList
	spec := field.NewPath("spec")
	for i, format := range c.Spec.SupportedURIFormats {
		at := spec.Child("supportedUriFormats").Index(i)
		switch {
		case format.Prefix == "" && format.Regex == "":
			faults = append(faults, field.Required(at, "one of prefix and regex must be set; name the sources that the container fetches"))
		case format.Regex != "":
			if _, err := regexp.Compile(format.Regex); err != nil {
				faults = append(faults, field.Invalid(at.Child("regex"), format.Regex, fmt.Sprintf("is no regular expression: %v; correct it, or use prefix", err)))
			}
		}
	}
	types := []WorkloadType{InitContainer, LocalModelDownloadJob}
	if t := c.Spec.WorkloadType; t != "" && !slices.Contains(types, t) {
		faults = append(faults, field.NotSupported(spec.Child("workloadType"), t, types))
	}
	faults = append(faults, serving.ValidateEnv(spec.Child("container", "env"), c.Spec.Container.Env)...)
	container := c.Spec.Container
	container.Name = "" // pods get one of their own
	return append(faults, podrules.Container(spec.Child("container"), &container)...)
}

// ValidateUpdate returns what is wrong with a change of a storage container. Faults that the stored one has too are warnings.
func (c *ClusterStorageContainer) ValidateUpdate(old *ClusterStorageContainer) (field.ErrorList, []serving.Warning) {
	return serving.Ratchet(c.Validate(), old.Validate())
}
