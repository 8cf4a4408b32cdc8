// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// kubectl is the field manager of `kubectl apply`.
const kubectl = "kubectl-client-side-apply"

// Documents reads the objects of a YAML text.
func Documents(text string) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	var list []*unstructured.Unstructured
	for {
		raw, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split the documents: %w", err)
		}
		body, err := yaml.YAMLToJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("read document %d: %w", len(list)+1, err)
		}
		if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
			continue
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(body); err != nil {
			return nil, fmt.Errorf("read document %d: %w", len(list)+1, err)
		}
		list = append(list, o)
	}
}

// Namespaced tells whether objects of this kind live in namespaces.
func (c *Cluster) Namespaced(o *unstructured.Unstructured) (bool, error) {
	gvk := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false, fmt.Errorf("look up %s: %w", gvk.Kind, err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// place puts an object into a namespace, if it belongs into one and names none.
func (c *Cluster) place(o *unstructured.Unstructured, ns string) error {
	namespaced, err := c.Namespaced(o)
	if err != nil {
		return err
	}
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace(ns)
	}
	return nil
}

// Apply does what `kubectl apply` does: it creates the object, or changes what the text before it said otherwise. Unknown fields are
// refused. The error is the API server's.
func (c *Cluster) Apply(ctx context.Context, ns string, object *unstructured.Unstructured) error {
	o := object.DeepCopy()
	if err := c.place(o, ns); err != nil {
		return err
	}
	c.activity.touch(o.GetNamespace())
	modified, err := remember(o)
	if err != nil {
		return err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	err = c.Client.Get(ctx, client.ObjectKeyFromObject(o), live)
	if apierrors.IsNotFound(err) {
		if err := c.Client.Create(ctx, o, client.FieldOwner(kubectl), client.FieldValidation(metav1.FieldValidationStrict)); err != nil {
			return err
		}
		c.activity.wrote(o)
		return nil
	}
	if err != nil {
		return err
	}
	current, err := live.MarshalJSON()
	if err != nil {
		return err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), modified, current)
	if err != nil {
		return fmt.Errorf("compare %s %s with what was applied before: %w", o.GetKind(), o.GetName(), err)
	}
	if string(patch) == "{}" {
		return nil
	}
	err = c.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(kubectl), client.FieldValidation(metav1.FieldValidationStrict))
	if err == nil {
		c.activity.wrote(live)
	}
	return err
}

// remember writes the annotation that the next apply compares with, and returns the object as it is sent.
func remember(o *unstructured.Unstructured) ([]byte, error) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	o.SetAnnotations(annotations)
	if len(annotations) == 0 {
		// The text of kubectl has the empty map too.
		if err := unstructured.SetNestedMap(o.Object, map[string]any{}, "metadata", "annotations"); err != nil {
			return nil, err
		}
	}
	var said bytes.Buffer
	encoder := json.NewEncoder(&said)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(o.Object); err != nil {
		return nil, err
	}
	annotations[corev1.LastAppliedConfigAnnotation] = said.String()
	o.SetAnnotations(annotations)
	return o.MarshalJSON()
}

// Delete removes an object and does not wait for its end; one that is not there is no error.
func (c *Cluster) Delete(ctx context.Context, ns string, object *unstructured.Unstructured) error {
	o := object.DeepCopy()
	if err := c.place(o, ns); err != nil {
		return err
	}
	c.activity.touch(o.GetNamespace())
	return client.IgnoreNotFound(c.Client.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}
