// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package online reads from a cluster what services are planned from: the operator's settings, runtimes, storage containers, service accounts and
// secrets, no more of them than the services need. Objects of files stand in for those of the cluster.
//
// Called by: cli/diff, cli/inspect.
// Next: cli/offline, which plans from what is read.
package online

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	servingv1alpha1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1alpha1"
	servingv1beta1 "github.com/kserve-go/kserve-go/pkg/apis/serving/v1beta1"
	"github.com/kserve-go/kserve-go/pkg/cli/cluster/live"
	"github.com/kserve-go/kserve-go/pkg/cli/exit"
	"github.com/kserve-go/kserve-go/pkg/cli/manifest"
)

// Source is what objects of the cluster have in the place of a file's name.
const Source = "cluster"

// SystemNamespace is where the operator's settings are, unless somebody put them elsewhere.
const SystemNamespace = "kserve"

// Reading gathers objects, the files' first.
type Reading struct {
	Client dynamic.Interface
	// System is the namespace of the operator's ConfigMap.
	System string
	// Lenient goes on without what may not be read; it is then in Unread.
	Lenient bool

	Objects []*manifest.Object
	// Faults are of services of the cluster: what this version does not know in them.
	Faults []manifest.Fault
	Unread []Unread
	// Absent are objects that others name and that do not exist.
	Absent []Absent

	have   map[string]bool
	listed map[string]bool
	kinds  map[schema.GroupKind]bool
}

// Unread is what may not be read, for lack of a right.
type Unread struct {
	// Resource is the plural, as roles name it.
	Resource string
	Why      error
}

// Absent is an object that does not exist.
type Absent struct {
	Kind, Namespace, Name string
	// By is who names it, Of the service that this is about.
	By string
	Of *manifest.Object
}

// New starts with the objects of files.
func New(client dynamic.Interface, system string, files []*manifest.Object) *Reading {
	r := &Reading{Client: client, System: system, have: map[string]bool{}, listed: map[string]bool{}, kinds: map[schema.GroupKind]bool{}}
	for _, o := range files {
		r.add(o)
	}
	return r
}

// Error gives an error of the API server its exit code: one that it answered, such as a right that is missing, is another than no answer.
func Error(err error) error {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsServiceUnavailable(err) {
		return exit.Errorf(exit.Failed, "%w", err)
	}
	return exit.Errorf(exit.Unreachable, "%w", err)
}

// CannotRead says whether a resource may not be read, and why.
func (r *Reading) CannotRead(resources ...string) (Unread, bool) {
	for _, u := range r.Unread {
		for _, resource := range resources {
			if u.Resource == resource {
				return u, true
			}
		}
	}
	return Unread{}, false
}

// lacks keeps a right that is missing, where that is no error.
func (r *Reading) lacks(resource string, err error) error {
	if !r.Lenient || !apierrors.IsForbidden(err) {
		return err
	}
	r.Unread = append(r.Unread, Unread{resource, err})
	return nil
}

func key(gk schema.GroupKind, namespace, name string) string {
	return gk.String() + " " + namespace + "/" + name
}

// add takes an object unless there is one of its name already.
func (r *Reading) add(o *manifest.Object) {
	k := key(o.Kind.GroupKind(), o.Namespace, o.Name)
	if !r.have[k] {
		r.have[k] = true
		r.Objects = append(r.Objects, o)
	}
}

// Take decodes an object of the cluster by the rules of files. What this version does not know in a service is a fault; in what others wrote
// for the whole cluster it is passed over, as the controller does.
func (r *Reading) Take(u *unstructured.Unstructured) error {
	objects, faults, err := decode(u)
	if err != nil {
		return err
	}
	service := u.GetKind() == servingv1beta1.InferenceServiceKind
	for _, o := range objects {
		o.Text = nil // nobody wrote it, and there may be many
		if !service || !o.Broken {
			o.Broken = false
			r.add(o)
		}
	}
	if service {
		r.Faults = append(r.Faults, faults...)
	}
	return nil
}

func decode(u *unstructured.Unstructured) ([]*manifest.Object, []manifest.Fault, error) {
	u.SetManagedFields(nil)
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	objects, faults := manifest.ParseAll(Source, raw)
	for i := range faults {
		faults[i].Object = (&manifest.Object{Kind: u.GroupVersionKind(), Namespace: u.GetNamespace(), Name: u.GetName()}).ID()
	}
	return objects, faults, nil
}

func beta(resource string) schema.GroupVersionResource {
	return servingv1beta1.SchemeGroupVersion.WithResource(resource)
}

func alpha(resource string) schema.GroupVersionResource {
	return servingv1alpha1.SchemeGroupVersion.WithResource(resource)
}

func core(resource string) schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource(resource)
}

// list reads what there is of a resource, once; a cluster that does not know it has none.
func (r *Reading) list(ctx context.Context, resource schema.GroupVersionResource, namespace string) error {
	k := resource.Resource + " " + namespace
	if r.listed[k] {
		return nil
	}
	r.listed[k] = true
	err := live.Each(ctx, r.Client.Resource(resource).Namespace(namespace), metav1.ListOptions{}, r.Take)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err = r.lacks(resource.Resource, err); err != nil {
		return fmt.Errorf("list %s: %w", resource.Resource, err)
	}
	return nil
}

// get reads one object, once; found says whether it is there, as far as that may be known.
func (r *Reading) get(ctx context.Context, resource schema.GroupVersionResource, kind, namespace, name string) (found bool, err error) {
	k := key(schema.GroupKind{Group: resource.Group, Kind: kind}, namespace, name)
	if found, seen := r.have[k]; seen || r.listed[resource.Resource+" "+namespace] {
		return found, nil
	}
	u, err := r.Client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		r.have[k] = false
		return false, nil
	}
	if err != nil {
		if err = r.lacks(resource.Resource, err); err != nil {
			return false, fmt.Errorf("read %s %s/%s: %w", resource.Resource, namespace, name, err)
		}
		return true, nil // it may be there
	}
	return true, r.Take(u)
}

// Has says whether the cluster has a kind, as far as that may be known.
func (r *Reading) Has(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (bool, error) {
	if has, known := r.kinds[gvk.GroupKind()]; known {
		return has, nil
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk) // right for every kind that services can have
	_, err := r.Client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case apierrors.IsNotFound(err):
		r.kinds[gvk.GroupKind()] = false
	case err == nil, apierrors.IsForbidden(err): // what is forbidden exists, or whoever may not know it asks in vain
		r.kinds[gvk.GroupKind()] = true
	default:
		return false, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	return r.kinds[gvk.GroupKind()], nil
}
