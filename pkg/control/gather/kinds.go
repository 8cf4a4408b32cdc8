// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Optional is a kind that services can have and that a cluster may lack.
type Optional struct {
	schema.GroupVersionKind
	// CRD is the name of its CustomResourceDefinition.
	CRD string
	// Install says in words what brings it.
	Install string
}

// Kinds that come with other projects.
//
//nolint:gochecknoglobals // nobody writes to them
var (
	HTTPRoute = Optional{
		schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		"httproutes.gateway.networking.k8s.io",
		"install the Gateway API, or set ingress.enableGatewayApi to false",
	}
	VirtualService = Optional{
		schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1beta1", Kind: "VirtualService"},
		"virtualservices.networking.istio.io",
		"install Istio, or set ingress.disableIstioVirtualHost to true",
	}
	KnativeService = Optional{
		schema.GroupVersionKind{Group: "serving.knative.dev", Version: "v1", Kind: "Service"},
		"services.serving.knative.dev",
		"install Knative Serving, or use Standard mode (annotation serving.kserve.io/deploymentMode: Standard)",
	}
	ScaledObject = Optional{
		schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"},
		"scaledobjects.keda.sh",
		"install KEDA, or use another serving.kserve.io/autoscalerClass",
	}
	OpenTelemetryCollector = Optional{
		schema.GroupVersionKind{Group: "opentelemetry.io", Version: "v1beta1", Kind: "OpenTelemetryCollector"},
		"opentelemetrycollectors.opentelemetry.io",
		"install the OpenTelemetry operator, or use no metric of backend opentelemetry",
	}
)

// OptionalKinds are all of them.
func OptionalKinds() []Optional {
	return []Optional{HTTPRoute, VirtualService, KnativeService, ScaledObject, OpenTelemetryCollector}
}

// OptionalKind finds one by its group and kind.
func OptionalKind(gk schema.GroupKind) (Optional, bool) {
	all := OptionalKinds()
	i := slices.IndexFunc(all, func(o Optional) bool { return o.GroupKind() == gk })
	if i < 0 {
		return Optional{}, false
	}
	return all[i], true
}

// Kinds says which optional kinds the cluster has now. It may be used from several goroutines.
type Kinds struct {
	mu   sync.RWMutex
	have map[schema.GroupKind]Optional
}

// Set records that the cluster has a kind, or has it no longer, and says whether that is news.
func (k *Kinds) Set(o Optional, present bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, was := k.have[o.GroupKind()]; was == present {
		return false
	}
	if !present {
		delete(k.have, o.GroupKind())
		return true
	}
	if k.have == nil {
		k.have = map[schema.GroupKind]Optional{}
	}
	k.have[o.GroupKind()] = o
	return true
}

// Has says whether objects of a kind can be read and written. It is true of every kind that is not optional.
func (k *Kinds) Has(gk schema.GroupKind) bool {
	if _, optional := OptionalKind(gk); !optional {
		return true
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.have[gk]
	return ok
}

// Present are the optional kinds that the cluster has, sorted.
func (k *Kinds) Present() []Optional {
	k.mu.RLock()
	defer k.mu.RUnlock()
	list := make([]Optional, 0, len(k.have))
	for _, o := range k.have {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b Optional) int { return cmp.Compare(a.CRD, b.CRD) })
	return list
}
