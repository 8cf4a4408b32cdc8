// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// maxImages bounds the model images of one pod.
const maxImages = 10

// addOCI brings models that are images: beside the server, as a volume, or fetched.
func addOCI(pod *corev1.PodSpec, st *settings.Settings, sources []plan.Source, namespace string) error {
	to := targets(pod)
	switch {
	case len(to) == 0:
		return fmt.Errorf("the pod has neither a container named %s nor one named %s to mount the model in", servingContainer, workerContainer)
	case len(sources) > maxImages:
		return fmt.Errorf("%d model images are too many: a pod takes at most %d", len(sources), maxImages)
	}
	var fetched []plan.Source
	for i, s := range sources {
		mode := st.Storage.OCI()
		scheme, ref, _ := strings.Cut(s.URI, "://")
		if own, ok := strings.CutPrefix(scheme, "oci+"); ok {
			mode = settings.OCIMode(own)
		}
		switch mode {
		case settings.OCINative:
			if err := nativeImage(pod, to, ref, s.Path); err != nil {
				return err
			}
		case settings.OCIFetch:
			fetched = append(fetched, plan.Source{URI: "oci://" + ref, Path: s.Path})
		case settings.OCIModelcar, settings.OCIDisabled:
			modelcar(pod, st, plan.Source{URI: ref, Path: s.Path}, i)
		default:
			modelcar(pod, st, plan.Source{URI: ref, Path: s.Path}, i)
		}
	}
	fetchImages(pod, st, fetched, namespace)
	return nil
}

// nativeImage mounts the image itself.
func nativeImage(pod *corev1.PodSpec, to []*corev1.Container, ref, at string) error {
	volume := volumeAt(pod, at, handoff.OCIModelVolume, corev1.Volume{VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: ref, PullPolicy: corev1.PullIfNotPresent}}})
	for _, c := range to {
		for i := range c.VolumeMounts {
			if m := &c.VolumeMounts[i]; m.MountPath == at && m.Name != volume {
				return fmt.Errorf("container %s has the volume %s at %s already, where the model image must be", c.Name, m.Name, at)
			}
		}
	}
	for _, c := range to {
		addMount(c, corev1.VolumeMount{Name: volume, MountPath: at, SubPath: handoff.OCIModelSubPath, ReadOnly: true})
	}
	return nil
}

// modelcar runs the image beside the server, which reaches the model through the process table.
func modelcar(pod *corev1.PodSpec, st *settings.Settings, image plan.Source, n int) {
	ref, at := image.URI, image.Path
	suffix := ""
	if n > 0 {
		suffix = "-" + strconv.Itoa(n)
	}
	if container(pod, handoff.ModelcarContainer+suffix) != nil {
		return
	}
	// Where another model has made the folder already, the link goes there.
	mount := corev1.VolumeMount{Name: modelVolume + suffix, MountPath: path.Dir(at)}
	if shared := sharedFolder(pod, mount.MountPath); shared != "" {
		mount.Name = shared
	}
	limits := corev1.ResourceList{corev1.ResourceCPU: settings.Quantity(st.Storage.CPUModelcar), corev1.ResourceMemory: settings.Quantity(st.Storage.MemoryModelcar)}
	share := corev1.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}
	var user *corev1.SecurityContext
	if uid := st.Storage.UIDModelcar; uid != nil {
		user = &corev1.SecurityContext{RunAsUser: new(*uid)}
	}
	addVolume(pod, emptyDir(mount.Name))
	for _, c := range targets(pod) {
		addMount(c, mount)
		plan.AddEnv(c, handoff.EnvModelInitMode, handoff.ModelInitAsync)
		if user != nil {
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			c.SecurityContext.RunAsUser = new(*user.RunAsUser)
		}
	}
	link := "ln -sf /proc/$$$$/root/models " + at + " && sleep infinity"
	if at != plan.ModelPath {
		link = "mkdir -p " + path.Dir(at) + " && " + link
	}
	pod.Containers = append(pod.Containers, corev1.Container{
		Name: handoff.ModelcarContainer + suffix, Image: ref, Args: []string{"sh", "-c", link}, Resources: share,
		VolumeMounts: []corev1.VolumeMount{mount}, SecurityContext: user, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	})
	check := "echo 'Pre-fetching modelcar " + ref + ": ' && [ -d /models ] && [ \"$$(ls -A /models)\" ] && echo 'OK ... Prefetched and valid (/models exists)'" +
		" || (echo 'NOK ... Prefetched but modelcar is invalid (/models does not exist or is empty)' && exit 1)"
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: handoff.ModelcarInitContainer + suffix, Image: ref, Args: []string{"sh", "-c", check}, Resources: *share.DeepCopy(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	})
	pod.ShareProcessNamespace = new(true)
}

// sharedFolder is the empty volume that the server has at a path, if it has one there.
func sharedFolder(pod *corev1.PodSpec, at string) string {
	for _, m := range targets(pod)[0].VolumeMounts {
		if m.MountPath != at {
			continue
		}
		for i := range pod.Volumes {
			if pod.Volumes[i].Name == m.Name && pod.Volumes[i].EmptyDir != nil {
				return m.Name
			}
		}
	}
	return ""
}

// fetchImages lets the storage initializer pull the images, with the first pull secret of the pod. Where the pod has one for other sources,
// it brings the images too.
func fetchImages(pod *corev1.PodSpec, st *settings.Settings, sources []plan.Source, namespace string) {
	if len(sources) == 0 {
		return
	}
	fresh := baseInitializer(st)
	c := &fresh
	for i := range pod.InitContainers {
		if own := &pod.InitContainers[i]; own.Name == initContainer {
			if slices.Contains(own.Args, sources[0].URI) {
				return
			}
			c = own
		}
	}
	for _, s := range sources {
		volume := volumeAt(pod, s.Path, handoff.OCIFetchVolume, emptyDir(""))
		for _, t := range targets(pod) {
			addMount(t, corev1.VolumeMount{Name: volume, MountPath: s.Path})
		}
		c.Args = append(c.Args, s.URI, s.Path)
		addMount(c, corev1.VolumeMount{Name: volume, MountPath: s.Path})
	}
	if len(pod.ImagePullSecrets) > 0 {
		const volume, at = handoff.OCIAuthVolume, handoff.OCIAuthDir
		addVolume(pod, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: pod.ImagePullSecrets[0].Name, DefaultMode: new(int32(0o400)),
			Items: []corev1.KeyToPath{{Key: corev1.DockerConfigJsonKey, Path: handoff.OCIAuthFile}},
		}}})
		addMount(c, corev1.VolumeMount{Name: volume, MountPath: at, ReadOnly: true})
		plan.AddEnv(c, handoff.EnvOCIDockerConfig, at+"/"+handoff.OCIAuthFile)
	}
	bundle, mountPath := caBundle(c, namespace, st)
	mountBundle(pod, c, bundle, mountPath)
	if st.Storage.OCIInsecureRegistry {
		plan.AddEnv(c, handoff.EnvOCIInsecureRegistry, "true")
	}
	if c == &fresh {
		pod.InitContainers = append(pod.InitContainers, fresh)
	}
}
