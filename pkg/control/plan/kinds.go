// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

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

// CoreKinds are the kinds that services can have and that every cluster has.
func CoreKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "ConfigMap"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	}
}

// IsRoute tells the kinds that make a service reachable from outside.
func IsRoute(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"} || gk == HTTPRoute.GroupKind() || gk == VirtualService.GroupKind()
}

// MetadataKept says whether labels and annotations of a kind are kept up by themselves. Of the others they are written along when the
// spec is: existing clusters are used to that, and a label alone is no reason to touch a workload.
func MetadataKept(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Kind: "Service"}, schema.GroupKind{Kind: "ConfigMap"},
		schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}, ScaledObject.GroupKind(), OpenTelemetryCollector.GroupKind():
		return false
	}
	return true
}

// MadeOnce says that objects of a kind are made where they are missing, and that their content is someone else's from then on: the list
// of models of a multi-model service belongs to its TrainedModels.
func MadeOnce(gk schema.GroupKind) bool { return gk == schema.GroupKind{Kind: "ConfigMap"} }

// FieldManager is the name under which the controller applies objects, and every field that it says is recorded.
const FieldManager = "kserve-controller"

// FormerManagers are the field managers that wrote the objects of a cluster which another controller of these kinds made: what they own
// becomes ours, so that it can be taken back.
func FormerManagers() []string {
	return []string{"manager", "kserve-controller-manager", "before-first-apply"}
}
