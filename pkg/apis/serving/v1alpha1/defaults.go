// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "github.com/kserve-go/kserve-go/pkg/apis/serving"

// SetDefaults fills in what a storage container leaves open; an API server does the same by the schema.
func (c *ClusterStorageContainer) SetDefaults() {
	if c.Spec.WorkloadType == "" {
		c.Spec.WorkloadType = InitContainer
	}
	if c.Spec.SupportsMultiModelDownload == nil {
		c.Spec.SupportsMultiModelDownload = new(false)
	}
}

// SetDefaults writes the graph's deployment mode in its new spelling. A mode that is not known stays for Validate to name.
func (g *InferenceGraph) SetDefaults() {
	if mode, ok := serving.ParseDeploymentMode(g.Annotations[serving.AnnotationDeploymentMode]); ok {
		g.Annotations[serving.AnnotationDeploymentMode] = string(mode)
	}
}
