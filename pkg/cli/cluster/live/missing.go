// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Missing says that a namespace has no InferenceService, or InferenceGraph, of a name, and what there is instead: the other kind of that name,
// one of another namespace, else the names that the namespace has. What may not be read is left out. The other kind's object is returned, too.
func Missing(
	ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, namespace, name string,
) (said string, namesake *unstructured.Unstructured) {
	kind, other := "InferenceService", "InferenceGraph"
	others := InferenceGraphs()
	if resource == others {
		kind, other, others = other, kind, InferenceServices()
	}
	said = fmt.Sprintf("namespace %s has no %s %s", namespace, kind, name)
	if o, err := client.Resource(others).Namespace(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
		return said + ", but an " + other + " of that name" + howItIs(o), o
	}
	named := metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: shownNames}
	if all := names(ctx, client.Resource(resource), named, (*unstructured.Unstructured).GetNamespace); len(all) > 0 {
		return said + "; there is one in " + strings.Join(all, ", ") + " (-n " + all[0] + ")", nil
	}
	all := names(ctx, client.Resource(resource).Namespace(namespace), metav1.ListOptions{Limit: shownNames + 1}, (*unstructured.Unstructured).GetName)
	if len(all) > shownNames {
		all = append(all[:shownNames], "…")
	}
	if len(all) > 0 {
		said += "; there: " + strings.Join(all, ", ")
	}
	return said, nil
}

// shownNames bounds how many names a sentence lists.
const shownNames = 10

// names are what a function tells of the objects on one page of a list, none where it may not be read.
func names(ctx context.Context, from dynamic.ResourceInterface, o metav1.ListOptions, of func(*unstructured.Unstructured) string) []string {
	list, err := from.List(ctx, o)
	if err != nil {
		return nil
	}
	var all []string
	for i := range list.Items {
		all = append(all, of(&list.Items[i]))
	}
	slices.Sort(all)
	return all
}

// howItIs adds to the mention of an object whether it is ready.
func howItIs(o *unstructured.Unstructured) string {
	d := Diagnose(o)
	if d.OK() {
		return ", which is ready"
	}
	if why := d.Why(); why != "" {
		return ": " + why
	}
	return ", which is not ready"
}
