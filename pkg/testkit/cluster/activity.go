// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Kinds are those that a control plane of InferenceServices makes or reads in namespaces. Some may not be installed.
func Kinds() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "apps", Kind: "Deployment"},
		{Group: "apps", Kind: "StatefulSet"},
		{Group: "apps", Kind: "DaemonSet"},
		{Kind: "Service"},
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"},
		{Group: "networking.k8s.io", Kind: "Ingress"},
		{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"},
		{Group: "networking.istio.io", Kind: "VirtualService"},
		{Group: "serving.knative.dev", Kind: "Service"},
		{Group: "keda.sh", Kind: "ScaledObject"},
		{Kind: "ConfigMap"},
		{Kind: "Secret"},
		{Group: "policy", Kind: "PodDisruptionBudget"},
		{Group: "leaderworkerset.x-k8s.io", Kind: "LeaderWorkerSet"},
		{Group: "inference.networking.k8s.io", Kind: "InferencePool"},
		{Group: "opentelemetry.io", Kind: "OpenTelemetryCollector"},
		{Group: "rbac.authorization.k8s.io", Kind: "Role"},
		{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"},
		{Kind: "ServiceAccount"},
		{Kind: "PersistentVolumeClaim"},
		{Group: "batch", Kind: "Job"},
		{Group: "serving.kserve.io", Kind: "InferenceService"},
		{Group: "serving.kserve.io", Kind: "InferenceGraph"},
		{Group: "serving.kserve.io", Kind: "TrainedModel"},
		{Group: "serving.kserve.io", Kind: "LLMInferenceService"},
		{Group: "serving.kserve.io", Kind: "ServingRuntime"},
	}
}

// Ref names one object.
type Ref struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string
}

// activity watches the metadata of all objects of Kinds: when something changed in a namespace, and what is in it.
type activity struct {
	stop    func()
	mu      sync.Mutex
	last    map[string]time.Time
	refs    map[string]map[Ref]string // by namespace, the resource version
	watched map[schema.GroupVersionKind]bool
	due     map[Ref]string // what was written here and has not been seen yet
}

func watchActivity(ctx context.Context, config *rest.Config, mapper meta.RESTMapper) (*activity, error) {
	c, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect for metadata: %w", err)
	}
	a := &activity{last: map[string]time.Time{}, refs: map[string]map[Ref]string{}, due: map[Ref]string{}, watched: map[schema.GroupVersionKind]bool{}}
	factory := metadatainformer.NewSharedInformerFactory(c, 0)
	for _, kind := range Kinds() {
		mapping, err := mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up %s: %w", kind, err)
		}
		gvk := mapping.GroupVersionKind
		a.watched[gvk] = true
		if _, err := factory.ForResource(mapping.Resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { a.note(gvk, o, false) },
			UpdateFunc: func(_, o any) { a.note(gvk, o, false) },
			DeleteFunc: func(o any) { a.note(gvk, o, true) },
		}); err != nil {
			return nil, fmt.Errorf("watch %s: %w", kind, err)
		}
	}
	// The caller's context bounds the start; the watches live until stop.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.stop = func() {
		cancel()
		factory.Shutdown()
	}
	factory.Start(base.Done())
	for resource, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			a.stop()
			return nil, fmt.Errorf("watch %s: %w", resource, errors.Join(errors.New("the first list did not come"), ctx.Err()))
		}
	}
	return a, nil
}

func (a *activity) note(gvk schema.GroupVersionKind, object any, gone bool) {
	if tomb, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tomb.Obj
	}
	o, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	ref := Ref{GVK: gvk, Namespace: o.Namespace, Name: o.Name}
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.refs[o.Namespace]
	if of == nil {
		of = map[Ref]string{}
		a.refs[o.Namespace] = of
	}
	if gone {
		delete(of, ref)
	} else {
		of[ref] = o.ResourceVersion
	}
	if want, ok := a.due[ref]; ok && (gone || !older(o.ResourceVersion, want)) {
		delete(a.due, ref)
	}
	a.last[o.Namespace] = time.Now()
}

// touch says that something is about to change.
func (a *activity) touch(ns string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[ns] = time.Now()
}

// older compares versions of one object: they are numbers that grow.
func older(version, than string) bool {
	if len(version) != len(than) {
		return len(version) < len(than)
	}
	return version < than
}

// wrote says that an object has been written, and waits in Settle until the watches have it.
func (a *activity) wrote(o *unstructured.Unstructured) {
	if a == nil {
		return
	}
	ref := Ref{GVK: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.watched[ref.GVK] || !older(a.refs[ref.Namespace][ref], o.GetResourceVersion()) {
		return
	}
	a.due[ref] = o.GetResourceVersion()
}

// left is how long a namespace has yet to be quiet.
func (a *activity) left(ns string, quiet time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ref := range a.due {
		if ref.Namespace == ns {
			return max(quiet/10, time.Millisecond)
		}
	}
	return quiet - time.Since(a.last[ns])
}

// Settle waits until nothing has changed in a namespace for a while, counted from the last change or the last Apply, Delete or
// MakeReady. It gives up, with an error, after limit.
func (c *Cluster) Settle(ctx context.Context, ns string, quiet, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		left := c.activity.left(ns, quiet)
		if left <= 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has not been quiet for %s within %s", ns, quiet, limit)
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Version is the resource version of an object, as the watches have seen it; empty when it is not there.
func (c *Cluster) Version(ref Ref) string {
	c.activity.mu.Lock()
	defer c.activity.mu.Unlock()
	return c.activity.refs[ref.Namespace][ref]
}

// Refs are the objects of Kinds in a namespace, as the watches have seen them, sorted.
func (c *Cluster) Refs(ns string) []Ref {
	c.activity.mu.Lock()
	defer c.activity.mu.Unlock()
	return slices.SortedFunc(maps.Keys(c.activity.refs[ns]), func(a, b Ref) int {
		return slices.Compare([]string{a.GVK.Kind, a.GVK.GroupVersion().String(), a.Name}, []string{b.GVK.Kind, b.GVK.GroupVersion().String(), b.Name})
	})
}

// Read gets every object of Refs; what is gone meanwhile is left out.
func (c *Cluster) Read(ctx context.Context, ns string) ([]*unstructured.Unstructured, error) {
	var list []*unstructured.Unstructured
	for _, ref := range c.Refs(ns) {
		o, err := c.get(ctx, ref)
		if err != nil {
			return nil, err
		}
		if o != nil {
			list = append(list, o)
		}
	}
	return list, nil
}
