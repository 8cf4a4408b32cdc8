// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// checkPods refuses what the API server would, and later: names that are there twice, mounts of volumes that are not there, and a volume
// of the user's where a model goes.
func (r *resolver) checkPods(c *plan.Component) error {
	if len(c.Storage.Sources) > 0 && findContainer(c.Pod.Containers, ServingContainer) == nil {
		return unsupported("the %s has a model and no container called %s to mount it in: give the container that serves that name", c.Role, ServingContainer)
	}
	if err := r.checkPod(c, &c.Pod); err != nil || c.Workers == nil {
		return err
	}
	return r.checkPod(c, &c.Workers.Pod)
}

func (r *resolver) checkPod(c *plan.Component, pod *corev1.PodSpec) error {
	taken := r.modelFolders(&c.Storage)
	seen := map[string]bool{}
	for i, one := range slices.Concat(pod.InitContainers, pod.Containers) {
		if seen[one.Name] {
			return unsupported("the pod of the %s has two containers called %q: give one another name", c.Role, one.Name)
		}
		seen[one.Name] = true
		for _, m := range one.VolumeMounts {
			if !hasVolume(pod, m.Name) && !isMade(&c.Storage, m.Name) {
				return unsupported("container %s of the %s mounts volume %s, which its pod does not have: add it to the volumes of the runtime or of the service", one.Name, c.Role, m.Name)
			}
			if i >= len(pod.InitContainers) && seesModel(one.Name) && taken.by(pod, m) {
				return unsupported("container %s of the %s mounts volume %s at %s, where the model goes: mount it elsewhere, or take the model's source away", one.Name, c.Role, m.Name, path.Clean(m.MountPath))
			}
		}
	}
	return r.checkClaim(c, pod)
}

// checkClaim refuses a volume of the user's that has the name of the model's and holds something else.
func (r *resolver) checkClaim(c *plan.Component, pod *corev1.PodSpec) error {
	if c.Storage.Inline || len(c.Storage.Sources) == 0 {
		return nil
	}
	uri := c.Storage.Sources[0].URI
	claim, isClaim := strings.CutPrefix(uri, "pvc://")
	claim, _, _ = strings.Cut(claim, "/")
	if r.svc.IsCached(uri) {
		claim, isClaim = r.svc.Annotations[serving.AnnotationInternalLocalModelPVC], true
	}
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		if isClaim && v.Name == handoff.PVCSourceVolume && (v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != claim) {
			return unsupported("volume %s of the %s is not the claim %s, which the model comes from and whose volume has this name: give yours another", v.Name, c.Role, claim)
		}
	}
	return nil
}

// seesModel says that a model is mounted in containers of this name.
func seesModel(container string) bool {
	return container == ServingContainer || container == TransformerContainer || container == WorkerContainer
}

func hasVolume(pod *corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
}

// isMade says that the template gets a volume of this name with the models of a list. What a single model is mounted from comes with pod
// admission, which is too late for the API server.
func isMade(s *plan.Storage, name string) bool {
	made := func(at string) bool { return names.Volume(at, "") == name }
	return s.Inline && (servingv1beta1.IsOwnVolume(name) || slices.ContainsFunc(folders(s), made))
}

// folders are where the models of a list are mounted: each at its own, and what is fetched together at the folder that holds it all.
func folders(s *plan.Storage) []string {
	var all []string
	for _, one := range s.Sources {
		all = append(all, one.Path)
	}
	return append(all, plan.CommonFolder(s.Sources))
}

// modelFolders are the paths of a model's mounts, with the name of the volume that is mounted there.
type modelFolders struct {
	models map[string]string
	// links are folders that only hold the links to the images beside the server. An empty volume of the user's does as well.
	links map[string]bool
}

func (r *resolver) modelFolders(s *plan.Storage) modelFolders {
	f := modelFolders{models: map[string]string{}, links: map[string]bool{}}
	var fetched []plan.Source
	for _, one := range s.Sources {
		f.models[one.Path] = names.Volume(one.Path, "")
		switch mode, image := ociMode(one.URI, r.st); {
		case image && mode == settings.OCIModelcar:
			f.links[path.Dir(one.Path)] = true
		case !image && !strings.HasPrefix(one.URI, "pvc://"):
			fetched = append(fetched, one)
		}
	}
	if common := plan.CommonFolder(fetched); common != "" {
		f.models[common] = names.Volume(common, "")
	}
	return f
}

// by says that a mount takes a model's place. The model's own volume may be described by the user.
func (f modelFolders) by(pod *corev1.PodSpec, m corev1.VolumeMount) bool {
	at := path.Clean(m.MountPath)
	if m.Name == handoff.ProvisionVolume || m.Name == handoff.PVCSourceVolume {
		return false
	}
	if own, ok := f.models[at]; ok && m.Name != own {
		return true
	}
	empty := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name && v.EmptyDir != nil })
	return f.links[at] && !empty
}

// ociMode says how an image reaches the pod. Where images are switched off, oci:// is a source like any other.
func ociMode(uri string, st *settings.Settings) (mode settings.OCIMode, image bool) {
	scheme, _, _ := strings.Cut(uri, "://")
	own, ok := strings.CutPrefix(scheme, "oci+")
	switch mode = st.Storage.OCI(); {
	case mode == settings.OCIDisabled || scheme != "oci" && !ok:
		return mode, false
	case ok:
		return settings.OCIMode(own), true
	}
	return mode, true
}
