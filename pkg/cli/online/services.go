// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package online

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
)

// Place gives objects of files that name no namespace the one that is meant, as kubectl apply does, and tells their faults by it.
func Place(objects []*manifest.Object, faults []manifest.Fault, namespace string) {
	for _, o := range objects {
		if !o.Unplaced {
			continue
		}
		before := o.ID()
		o.Namespace = namespace
		for i := range faults {
			if f := &faults[i]; f.Source == o.Source && f.Document == o.Document && f.Object == before {
				f.Object = o.ID()
			}
		}
	}
}

// pageOfServices is how many services are asked for at a time: each may have a megabyte of status.
const pageOfServices = 50

// Services calls a function with some InferenceServices of a namespace, or of all, at a time, until all were seen.
func (r *Reading) Services(ctx context.Context, namespace string, some func([]unstructured.Unstructured) error) error {
	var own error
	err := live.Pages(ctx, r.Client.Resource(beta("inferenceservices")).Namespace(namespace), metav1.ListOptions{Limit: pageOfServices}, func(page []unstructured.Unstructured) error {
		for i := range page {
			shorten(page[i].Object["status"])
		}
		own = some(page)
		return own
	})
	switch {
	case own != nil:
		return own
	case apierrors.IsNotFound(err):
		return exit.Errorf(exit.Failed, "the cluster does not know the kind InferenceService: install its CustomResourceDefinition")
	case err != nil:
		return Error(fmt.Errorf("list InferenceServices: %w", err))
	}
	return nil
}

// Leave lets go of the cluster's services, and of everything that is of another namespace than the one that is stayed in: there is always one page
// of services, and what those are planned from.
func (r *Reading) Leave(stay string) {
	r.Faults = nil
	r.Objects = slices.DeleteFunc(r.Objects, func(o *manifest.Object) bool {
		_, service := o.Value.(*servingv1beta1.InferenceService)
		gone := o.Source == Source && (service || o.Namespace != "" && o.Namespace != stay && o.Namespace != r.System)
		if gone {
			delete(r.have, key(o.Kind.GroupKind(), o.Namespace, o.Name))
		}
		return gone
	})
	maps.DeleteFunc(r.listed, func(k string, _ bool) bool {
		_, namespace, _ := strings.Cut(k, " ")
		return namespace != "" && namespace != stay
	})
}

// maxText is how much of a text in a status is kept: nothing is decided by more of it.
const maxText = 1 << 10

// shorten cuts the texts in a status, so that what is held does not grow with what others wrote there.
func shorten(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if s, ok := inner.(string); ok && len(s) > maxText {
				v[k] = string([]byte(s[:maxText])) // a copy: the rest is to go
				continue
			}
			shorten(inner)
		}
	case []any:
		for _, inner := range v {
			shorten(inner)
		}
	}
}

// Identify gives the service of a file what the API server and the controller have added to the one of the cluster, which it returns; nil where
// there is none.
func (r *Reading) Identify(ctx context.Context, o *manifest.Object, s *servingv1beta1.InferenceService) (*unstructured.Unstructured, error) {
	u, err := r.Client.Resource(beta("inferenceservices")).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		if err = r.lacks("inferenceservices", err); err != nil {
			return nil, fmt.Errorf("read InferenceService %s/%s: %w", o.Namespace, o.Name, err)
		}
		return nil, nil
	}
	shorten(u.Object["status"])
	objects, _, err := decode(u)
	if err != nil {
		return nil, err
	}
	s.UID, s.Generation, s.CreationTimestamp = u.GetUID(), u.GetGeneration(), u.GetCreationTimestamp()
	for _, one := range objects {
		if before, ok := one.Value.(*servingv1beta1.InferenceService); ok {
			s.Status, s.Finalizers = before.Status, before.Finalizers
		}
	}
	return u, nil
}
