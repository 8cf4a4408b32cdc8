// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// kindOf is the kind of an object whose type says it, or that carries it.
func kindOf(o plan.Object) schema.GroupVersionKind {
	switch o.(type) {
	case *appsv1.Deployment:
		return appsv1.SchemeGroupVersion.WithKind("Deployment")
	case *corev1.Service:
		return corev1.SchemeGroupVersion.WithKind("Service")
	case *corev1.ConfigMap:
		return corev1.SchemeGroupVersion.WithKind("ConfigMap")
	case *autoscalingv2.HorizontalPodAutoscaler:
		return autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	case *networkingv1.Ingress:
		return networkingv1.SchemeGroupVersion.WithKind("Ingress")
	}
	return o.GetObjectKind().GroupVersionKind()
}

// all are the children in one list.
func all(c *plan.Children) []plan.Object { return c.All() }
