// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/apis/serving/podrules"
)

// children refuses what an API server would refuse in the objects that are made of a component. A runtime may fill in what a merged pod lacks.
func (v *validator) children(at *field.Path, pod *PodSpec, e *ComponentExtensionSpec, uris []StorageURI, merged bool) {
	if v.mode == serving.ModelMesh {
		return
	}
	v.template(at, pod, uris, merged, handoff.TransformerContainer)
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

// template checks a pod, which gets volumes with the models of a list. What a single model is mounted from comes with pod admission, after
// the API server looked at the template. Containers of these names are laid over those of a runtime where there is one; no names are all.
func (v *validator) template(at *field.Path, pod *PodSpec, uris []StorageURI, merged bool, overlaid ...string) {
	core := corev1.PodSpec(*pod)
	if main, i := mainContainer(pod.Containers); !merged && main != nil && main.Name == "" {
		core.Containers = slices.Clone(pod.Containers) // the defaults give the one that serves its name
		core.Containers[i].Name = handoff.MainContainer
	}
	v.refuse(podrules.Pod(at, &core, podrules.Options{
		Merged: merged, MergedContainers: overlaid, Deployment: v.mode == serving.Standard, Volumes: listVolumes(uris),
	})...)
}

// modelContainer checks the container of a model or explainer, which is laid over that of a runtime or the operator.
func (v *validator) modelContainer(at *field.Path, c *Container) {
	if v.mode != serving.ModelMesh {
		core := corev1.Container(*c)
		v.refuse(podrules.Container(at, &core)...)
	}
}

// listVolumes tells the names of volumes that a pod template gets with the models of a list: after the path of each, and after the folder
// of what is fetched together.
func listVolumes(uris []StorageURI) func(name string) bool {
	var folders []string
	for _, item := range uris {
		folder := item.MountPath
		if folder == "" {
			folder = handoff.ModelDir
		}
		if path.IsAbs(folder) {
			folders = append(folders, path.Clean(folder))
		}
	}
	if len(folders) == 0 {
		return nil
	}
	folders = append(folders, commonFolder(folders))
	return func(name string) bool {
		return IsOwnVolume(name) || slices.ContainsFunc(folders, func(folder string) bool { return serving.VolumeName(folder, "") == name })
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
