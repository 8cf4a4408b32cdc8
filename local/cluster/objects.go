// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kserve-go/kserve-go/local/ingress"
)

type object = map[string]any

// systemObject is one object of the cluster's own.
type systemObject struct {
	resource schema.GroupVersionResource
	content  object
}

func systemObjects(ca string) []systemObject {
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	slices := schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
	apis := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	classes := schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingressclasses"}
	port := func(n int64) object { return object{"name": "https", "port": n, "protocol": "TCP"} }
	return []systemObject{
		{services, object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "kube-dns", "namespace": "kube-system"},
			"spec": object{"clusterIP": DNSAddress, "ports": []any{object{"name": "dns", "port": int64(53), "protocol": "UDP"}}},
		}},
		{services, object{
			"apiVersion": "v1", "kind": "Service", "metadata": object{"name": metricsService, "namespace": "kube-system"},
			"spec": object{"ports": []any{object{"name": "https", "port": int64(443), "targetPort": int64(kubeletPort), "protocol": "TCP"}}},
		}},
		{slices, object{
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
			"metadata": object{"name": metricsService, "namespace": "kube-system", "labels": object{
				"kubernetes.io/service-name": metricsService, "endpointslice.kubernetes.io/managed-by": "kserve-cluster",
			}},
			"endpoints": []any{object{"addresses": []any{NodeAddress}, "conditions": object{"ready": true}}}, "ports": []any{port(kubeletPort)},
		}},
		{classes, object{
			"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
			"metadata": object{"name": ingress.Class, "annotations": object{"ingressclass.kubernetes.io/is-default-class": "true"}},
			"spec":     object{"controller": ingress.Controller},
		}},
		{apis, object{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": object{"name": "v1beta1.metrics.k8s.io"},
			"spec": object{
				"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "caBundle": ca,
				"service": object{"name": metricsService, "namespace": "kube-system", "port": int64(443)},
			},
		}},
	}
}

func apply(ctx context.Context, config *rest.Config, objects []systemObject) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for _, o := range objects {
		u := &unstructured.Unstructured{Object: o.content}
		var to dynamic.ResourceInterface = client.Resource(o.resource)
		if ns := u.GetNamespace(); ns != "" {
			to = client.Resource(o.resource).Namespace(ns)
		}
		if _, err := to.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "kserve-cluster", Force: true}); err != nil {
			return fmt.Errorf("apply %s %s: %w", u.GetKind(), u.GetName(), err)
		}
	}
	return nil
}
