// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
	"github.com/kserve-go/kserve-go/pkg/control/settings"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/builtin"
)

// modelWarnings are about models of a service that its URI names well and that a cluster will hardly find or fetch.
func (s *source) modelWarnings(o *manifest.Object, p *plan.Plan) []serving.Warning {
	svc, ok := o.Value.(*servingv1beta1.InferenceService)
	if !ok {
		return nil
	}
	options, err := builtin.New(builtin.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		return nil // the environment is what could be wrong, and there is none
	}
	engine := storage.New(options)
	var all []serving.Warning
	for i := range p.Components {
		c := &p.Components[i]
		for _, from := range c.Storage.Sources {
			ref, err := modelref.Parse(from.URI)
			if err != nil {
				continue // a fault
			}
			warn := func(detail string) {
				all = append(all, serving.Warning{Field: sourceField(svc, c), Detail: detail})
			}
			switch {
			case ref.Scheme == "file":
				warn(ref.String() + " is a path on this machine for kserve run alone: in a cluster it is looked for inside the pod; use a claim (pvc://), an object store, or http(s)")
			case ref.Store == modelref.OCI || !s.isOurs(o.Namespace, c.Storage.Container): // the kubelet brings it, or another program
			default:
				if err := engine.Check(from.URI); err != nil {
					warn(err.Error() + ", here and in a cluster; there a ClusterStorageContainer can bring others")
				}
			}
		}
	}
	return all
}

// isOurs says whether what brings a model is the storage initializer of this project: the operator's, or a ClusterStorageContainer with its image.
func (s *source) isOurs(namespace, container string) bool {
	image := s.Settings.Storage.Image
	around := s.Surroundings(namespace)
	for i := range around.StorageContainers {
		if c := &around.StorageContainers[i]; c.Name == container {
			image = c.Spec.Container.Image
		}
	}
	ours, _, _ := strings.Cut(settings.Defaults().Storage.Image, ":")
	return strings.Contains(image, ours)
}

// sourceField is where the URI of a component's model is written.
func sourceField(svc *servingv1beta1.InferenceService, c *plan.Component) string {
	switch {
	case c.Canary != nil:
		return "spec.canary"
	case c.Storage.Inline:
		return "spec." + string(c.Role) + ".storageUris"
	case c.Role != serving.Predictor:
		return "spec." + string(c.Role)
	}
	_, field := writtenModel(svc)
	return "spec.predictor." + field + ".storageUri"
}
