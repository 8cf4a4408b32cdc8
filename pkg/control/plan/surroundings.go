// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
)

// SchemePlaceholder stands for the scheme and bucket of a storage spec until they are read from the storage configuration.
const SchemePlaceholder = "<scheme-placeholder>"

// StorageContainer finds what brings a URI: the named ClusterStorageContainer, else the first by name that supports the URI, else nil.
// Only the named one can be an error.
func (s *Surroundings) StorageContainer(name, uri string) (*servingv1alpha1.ClusterStorageContainer, error) {
	var found *servingv1alpha1.ClusterStorageContainer
	for i := range s.StorageContainers {
		c := &s.StorageContainers[i]
		if name != "" {
			if c.Name == name {
				return c, usable(c, uri)
			}
			continue
		}
		if usable(c, uri) == nil && (found == nil || c.Name < found.Name) {
			found = c
		}
	}
	if name != "" {
		return nil, fmt.Errorf("storageContainerName names ClusterStorageContainer %q, which does not exist: create it or correct the name", name)
	}
	return found, nil
}

func usable(c *servingv1alpha1.ClusterStorageContainer, uri string) error {
	switch {
	case c.Disabled != nil && *c.Disabled:
		return fmt.Errorf("ClusterStorageContainer %q is disabled", c.Name)
	case c.Spec.WorkloadType != "" && c.Spec.WorkloadType != servingv1alpha1.InitContainer:
		return fmt.Errorf("ClusterStorageContainer %q has workloadType %s, an init container is needed", c.Name, c.Spec.WorkloadType)
	case !slices.ContainsFunc(c.Spec.SupportedURIFormats, func(f servingv1alpha1.SupportedURIFormat) bool { return f.Matches(uri) }):
		return fmt.Errorf("ClusterStorageContainer %q does not support the URI %q", c.Name, modelref.Redact(uri))
	}
	return nil
}

// Front is the container that takes requests: the transformer beside the model, else the serving container, else the first.
func (c *Component) Front() *corev1.Container {
	for _, name := range []string{handoff.TransformerContainer, handoff.MainContainer} {
		for i := range c.Pod.Containers {
			if c.Pod.Containers[i].Name == name {
				return &c.Pod.Containers[i]
			}
		}
	}
	if len(c.Pod.Containers) == 0 {
		return &corev1.Container{}
	}
	return &c.Pod.Containers[0]
}
