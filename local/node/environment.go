// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	podresource "k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/kserve-go/kserve-go/local/image"
	"github.com/kserve-go/kserve-go/local/sandbox"
)

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is what the program sees, sorted, and the variables that its arguments may name.
func (w *worker) environment(pod *corev1.Pod, c *corev1.Container, img *image.Image, user *sandbox.User) ([]string, map[string]string, error) {
	vars, err := w.serviceVars(pod)
	if err != nil {
		return nil, nil, err
	}
	for i := range c.EnvFrom {
		if err := w.envFrom(pod.Namespace, &c.EnvFrom[i], vars); err != nil {
			return nil, nil, err
		}
	}
	for i := range c.Env {
		e := &c.Env[i]
		if e.ValueFrom == nil {
			vars[e.Name] = expansion.Expand(e.Value, expansion.MappingFuncFor(vars))
			continue
		}
		v, ok, err := w.valueFrom(pod, c, e.ValueFrom)
		if err != nil {
			return nil, nil, fmt.Errorf("variable %s: %w", e.Name, err)
		}
		if ok {
			vars[e.Name] = v
		}
	}
	all := map[string]string{"HOSTNAME": hostname(pod)}
	home := img.Home(0)
	if user != nil {
		home = img.Home(int64(user.UID))
	}
	for _, e := range append([]string{defaultPath, "HOME=" + home}, img.Env...) {
		k, v, _ := strings.Cut(e, "=")
		all[k] = v
	}
	maps.Copy(all, vars)
	out := make([]string, 0, len(all))
	for _, k := range slices.Sorted(maps.Keys(all)) {
		out = append(out, k+"="+all[k])
	}
	return out, vars, nil
}

// serviceVars are the variables of the API server's service and, unless the pod declines, of those in its namespace.
func (w *worker) serviceVars(pod *corev1.Pod) (map[string]string, error) {
	var services []*corev1.Service
	kubernetes, err := w.node.services.Services(corev1.NamespaceDefault).Get("kubernetes")
	if err != nil {
		return nil, fmt.Errorf("services have not yet been read at least once, cannot construct envvars: %w", err)
	}
	services = append(services, kubernetes)
	if pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks {
		mine, err := w.node.services.Services(pod.Namespace).List(labels.Everything())
		if err != nil {
			return nil, fmt.Errorf("list services: %w", err)
		}
		for _, s := range mine {
			if s.Spec.ClusterIP != "" && s.Spec.ClusterIP != corev1.ClusterIPNone && s != kubernetes {
				services = append(services, s)
			}
		}
	}
	vars := map[string]string{}
	for _, e := range envvars.FromServices(services) {
		vars[e.Name] = e.Value
	}
	return vars, nil
}

func (w *worker) envFrom(ns string, e *corev1.EnvFromSource, vars map[string]string) error {
	if r := e.ConfigMapRef; r != nil {
		c, err := w.node.objects.ConfigMaps.ConfigMaps(ns).Get(r.Name)
		if err != nil {
			return unlessOptional(err, r.Optional)
		}
		for k, v := range c.Data {
			vars[e.Prefix+k] = v
		}
	}
	if r := e.SecretRef; r != nil {
		s, err := w.node.objects.Secrets.Secrets(ns).Get(r.Name)
		if err != nil {
			return unlessOptional(err, r.Optional)
		}
		for k, v := range s.Data {
			vars[e.Prefix+k] = string(v)
		}
	}
	return nil
}

func unlessOptional(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && optional != nil && *optional {
		return nil
	}
	return err
}

func (w *worker) valueFrom(pod *corev1.Pod, c *corev1.Container, f *corev1.EnvVarSource) (value string, ok bool, err error) {
	switch {
	case f.FieldRef != nil:
		value, err = w.field(pod, f.FieldRef.FieldPath)
		return value, true, err
	case f.ResourceFieldRef != nil:
		if f.ResourceFieldRef.ContainerName != "" {
			value, err = podresource.ExtractResourceValueByContainerName(f.ResourceFieldRef, pod, f.ResourceFieldRef.ContainerName)
		} else {
			value, err = podresource.ExtractContainerResourceValue(f.ResourceFieldRef, c)
		}
		return value, true, err
	case f.ConfigMapKeyRef != nil:
		r := f.ConfigMapKeyRef
		m, err := w.node.objects.ConfigMaps.ConfigMaps(pod.Namespace).Get(r.Name)
		if err != nil {
			return "", false, unlessOptional(err, r.Optional)
		}
		v, found := m.Data[r.Key]
		return v, found, missingKey("configmap "+r.Name, r.Key, found, r.Optional)
	case f.SecretKeyRef != nil:
		r := f.SecretKeyRef
		s, err := w.node.objects.Secrets.Secrets(pod.Namespace).Get(r.Name)
		if err != nil {
			return "", false, unlessOptional(err, r.Optional)
		}
		v, found := s.Data[r.Key]
		return string(v), found, missingKey("secret "+r.Name, r.Key, found, r.Optional)
	}
	return "", false, errors.New("unknown source of a value")
}

func missingKey(what, key string, found bool, optional *bool) error {
	if found || (optional != nil && *optional) {
		return nil
	}
	return fmt.Errorf("%s has no key %q", what, key)
}

// field resolves what the downward API may name.
func (w *worker) field(pod *corev1.Pod, path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return w.node.Name, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return w.node.Address, nil
	case "status.podIP", "status.podIPs":
		if a := w.address.Load(); a != nil {
			return *a, nil
		}
		return "", errors.New("the pod has no address yet")
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}
