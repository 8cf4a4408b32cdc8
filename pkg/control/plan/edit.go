// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
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
