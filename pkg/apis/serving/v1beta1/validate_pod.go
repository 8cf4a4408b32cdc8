// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/podrules"
)

// children refuses what an API server would refuse in the objects that are made of a component. A runtime may fill in what a merged pod lacks.
func (v *validator) children(at *field.Path, pod *PodSpec, e *ComponentExtensionSpec, merged bool) {
	if v.mode == serving.ModelMesh {
		return
	}
	v.template(at, pod, merged, handoff.TransformerContainer)
	v.refuse(podrules.Labels(at.Child("labels"), e.Labels)...)
	v.refuse(podrules.Annotations(at.Child("annotations"), e.Annotations)...)
	if v.mode != serving.Standard {
		return
	}
	v.refuse(podrules.Strategy(at.Child("deploymentStrategy"), e.DeploymentStrategy)...)
	if e.AutoScaling != nil {
		v.refuse(podrules.Behavior(at.Child("autoScaling", "behavior"), e.AutoScaling.Behavior)...)
	}
}

// template checks a pod. Containers of these names are laid over those of a runtime where there is one; no names are all.
func (v *validator) template(at *field.Path, pod *PodSpec, merged bool, overlaid ...string) {
	core := corev1.PodSpec(*pod)
	if main, i := mainContainer(pod.Containers); !merged && main != nil && main.Name == "" {
		core.Containers = slices.Clone(pod.Containers) // the defaults give the one that serves its name
		core.Containers[i].Name = handoff.MainContainer
	}
	v.refuse(podrules.Pod(at, &core, podrules.Options{
		Merged: merged, MergedContainers: overlaid, Deployment: v.mode == serving.Standard, Volumes: IsOwnVolume,
	})...)
}

// modelContainer checks the container of a model or explainer, which is laid over that of a runtime or the operator.
func (v *validator) modelContainer(at *field.Path, c *Container) {
	if v.mode != serving.ModelMesh {
		core := corev1.Container(*c)
		v.refuse(podrules.Container(at, &core)...)
	}
}

// IsOwnVolume reports whether pods get a volume of this name with their model.
func IsOwnVolume(name string) bool {
	own := []string{
		handoff.ProvisionVolume, handoff.PVCSourceVolume, handoff.CABundleVolume, handoff.AgentCABundleVolume, handoff.ModelConfigVolume,
		handoff.ModelDirVolume, handoff.GCSVolume, handoff.HDFSVolume, handoff.OCIAuthVolume, handoff.OCIModelVolume, handoff.OCIFetchVolume,
	}
	return slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
