// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
)

// MaxNameLength is the length of a DNS label: the longest name of a Service and the longest value of a label.
const MaxNameLength = 63

// Warning is what a person should know about an object that is accepted.
//
// +kubebuilder:object:generate=false
type Warning struct {
	// Field is the path of the field.
	Field string
	// Detail says what is odd and what to do.
	Detail string
}

func (w Warning) String() string { return w.Field + ": " + w.Detail }

var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// ValidateName checks the name of a service or graph.
func ValidateName(path *field.Path, name string) field.ErrorList {
	if nameForm.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name,
		"must start with a letter a-z, end with a letter or digit, and hold only lower-case letters, digits and '-'; choose a name such as my-model-1")}
}

// ValidateDerivedName checks a name that is made of a person's names. from says of which.
func ValidateDerivedName(path *field.Path, value, derived, what, from string) field.ErrorList {
	if len(derived) <= MaxNameLength {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("makes the %s %q of %d characters, and the limit is %d; shorten %s by %d",
		what, derived, len(derived), MaxNameLength, from, len(derived)-MaxNameLength))}
}

// Duplicate is a value that something else has already. detail says the rule and a fix.
func Duplicate(path *field.Path, value any, detail string) *field.Error {
	fault := field.Duplicate(path, value)
	fault.Detail = detail
	return fault
}

// ValidateReplicas checks the bounds of a replica count; a nil least means 1, a greatest of 0 means no bound.
func ValidateReplicas(path *field.Path, least *int32, greatest int32) field.ErrorList {
	var faults field.ErrorList
	low := int32(1)
	if least != nil {
		low = *least
	}
	if low < 0 {
		faults = append(faults, field.Invalid(path.Child("minReplicas"), low, "must not be less than 0; 0 scales to zero, 1 is the default"))
	}
	if greatest < 0 {
		faults = append(faults, field.Invalid(path.Child("maxReplicas"), greatest, "must not be less than 0; 0 sets no bound"))
	}
	if greatest > 0 && low > greatest {
		faults = append(faults, field.Invalid(path.Child("minReplicas"), low,
			fmt.Sprintf("must not be greater than maxReplicas, which is %d; lower it or raise maxReplicas", greatest)))
	}
	return faults
}

// blockedEnv are the variables that would change the interpreter of a server.
const blockedEnv = handoff.EnvPythonPath

// ValidateContainers refuses containers that set a blocked variable.
func ValidateContainers(path *field.Path, containers []corev1.Container) field.ErrorList {
	var faults field.ErrorList
	for i := range containers {
		faults = append(faults, ValidateEnv(path.Index(i).Child("env"), containers[i].Env)...)
	}
	return faults
}

// ValidateContainerNames refuses a name that two containers of a pod have. seen holds the names of the pod's other containers, and gets these.
func ValidateContainerNames(path *field.Path, containers []corev1.Container, seen map[string]bool) field.ErrorList {
	var faults field.ErrorList
	for i := range containers {
		name := containers[i].Name
		if name != "" && seen[name] {
			faults = append(faults, Duplicate(path.Index(i).Child("name"), name, "containers of a pod need names of their own; choose another"))
		}
		seen[name] = true
	}
	return faults
}

// ValidateEnv refuses blocked variables.
func ValidateEnv(path *field.Path, env []corev1.EnvVar) field.ErrorList {
	var faults field.ErrorList
	for i, variable := range env {
		if variable.Name == blockedEnv {
			faults = append(faults, field.Forbidden(path.Index(i).Child("name"), blockedEnv+" could change which code a server runs; remove it"))
		}
	}
	return faults
}

// ExtraGPUResources reads the annotation that names further GPU resources. value is the annotation's text, at path.
func ExtraGPUResources(path *field.Path, value string) ([]string, *field.Error) {
	var names []string
	if err := json.Unmarshal([]byte(value), &names); err != nil || len(names) == 0 || slices.Contains(names, "") {
		return nil, field.Invalid(path, value, `must be a JSON array of resource names; write for instance ["example.com/gpu"]`)
	}
	return names, nil
}

// ValidateGPUResources refuses resources of a multi-node container that are neither plain nor GPUs.
func ValidateGPUResources(path *field.Path, resources corev1.ResourceRequirements, gpus []string) field.ErrorList {
	var faults field.ErrorList
	plain := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage}
	for _, list := range []struct {
		name  string
		items corev1.ResourceList
	}{{"requests", resources.Requests}, {"limits", resources.Limits}} {
		for _, name := range sortedResources(list.items) {
			if !slices.Contains(plain, name) && !slices.Contains(gpus, string(name)) {
				faults = append(faults, field.NotSupported(path.Child(list.name).Key(string(name)), string(name), gpus))
			}
		}
	}
	return faults
}

func sortedResources(items corev1.ResourceList) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range items {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ValidateParallelism checks the sizes of a multi-node server.
func ValidateParallelism(path *field.Path, pipeline, tensor *int) field.ErrorList {
	var faults field.ErrorList
	if pipeline != nil && *pipeline < 1 {
		faults = append(faults, field.Invalid(path.Child("pipelineParallelSize"), *pipeline, "must be at least 1: the number of nodes; remove it for the default"))
	}
	if tensor != nil && *tensor < 1 {
		faults = append(faults, field.Invalid(path.Child("tensorParallelSize"), *tensor, "must be at least 1: the number of GPUs per node; remove it for the default"))
	}
	return faults
}

// ParallelEnv are the variables that hold the sizes of a multi-node server; only the fields may set them.
func ParallelEnv() []string {
	return []string{handoff.EnvPipelineParallelSize, handoff.EnvTensorParallelSize}
}

// ValidateParallelEnv refuses variables that a multi-node server gets from fields.
func ValidateParallelEnv(path *field.Path, env []corev1.EnvVar) field.ErrorList {
	var faults field.ErrorList
	for i, variable := range env {
		if slices.Contains(ParallelEnv(), variable.Name) {
			faults = append(faults, field.Forbidden(path.Index(i).Child("name"),
				variable.Name+" is set from workerSpec; remove it and set pipelineParallelSize or tensorParallelSize there"))
		}
	}
	return faults
}

// Ratchet splits the faults of an object that is being changed: those that the stored object has as well become warnings,
// so that a rule that is newer than the object does not keep anyone from changing its labels.
func Ratchet(faults, stored field.ErrorList) (fresh field.ErrorList, old []Warning) {
	known := map[string]bool{}
	for _, fault := range stored {
		known[fault.Error()] = true
	}
	for _, fault := range faults {
		if known[fault.Error()] {
			old = append(old, Warning{Field: fault.Field, Detail: strings.TrimPrefix(fault.Error(), fault.Field+": ")})
			continue
		}
		fresh = append(fresh, fault)
	}
	return fresh, old
}
