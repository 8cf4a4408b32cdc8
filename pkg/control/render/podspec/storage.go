// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	"github.com/kserve-go/kserve-go/pkg/control/names"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
)

// wantedSource is the model that is still to be mounted or fetched. The agent fetches models itself, and images come by addOCI.
func wantedSource(pod *corev1.Pod, st *settings.Settings) (uri string, wanted bool) {
	uri, wanted = pod.Annotations[serving.AnnotationInternalSourceURI]
	_, multi := pod.Annotations[serving.AnnotationInternalAgent]
	image := isOCI(uri) && st.Storage.OCI() != settings.OCIDisabled
	return uri, wanted && !multi && !image && !hasInit(&pod.Spec, initContainer)
}

// injectStorage brings the single model that the pod's annotations name: a claim is mounted, anything else is fetched by an init container.
func injectStorage(pod *corev1.Pod, a Admission) error {
	uri, wanted := wantedSource(pod, a.Settings)
	if !wanted {
		return nil
	}
	to := targets(&pod.Spec)
	if len(to) == 0 {
		return fmt.Errorf("the pod has neither a container named %s nor one named %s to mount the model in", servingContainer, workerContainer)
	}
	if copied, ok, err := fromLocalCache(pod, uri); err != nil {
		return err
	} else if ok {
		uri = copied
	}
	if _, ok := plan.EnvValue(to[0].Env, handoff.EnvStorageURI); ok {
		putEnv(to[0], corev1.EnvVar{Name: handoff.EnvStorageURI, Value: plan.ModelPath})
	}
	readOnly := pod.Annotations[serving.AnnotationStorageReadOnly] != "false"
	if scheme, _, _ := strings.Cut(uri, "://"); strings.HasPrefix(scheme, "oci+") {
		return fmt.Errorf("the model %s needs OCI model images, which are switched off: set storageInitializer.enableModelcar or ociModelMode in %s, or write oci://", modelref.Redact(uri), settings.ConfigMapName)
	}
	if claim, ok := strings.CutPrefix(uri, "pvc://"); ok {
		claim, sub, _ := strings.Cut(claim, "/")
		addVolume(&pod.Spec, claimSource(claimVolume, claim, false))
		for _, c := range to {
			addMount(c, corev1.VolumeMount{Name: claimVolume, MountPath: plan.ModelPath, SubPath: sub, ReadOnly: readOnly})
		}
		return nil
	}
	addVolume(&pod.Spec, emptyDir(modelVolume))
	for _, c := range to {
		addMount(c, corev1.VolumeMount{Name: modelVolume, MountPath: plan.ModelPath, ReadOnly: readOnly})
	}
	return addInitializer(&pod.Spec, fetch{
		sources: []plan.Source{{URI: uri, Path: plan.ModelPath}}, mount: corev1.VolumeMount{Name: modelVolume, MountPath: plan.ModelPath},
		container: pod.Annotations[serving.AnnotationInternalStorageContainer], annotations: pod.Annotations, namespace: a.Namespace,
		spec: specOf(pod.Annotations), confidential: confidential(pod.Annotations),
	}, a.Settings, a.Around)
}

// claimSource is a volume of a claim.
func claimSource(name, claim string, readOnly bool) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim, ReadOnly: readOnly}}}
}

// fromLocalCache points a URI at the node-local copy that the service was given. A model of the service that is not in the cache, such as
// a canary's or a transformer's, is brought as if there was none.
func fromLocalCache(pod *corev1.Pod, uri string) (copied string, ok bool, err error) {
	if _, ok := pod.Labels[serving.LabelLocalModel]; !ok {
		return "", false, nil
	}
	claim, ok := pod.Annotations[serving.AnnotationInternalLocalModelPVC]
	if !ok {
		return "", false, fmt.Errorf("label %s is set, but annotation %s is not", serving.LabelLocalModel, serving.AnnotationInternalLocalModelPVC)
	}
	cached := strings.TrimSuffix(pod.Annotations[serving.AnnotationInternalLocalModelSourceURI], "/")
	rest, ok := strings.CutPrefix(uri, cached)
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return "", false, nil
	}
	return "pvc://" + claim + "/models/" + names.ModelKey(pod.Annotations[serving.AnnotationInternalLocalModelSourceURI]) + strings.TrimSuffix(rest, "/"), true, nil
}

// confidential are the variables of an encrypted model.
func confidential(annotations map[string]string) []corev1.EnvVar {
	if annotations[serving.AnnotationInternalConfidentialEnabled] != "true" {
		return nil
	}
	env := []corev1.EnvVar{{Name: handoff.EnvConfidentialEnabled, Value: "true"}}
	if id := annotations[serving.AnnotationInternalConfidentialResource]; id != "" {
		env = append(env, corev1.EnvVar{Name: handoff.EnvConfidentialResourceID, Value: id})
	}
	return env
}

// fetch is the work of one init container.
type fetch struct {
	sources      []plan.Source
	mount        corev1.VolumeMount
	container    string // the named ClusterStorageContainer
	decided      bool   // the planner has chosen the container; an empty one is none
	annotations  map[string]string
	namespace    string
	spec         *storageSpec
	confidential []corev1.EnvVar
}

// addInitializer adds the init container that fetches models, with the credentials it needs.
func addInitializer(pod *corev1.PodSpec, f fetch, st *settings.Settings, around *plan.Surroundings) error {
	c := baseInitializer(st)
	c.VolumeMounts = []corev1.VolumeMount{f.mount}
	first := f.sources[0].URI
	if f.spec != nil {
		resolved, err := f.spec.apply(&c, first, f.annotations, st, around)
		if err != nil {
			return err
		}
		f.sources[0].URI, first = resolved, resolved
	} else if err := accountCredentials(pod, &c, f.annotations, st, around); err != nil {
		return err
	}
	for _, s := range f.sources {
		c.Args = append(c.Args, s.URI, s.Path)
	}
	bundle, mountPath := caBundle(&c, f.namespace, st)
	overlay := around.NamedStorageContainer(f.container)
	if !f.decided {
		var err error
		if overlay, err = around.StorageContainer(f.container, first); err != nil {
			return err
		}
	}
	c, err := layOver(c, overlay)
	if err != nil {
		return err
	}
	mountBundle(pod, &c, bundle, mountPath)
	plan.AddEnv(&c, handoff.EnvHFHubEnableTransfer, "1")
	plan.AddEnv(&c, handoff.EnvHFXetHighPerformance, "1")
	plan.AddEnv(&c, handoff.EnvHFXetConcurrentRangeGet, "8")
	for _, e := range f.confidential {
		putEnv(&c, e)
	}
	pod.InitContainers = append(pod.InitContainers, c)
	return nil
}

func baseInitializer(st *settings.Settings) corev1.Container {
	return corev1.Container{
		Name: initContainer, Image: st.Storage.Image, Resources: resources(st.Storage.Sidecar),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

func configMapVolume(name, configMap string, optional bool) corev1.Volume {
	source := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}
	if optional {
		source.Optional = new(true)
	}
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: source}}
}

// caBundle says which ConfigMap holds further certificate authorities, and where it is mounted.
func caBundle(c *corev1.Container, namespace string, st *settings.Settings) (name, mountPath string) {
	mountPath = st.Storage.CABundleMountPath
	if st.Storage.CABundleConfigMap != "" {
		name = handoff.GlobalCABundle
		if namespace == st.OperatorNamespace {
			name = st.Storage.CABundleConfigMap
		}
	}
	if own, ok := plan.EnvValue(c.Env, handoff.EnvAWSCABundleConfig); ok {
		name = own
		if file, ok := plan.EnvValue(c.Env, handoff.EnvAWSCABundle); ok && file != "" {
			mountPath = path.Dir(file)
		}
	}
	return name, mountPath
}

// mountBundle gives a container the certificate authorities of a ConfigMap.
func mountBundle(pod *corev1.PodSpec, c *corev1.Container, configMap, mountPath string) {
	if configMap == "" {
		return
	}
	plan.AddEnv(c, handoff.EnvCABundleConfigMap, configMap)
	plan.AddEnv(c, handoff.EnvCABundleMountPoint, mountPath)
	addVolume(pod, configMapVolume(handoff.CABundleVolume, configMap, false))
	addMount(c, corev1.VolumeMount{Name: handoff.CABundleVolume, MountPath: mountPath, ReadOnly: true})
}

// layOver lays the container of a ClusterStorageContainer over ours: its image, resources and variables win.
func layOver(c corev1.Container, overlay *servingv1alpha1.ClusterStorageContainer) (corev1.Container, error) {
	if overlay == nil {
		return c, nil
	}
	base, err := json.Marshal(c)
	if err != nil {
		return c, err
	}
	over, err := json.Marshal(overlay.Spec.Container)
	if err != nil {
		return c, err
	}
	merged, err := strategicpatch.StrategicMergePatch(base, over, corev1.Container{})
	if err != nil {
		return c, fmt.Errorf("lay ClusterStorageContainer %s over the storage initializer: %w", overlay.Name, err)
	}
	var out corev1.Container
	if err := json.Unmarshal(merged, &out); err != nil {
		return c, fmt.Errorf("lay ClusterStorageContainer %s over the storage initializer: %w", overlay.Name, err)
	}
	plan.KeepChosenOf(&out, &overlay.Spec.Container)
	// By its name the init container is known, to a second admission and to the status.
	out.Name = c.Name
	return out, nil
}

// expandSources writes spec.storageUris into a pod template: claims and images as volumes, everything else fetched by one init container.
func expandSources(pod *corev1.PodSpec, p *plan.Plan, c *plan.Component, st *settings.Settings) error {
	to := targets(pod)
	if len(to) == 0 {
		return fmt.Errorf("the pod of the %s has no container named %s to mount the models in", c.Role, servingContainer)
	}
	var images, fetched []plan.Source
	for _, s := range c.Storage.Sources {
		claim, isClaim := strings.CutPrefix(s.URI, "pvc://")
		switch {
		case isOCI(s.URI) && st.Storage.OCI() != settings.OCIDisabled:
			images = append(images, s)
		case isClaim:
			claim, sub, _ := strings.Cut(claim, "/")
			volume := volumeAt(pod, s.Path, claimVolume, claimSource("", claim, false))
			for _, t := range to {
				addMount(t, corev1.VolumeMount{Name: volume, MountPath: s.Path, SubPath: sub, ReadOnly: !c.Storage.Writable})
			}
		default:
			fetched = append(fetched, s)
		}
	}
	if len(fetched) > 0 {
		root := plan.CommonFolder(fetched)
		if root == "" {
			return errors.New("the mountPaths of storageUris have no folder in common below the root: put them under one, such as /mnt/models")
		}
		volume := volumeAt(pod, root, modelVolume, emptyDir(""))
		for _, t := range to {
			addMount(t, corev1.VolumeMount{Name: volume, MountPath: root, ReadOnly: !c.Storage.Writable})
		}
		f := fetch{
			sources: fetched, mount: corev1.VolumeMount{Name: volume, MountPath: root}, container: c.Storage.Container, decided: true,
			annotations: c.Annotations, namespace: p.Owner.Namespace, confidential: confidential(c.Annotations),
		}
		if s := c.Storage.Spec; s != nil && s.StorageKey != nil && s.Parameters != nil {
			f.spec = &storageSpec{key: *s.StorageKey, parameters: s.Parameters}
		}
		if err := addInitializer(pod, f, st, p.Around); err != nil {
			return err
		}
	}
	if len(images) > 0 {
		return addOCI(pod, st, images, p.Owner.Namespace)
	}
	return nil
}

// volumeAt adds a volume that is named after the path where it is mounted, and returns the name. Where another volume has the name
// already, a hash of the path tells them apart.
func volumeAt(pod *corev1.PodSpec, at, fallback string, v corev1.Volume) string {
	v.Name = names.Volume(at, fallback)
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == v.Name && !reflect.DeepEqual(pod.Volumes[i], v) {
			v.Name = names.Fit(v.Name + "-" + names.ModelKey(at)[:8])
			break
		}
	}
	addVolume(pod, v)
	return v.Name
}
