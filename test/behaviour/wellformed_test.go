// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// wellFormed finds what an API server would refuse in what is rendered.
func wellFormed(objects []plan.Object) error {
	seen := map[string]bool{}
	for _, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		key := gvk.Kind + "." + gvk.Group + "/" + o.GetName()
		switch {
		case gvk.Kind == "" || gvk.Version == "":
			return fmt.Errorf("object %s has no kind or version", o.GetName())
		case seen[key]:
			return fmt.Errorf("%s is rendered twice", key)
		case len(o.GetOwnerReferences()) != 1:
			return fmt.Errorf("%s has %d owners", key, len(o.GetOwnerReferences()))
		}
		seen[key] = true
		if d, ok := o.(*appsv1.Deployment); ok {
			if err := podIsWellFormed(&d.Spec.Template.Spec); err != nil {
				return fmt.Errorf("template of %s: %w", key, err)
			}
			for k, v := range d.Spec.Selector.MatchLabels {
				if d.Spec.Template.Labels[k] != v {
					return fmt.Errorf("%s does not select its own pods by label %s", key, k)
				}
			}
		}
	}
	return nil
}

func podIsWellFormed(pod *corev1.PodSpec) error {
	if len(pod.Containers) == 0 {
		return errors.New("the pod has no container")
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		if volumes[v.Name] {
			return fmt.Errorf("volume %s is there twice", v.Name)
		}
		volumes[v.Name] = true
	}
	names := map[string]bool{}
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			c := &list[i]
			if c.Name == "" || names[c.Name] {
				return fmt.Errorf("container name %q is empty or there twice", c.Name)
			}
			names[c.Name] = true
			if err := containerIsWellFormed(c, volumes); err != nil {
				return fmt.Errorf("container %s: %w", c.Name, err)
			}
		}
	}
	return nil
}

func containerIsWellFormed(c *corev1.Container, volumes map[string]bool) error {
	paths := map[string]bool{}
	for _, m := range c.VolumeMounts {
		switch {
		case !volumes[m.Name]:
			return fmt.Errorf("volume %s is mounted and not declared", m.Name)
		case paths[m.MountPath]:
			return fmt.Errorf("two volumes are mounted at %s", m.MountPath)
		}
		paths[m.MountPath] = true
	}
	defined := map[string]bool{}
	for _, e := range c.Env {
		switch {
		case defined[e.Name]:
			return fmt.Errorf("variable %s is set twice", e.Name)
		case e.Value != "" && e.ValueFrom != nil:
			return fmt.Errorf("variable %s has a value and a source", e.Name)
		}
		defined[e.Name] = true
	}
	ports := map[string]bool{}
	for _, p := range c.Ports {
		key := fmt.Sprint(p.ContainerPort, p.Protocol)
		if p.Name != "" && ports[p.Name] || ports[key] {
			return fmt.Errorf("port %s %d is there twice", p.Name, p.ContainerPort)
		}
		ports[p.Name], ports[key] = true, true
	}
	return nil
}
