// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package podrules

import (
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumes checks the volumes of a pod and returns their names.
func (r *rules) volumes(at *field.Path, volumes []corev1.Volume) map[string]bool {
	names := map[string]bool{}
	for i := range volumes {
		v, where := &volumes[i], at.Index(i)
		r.label(where.Child("name"), v.Name)
		if names[v.Name] {
			fault := field.Duplicate(where.Child("name"), v.Name)
			fault.Detail = "volumes of a pod need names of their own; choose another"
			r.add(fault)
		}
		names[v.Name] = true
		if sources := set(v.VolumeSource); len(sources) > 1 {
			r.add(field.Forbidden(where.Child(sources[1]), "a volume has one source, and "+sources[0]+" is one; remove one"))
			continue
		}
		r.volume(where, v)
	}
	return names
}

// set names the fields of a union that are set, as they are written.
func set(union any) []string {
	value := reflect.ValueOf(union)
	var names []string
	for i := range value.NumField() {
		if value.Field(i).Kind() == reflect.Pointer && !value.Field(i).IsNil() {
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

func (r *rules) volume(at *field.Path, v *corev1.Volume) {
	const named = "a source of this kind has a name; set it"
	merged := r.options.Merged
	need := func(where *field.Path, name string) {
		if name == "" && !merged {
			r.required(where, named)
		}
	}
	switch {
	case v.Secret != nil:
		where := at.Child("secret")
		need(where.Child("secretName"), v.Secret.SecretName)
		r.mode(where.Child("defaultMode"), v.Secret.DefaultMode)
		r.items(where.Child("items"), v.Secret.Items)
	case v.ConfigMap != nil:
		where := at.Child("configMap")
		need(where.Child("name"), v.ConfigMap.Name)
		r.mode(where.Child("defaultMode"), v.ConfigMap.DefaultMode)
		r.items(where.Child("items"), v.ConfigMap.Items)
	case v.PersistentVolumeClaim != nil:
		need(at.Child("persistentVolumeClaim", "claimName"), v.PersistentVolumeClaim.ClaimName)
	case v.HostPath != nil:
		where := at.Child("hostPath", "path")
		need(where, v.HostPath.Path)
		if climbs(v.HostPath.Path) {
			r.invalid(where, v.HostPath.Path, "must not contain ..; write the path that is meant")
		}
	case v.EmptyDir != nil:
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			r.add(field.Invalid(at.Child("emptyDir", "sizeLimit"), limit.String(), "must not be less than 0; write a quantity such as 1Gi"))
		}
	case v.Projected != nil:
		where := at.Child("projected")
		r.mode(where.Child("defaultMode"), v.Projected.DefaultMode)
		for i, source := range v.Projected.Sources {
			if kinds := set(source); len(kinds) > 1 {
				r.add(field.Forbidden(where.Child("sources").Index(i).Child(kinds[1]), "a part has one source, and "+kinds[0]+" is one; make two parts"))
			}
		}
	}
}

func (r *rules) mode(at *field.Path, mode *int32) {
	const most = 0o777
	if mode != nil {
		r.between(at, int64(*mode), 0, most, "it is a file's mode: write it with a 0 before it in YAML, as 0440, or as a decimal number")
	}
}

func (r *rules) items(at *field.Path, items []corev1.KeyToPath) {
	for i, item := range items {
		where := at.Index(i)
		if item.Key == "" {
			r.required(where.Child("key"), "a file is made of a key; set it")
		}
		switch {
		case item.Path == "":
			r.required(where.Child("path"), "a file has a path; set it")
		case path.IsAbs(item.Path) || climbs(item.Path):
			r.invalid(where.Child("path"), item.Path, relativeRule)
		}
		r.mode(where.Child("mode"), item.Mode)
	}
}

func climbs(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

// mounts checks where a container mounts volumes. Of a merged one the volumes may be those of the runtime.
func (r *rules) mounts(at *field.Path, c *corev1.Container, volumes map[string]bool, merged bool) {
	places := map[string]bool{}
	for i, m := range c.VolumeMounts {
		where := at.Child("volumeMounts").Index(i)
		switch {
		case m.Name == "" && !merged:
			r.required(where.Child("name"), "a mount names a volume; set it")
		case m.Name == "" || r.options.Merged || volumes[m.Name] || strings.Contains(m.Name, "{{"):
		case r.options.Volumes == nil || !r.options.Volumes(m.Name):
			fault := field.NotFound(where.Child("name"), m.Name)
			fault.Detail = "the pod has no volume of this name; add it to volumes, or correct the name"
			r.add(fault)
		}
		switch {
		case m.MountPath == "":
			r.required(where.Child("mountPath"), "a mount has a path; set it")
		case places[m.MountPath]:
			fault := field.Duplicate(where.Child("mountPath"), m.MountPath)
			fault.Detail = "a path of a container can be mounted once; choose another"
			r.add(fault)
		}
		places[m.MountPath] = true
		for _, sub := range []struct{ name, text string }{{"subPath", m.SubPath}, {"subPathExpr", m.SubPathExpr}} {
			if path.IsAbs(sub.text) || climbs(sub.text) {
				r.invalid(where.Child(sub.name), sub.text, relativeRule)
			}
		}
		if m.SubPath != "" && m.SubPathExpr != "" {
			r.add(field.Forbidden(where.Child("subPathExpr"), "subPath and subPathExpr cannot be used together; remove one"))
		}
		if p := m.MountPropagation; p != nil {
			oneOf(r, where.Child("mountPropagation"), *p, corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
		}
	}
}
