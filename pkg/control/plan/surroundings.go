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

// CheckStorageContainer says why the named ClusterStorageContainer cannot be used, whatever the URI; an empty name is no wish.
func (s *Surroundings) CheckStorageContainer(name string) error {
	if name == "" {
		return nil
	}
	c := s.NamedStorageContainer(name)
	if c == nil {
		return fmt.Errorf("storageContainerName names ClusterStorageContainer %q, which does not exist: create it or correct the name", name)
	}
	return active(c)
}

// NamedStorageContainer is the ClusterStorageContainer of that name, or nil.
func (s *Surroundings) NamedStorageContainer(name string) *servingv1alpha1.ClusterStorageContainer {
	for i := range s.StorageContainers {
		if s.StorageContainers[i].Name == name {
			return &s.StorageContainers[i]
		}
	}
	return nil
}

// StorageContainerOfAll is the ClusterStorageContainer that brings every URI: the first by name that supports them all, one that takes
// several before others; else the one that some need, where the rest is brought by any; empty where none is needed. A clash says why one
// is not enough.
func (s *Surroundings) StorageContainerOfAll(uris []string) (name, clash string) {
	best := ""
	bestMany := false
	for i := range s.StorageContainers {
		c := &s.StorageContainers[i]
		all := !slices.ContainsFunc(uris, func(uri string) bool { return usable(c, uri) != nil })
		many := c.Spec.SupportsMultiModelDownload != nil && *c.Spec.SupportsMultiModelDownload
		if all && (best == "" || many && !bestMany || many == bestMany && c.Name < best) {
			best, bestMany = c.Name, many
		}
	}
	if best != "" {
		return best, ""
	}
	var first string
	for _, uri := range uris {
		c, err := s.StorageContainer("", uri)
		if err != nil || c == nil {
			continue // the storage initializer brings it, in whatever image
		}
		if first != "" && c.Name != first {
			return "", fmt.Sprintf("%q is brought by %s, another by %s; add both formats to one of them", modelref.Redact(uri), c.Name, first)
		}
		first = c.Name
	}
	return first, ""
}

// active says why a ClusterStorageContainer brings nothing into pods.
func active(c *servingv1alpha1.ClusterStorageContainer) error {
	switch {
	case c.Disabled != nil && *c.Disabled:
		return fmt.Errorf("ClusterStorageContainer %q is disabled", c.Name)
	case c.Spec.WorkloadType != "" && c.Spec.WorkloadType != servingv1alpha1.InitContainer:
		return fmt.Errorf("ClusterStorageContainer %q has workloadType %s, an init container is needed", c.Name, c.Spec.WorkloadType)
	}
	return nil
}

func usable(c *servingv1alpha1.ClusterStorageContainer, uri string) error {
	if err := active(c); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.Spec.SupportedURIFormats, func(f servingv1alpha1.SupportedURIFormat) bool { return f.Matches(uri) }) {
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
