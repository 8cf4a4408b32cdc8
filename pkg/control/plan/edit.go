// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
)

// Without is a copy of m that lacks the keys, and all that are this product's own: they tell the controller what to do and are no news to
// what it makes. A nil map stays nil.
func Without(m map[string]string, keys []string) map[string]string {
	kept := maps.Clone(m)
	for _, k := range keys {
		delete(kept, k)
	}
	maps.DeleteFunc(kept, func(k, _ string) bool { return strings.HasPrefix(k, serving.OwnPrefix) })
	return kept
}

// HasS3Settings says whether annotations of a service account describe an S3 store.
func HasS3Settings(annotations map[string]string) bool {
	for key := range annotations {
		if strings.HasPrefix(key, serving.GroupName+"/s3-") {
			return true
		}
	}
	return false
}

// AddEnv sets a variable that the container does not set itself.
func AddEnv(c *corev1.Container, name, value string) {
	if _, ok := EnvValue(c.Env, name); !ok {
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

// EnvValue is the value of a variable, and whether it is set at all.
func EnvValue(env []corev1.EnvVar, name string) (string, bool) {
	for i := range env {
		if env[i].Name == name {
			return env[i].Value, true
		}
	}
	return "", false
}

// KeepChosen takes the alternatives out of a merged value that an overlay does not choose, where it chooses one: a merge keeps a probe's
// httpGet beside the exec that is laid over it, and Kubernetes takes one of the two. What there are alternatives of is a struct of pointers.
// A value that lacks what is chosen is of something else, such as a namesake, and stays.
func KeepChosen[T any](merged, overlay *T) {
	m, o := reflect.ValueOf(merged).Elem(), reflect.ValueOf(overlay).Elem()
	if o.IsZero() {
		return
	}
	for i := range m.NumField() {
		if m.Field(i).IsZero() && !o.Field(i).IsZero() {
			return
		}
	}
	for i := range m.NumField() {
		if o.Field(i).IsZero() {
			m.Field(i).SetZero()
		}
	}
}

// KeepChosenOf does so for everything in a container that Kubernetes takes one of.
func KeepChosenOf(merged, overlay *corev1.Container) {
	for _, p := range [][2]*corev1.Probe{
		{merged.LivenessProbe, overlay.LivenessProbe}, {merged.ReadinessProbe, overlay.ReadinessProbe}, {merged.StartupProbe, overlay.StartupProbe},
	} {
		if p[0] != nil && p[1] != nil {
			KeepChosen(&p[0].ProbeHandler, &p[1].ProbeHandler)
		}
	}
	if m, o := merged.Lifecycle, overlay.Lifecycle; m != nil && o != nil {
		for _, h := range [][2]*corev1.LifecycleHandler{{m.PostStart, o.PostStart}, {m.PreStop, o.PreStop}} {
			if h[0] != nil && h[1] != nil {
				KeepChosen(h[0], h[1])
			}
		}
	}
	for i := range merged.Env {
		for j := len(overlay.Env) - 1; j >= 0; j-- { // of namesakes the last counts
			if overlay.Env[j].Name == merged.Env[i].Name {
				keepChosenValue(&merged.Env[i], &overlay.Env[j])
				break
			}
		}
	}
}

// keepChosenValue is about a variable, which has a value or one source of it.
func keepChosenValue(merged, overlay *corev1.EnvVar) {
	if merged.ValueFrom == nil {
		return // there is nothing to choose between
	}
	switch {
	case overlay.ValueFrom != nil:
		merged.Value = ""
		KeepChosen(merged.ValueFrom, overlay.ValueFrom)
	case overlay.Value != "" && merged.Value != "":
		merged.ValueFrom = nil
	}
}

// CommonFolder is the deepest folder that holds every target; empty where that is the root.
func CommonFolder(sources []Source) string {
	var folder []string
	for i, s := range sources {
		parts := strings.Split(s.Path, "/")
		if i == 0 {
			folder = parts
		}
		n := 0
		for n < len(folder) && n < len(parts) && folder[n] == parts[n] {
			n++
		}
		folder = folder[:n]
	}
	return strings.Join(folder, "/")
}
