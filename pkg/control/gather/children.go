// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	"github.com/kserve-go/kserve-go/pkg/control/plan"
)

// Indexes of the cache.
const (
	// IndexController finds objects by the UID of their controller.
	IndexController = "controller"
	// IndexService finds pods by the name of their service.
	IndexService = "service"
)

// ControllerOf is the key of IndexController.
func ControllerOf(o client.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// ServiceOf is the key of IndexService.
func ServiceOf(o client.Object) []string {
	if name := o.GetLabels()[serving.LabelInferenceService]; name != "" {
		return []string{name}
	}
	return nil
}

// Children are the objects of every kind that a service can have whose controller has the UID. They belong to the cache, and are packed as they
// are there: Whole unpacks them.
//
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch
// +kubebuilder:rbac:groups=networking.istio.io,resources=virtualservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=serving.knative.dev,resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups=keda.sh,resources=scaledobjects,verbs=get;list;watch
// +kubebuilder:rbac:groups=opentelemetry.io,resources=opentelemetrycollectors,verbs=get;list;watch
func (g *Gatherer) Children(ctx context.Context, namespace string, owner types.UID) (*plan.Children, error) {
	of := []client.ListOption{client.InNamespace(namespace), client.MatchingFields{IndexController: string(owner)}, client.UnsafeDisableDeepCopy}
	children := &plan.Children{}
	var (
		deployments appsv1.DeploymentList
		services    corev1.ServiceList
		autoscalers autoscalingv2.HorizontalPodAutoscalerList
		ingresses   networkingv1.IngressList
	)
	for _, list := range []client.ObjectList{&deployments, &services, &autoscalers, &ingresses} {
		if err := g.Cache.List(ctx, list, of...); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	for i := range deployments.Items {
		children.Add(&deployments.Items[i])
	}
	for i := range services.Items {
		children.Add(&services.Items[i])
	}
	for i := range autoscalers.Items {
		children.Add(&autoscalers.Items[i])
	}
	for i := range ingresses.Items {
		children.Add(&ingresses.Items[i])
	}
	for _, kind := range g.Kinds.Present() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersionKind)
		if err := g.Cache.List(ctx, list, of...); err != nil {
			return nil, fmt.Errorf("list %s: %w", kind.CRD, err)
		}
		for i := range list.Items {
			children.Add(&list.Items[i])
		}
	}
	return children, nil
}

// Whole are children with everything in them.
func Whole(children *plan.Children) (*plan.Children, error) {
	whole := *children
	whole.Optional = make([]*unstructured.Unstructured, len(children.Optional))
	for i, o := range children.Optional {
		var err error
		if whole.Optional[i], err = Unpack(o); err != nil {
			return nil, err
		}
	}
	return &whole, nil
}

// Pods are those that carry the name of the service. They belong to the cache, which keeps only what a status is made from.
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
func (g *Gatherer) Pods(ctx context.Context, namespace, service string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := g.Cache.List(ctx, &pods, client.InNamespace(namespace), client.MatchingFields{IndexService: service}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	return pods.Items, nil
}
