// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Children are the live objects that one owner has, as they were read. Nobody writes to them: they may belong to a cache.
type Children struct {
	Deployments []*appsv1.Deployment
	Services    []*corev1.Service
	Autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	Ingresses   []*networkingv1.Ingress
	ConfigMaps  []*corev1.ConfigMap
	// Optional are objects of the kinds that a cluster may lack: HTTPRoutes, VirtualServices, Knative Services, ScaledObjects and the like.
	Optional []*unstructured.Unstructured
}

// Add puts an object where its kind belongs, and says whether the kind is one that services can have.
func (c *Children) Add(o Object) bool {
	switch o := o.(type) {
	case *appsv1.Deployment:
		c.Deployments = append(c.Deployments, o)
	case *corev1.Service:
		c.Services = append(c.Services, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		c.Autoscalers = append(c.Autoscalers, o)
	case *networkingv1.Ingress:
		c.Ingresses = append(c.Ingresses, o)
	case *corev1.ConfigMap:
		c.ConfigMaps = append(c.ConfigMaps, o)
	case *unstructured.Unstructured:
		c.Optional = append(c.Optional, o)
	default:
		return false
	}
	return true
}

// All are the children of every kind; none of nil.
func (c *Children) All() []Object {
	list := make([]Object, 0, 8)
	if c == nil {
		return list
	}
	for _, o := range c.Deployments {
		list = append(list, o)
	}
	for _, o := range c.Services {
		list = append(list, o)
	}
	for _, o := range c.Autoscalers {
		list = append(list, o)
	}
	for _, o := range c.Ingresses {
		list = append(list, o)
	}
	for _, o := range c.ConfigMaps {
		list = append(list, o)
	}
	for _, o := range c.Optional {
		list = append(list, o)
	}
	return list
}

// Deployment returns the Deployment of that name, or nil.
func (c *Children) Deployment(name string) *appsv1.Deployment { return named(c.Deployments, name) }

// Service returns the core Service of that name, or nil.
func (c *Children) Service(name string) *corev1.Service { return named(c.Services, name) }

// Ingress returns the Ingress of that name, or nil.
func (c *Children) Ingress(name string) *networkingv1.Ingress { return named(c.Ingresses, name) }

// OptionalObject returns the object of a group, kind and name, of whatever version, or nil.
func (c *Children) OptionalObject(group, kind, name string) *unstructured.Unstructured {
	for _, o := range c.Optional {
		if gvk := o.GroupVersionKind(); gvk.Group == group && gvk.Kind == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

func named[T interface {
	comparable
	GetName() string
}](all []T, name string) T {
	var none T
	for _, o := range all {
		if o != none && o.GetName() == name {
			return o
		}
	}
	return none
}
