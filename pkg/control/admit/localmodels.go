// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kserve-go/kserve-go/pkg/apis/serving"
	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
)

// The kinds of local model caches. Another product keeps the caches; services only use them, so that their kinds are read as they come.
const (
	localModelCacheKind          = "LocalModelCache"
	localModelNamespaceCacheKind = "LocalModelNamespaceCache"
)

// localModels lists the caches that services of a namespace can use, those of the namespace first. They are asked for only where the
// operator has enabled them. Where their kinds are not installed there are none. One that no label can name is of no use.
//
// +kubebuilder:rbac:groups=serving.kserve.io,resources=localmodelcaches;localmodelnamespacecaches,verbs=list
func localModels(c client.Reader) func(ctx context.Context, namespace string) ([]servingv1beta1.LocalModelCache, error) {
	return func(ctx context.Context, namespace string) ([]servingv1beta1.LocalModelCache, error) {
		caches := []servingv1beta1.LocalModelCache{}
		for _, kind := range []string{localModelNamespaceCacheKind, localModelCacheKind} {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(servingv1alpha1.SchemeGroupVersion.WithKind(kind + "List"))
			var options []client.ListOption
			if kind == localModelNamespaceCacheKind {
				options = append(options, client.InNamespace(namespace))
			}
			if err := c.List(ctx, list, options...); apierrors.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("list the %ss, which a service may use (the ConfigMap's localModel is enabled): %w", kind, err)
			}
			for i := range list.Items {
				if cache := localModel(&list.Items[i]); cache.SourceURI != "" && len(cache.Name) <= serving.MaxNameLength {
					caches = append(caches, cache)
				}
			}
		}
		return caches, nil
	}
}

// localModel reads a cache. What it lacks is empty.
func localModel(o *unstructured.Unstructured) servingv1beta1.LocalModelCache {
	uri, _, _ := unstructured.NestedString(o.Object, "spec", "sourceModelUri")
	groups, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "nodeGroups")
	return servingv1beta1.LocalModelCache{Name: o.GetName(), Namespace: o.GetNamespace(), SourceURI: uri, NodeGroups: groups}
}
