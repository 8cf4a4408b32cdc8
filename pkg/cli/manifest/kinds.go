// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/apis/spelling"
)

// kind is one kind that a file may hold.
type kind struct {
	fresh         func() any
	clusterScoped bool
}

func of[T any]() func() any { return func() any { return new(T) } }

// kinds are the objects that these programs plan from. Other objects have no place in the files.
func kinds() map[schema.GroupVersionKind]kind {
	beta, alpha, core := servingv1beta1.SchemeGroupVersion, servingv1alpha1.SchemeGroupVersion, corev1.SchemeGroupVersion
	return map[schema.GroupVersionKind]kind{
		beta.WithKind("InferenceService"):         {fresh: of[servingv1beta1.InferenceService]()},
		alpha.WithKind("ServingRuntime"):          {fresh: of[servingv1alpha1.ServingRuntime]()},
		alpha.WithKind("ClusterServingRuntime"):   {fresh: of[servingv1alpha1.ClusterServingRuntime](), clusterScoped: true},
		alpha.WithKind("InferenceGraph"):          {fresh: of[servingv1alpha1.InferenceGraph]()},
		alpha.WithKind("TrainedModel"):            {fresh: of[servingv1alpha1.TrainedModel]()},
		alpha.WithKind("ClusterStorageContainer"): {fresh: of[servingv1alpha1.ClusterStorageContainer](), clusterScoped: true},
		core.WithKind("ConfigMap"):                {fresh: of[corev1.ConfigMap]()},
		core.WithKind("Secret"):                   {fresh: of[corev1.Secret]()},
		core.WithKind("ServiceAccount"):           {fresh: of[corev1.ServiceAccount]()},
		core.WithKind("Namespace"):                {fresh: of[corev1.Namespace](), clusterScoped: true},
	}
}

func clusterScoped(gvk schema.GroupVersionKind) bool { return kinds()[gvk].clusterScoped }

// newValue makes the type of gvk, or says why there is none.
func newValue(gvk schema.GroupVersionKind) (fresh func() any, message string) {
	all := kinds()
	if k, ok := all[gvk]; ok {
		return k.fresh, ""
	}
	var names []string
	for _, known := range slices.SortedFunc(maps.Keys(all), func(a, b schema.GroupVersionKind) int {
		return strings.Compare(a.Kind, b.Kind)
	}) {
		names = append(names, known.Kind)
		if strings.EqualFold(known.Kind, gvk.Kind) {
			version := known.GroupVersion().String()
			if known.Kind != gvk.Kind {
				return nil, fmt.Sprintf("unknown kind %q; did you mean %q?", gvk.Kind, known.Kind)
			}
			if gvk.Kind == "InferenceService" && gvk.Version == "v1alpha2" {
				return nil, fmt.Sprintf("the apiVersion of kind %s is %s; %s is no longer served: move spec.default.predictor to spec.predictor",
					gvk.Kind, version, gvk.GroupVersion())
			}
			return nil, fmt.Sprintf("the apiVersion of kind %s is %s, got %s", gvk.Kind, version, gvk.GroupVersion())
		}
	}
	for _, name := range names {
		if spelling.Edits(strings.ToLower(name), strings.ToLower(gvk.Kind)) < 3 {
			return nil, fmt.Sprintf("unknown kind %q; did you mean %q?", gvk.Kind, name)
		}
	}
	if gvk.Group == servingv1beta1.SchemeGroupVersion.Group {
		return nil, fmt.Sprintf("unknown kind %q of %s; known are %s", gvk.Kind, gvk.GroupVersion(), strings.Join(names, ", "))
	}
	return nil, fmt.Sprintf("kind %q of %s is not planned from; leave it out of these files, which take %s", gvk.Kind, gvk.GroupVersion(), strings.Join(names, ", "))
}
