// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
)

// Pauses before a kind that was just made is asked for again: each is twice the one before.
const (
	lookAgain  = 100 * time.Millisecond
	lookSeldom = 10 * time.Second
)

// definitions are where the API server keeps which kinds there are.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"} //nolint:gochecknoglobals // nobody writes to it

// kind is a kind of the Gateway API that the cluster may have, now or later.
type kind struct {
	resource schema.GroupVersionResource
	make     func() runtime.Object

	mu sync.Mutex
	// objects is nil while they are not all known: either the cluster has not the kind, or it is still being read.
	objects cache.Store
	there   bool
	stop    context.CancelFunc
}

// kinds are those that the gateway follows, by the names of their definitions.
type kinds struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	notify   func()

	// known says that it has been read which kinds there are.
	known                            chan struct{}
	classes, gateways, routes, grant *kind
}

func newKinds(d dynamic.Interface, m metadata.Interface, notify func()) *kinds {
	return &kinds{
		dynamic: d, metadata: m, notify: notify, known: make(chan struct{}),
		classes:  &kind{resource: resource("v1", "gatewayclasses"), make: func() runtime.Object { return &gatewayv1.GatewayClass{} }},
		gateways: &kind{resource: resource("v1", "gateways"), make: func() runtime.Object { return &gatewayv1.Gateway{} }},
		routes:   &kind{resource: resource("v1", "httproutes"), make: func() runtime.Object { return &gatewayv1.HTTPRoute{} }},
		grant:    &kind{resource: resource("v1beta1", "referencegrants"), make: func() runtime.Object { return &gatewayv1beta1.ReferenceGrant{} }},
	}
}

func resource(version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: version, Resource: name}
}

func (k *kinds) all() []*kind { return []*kind{k.classes, k.gateways, k.routes, k.grant} }

// run follows which of the kinds the cluster has, and their objects, until ctx ends.
func (k *kinds) run(ctx context.Context) {
	informer := metadatainformer.NewFilteredMetadataInformer(k.metadata, definitions, "", 0, cache.Indexers{}, nil).Informer()
	// The name is all that counts here, and definitions carry much else.
	_ = informer.SetTransform(func(o any) (any, error) { // refused only after the start
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			m.Annotations, m.Labels, m.ManagedFields = nil, nil, nil
		}
		return o, nil
	})
	of := func(o any) *kind {
		name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
		for _, i := range k.all() {
			if err == nil && name == i.resource.GroupResource().String() {
				return i
			}
		}
		return nil
	}
	var running sync.WaitGroup
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if i := of(o); i != nil {
				i.begin(ctx, &running, k)
			}
		},
		DeleteFunc: func(o any) {
			if i := of(o); i != nil {
				i.end()
				k.notify()
			}
		},
	})
	if err != nil {
		klog.ErrorS(err, "watch definitions")
		return
	}
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			close(k.known)
			k.notify()
		}
	})
	informer.RunWithContext(ctx)
	running.Wait()
}

// begin follows the objects of a kind that the cluster has now.
func (i *kind) begin(ctx context.Context, running *sync.WaitGroup, k *kinds) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.there {
		return
	}
	i.there = true
	ctx, i.stop = context.WithCancel(ctx)
	running.Go(func() { i.follow(ctx, k) })
}

func (i *kind) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		i.stop()
	}
	i.there, i.objects, i.stop = false, nil, nil
}

func (i *kind) follow(ctx context.Context, k *kinds) {
	// A definition is there before its objects can be listed: mostly for a moment, for which the informer by itself would wait too long.
	for pause := lookAgain; ; pause = min(2*pause, lookSeldom) {
		_, err := k.dynamic.Resource(i.resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(k.dynamic, i.resource, "", 0, cache.Indexers{}, nil).Informer()
	_ = informer.SetTransform(i.typed) // refused only after the start
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { k.notify() }, UpdateFunc: func(any, any) { k.notify() }, DeleteFunc: func(any) { k.notify() },
	}); err != nil {
		klog.ErrorS(err, "watch", "resource", i.resource)
		return
	}
	var synced sync.WaitGroup
	synced.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && i.have(ctx, informer.GetStore()) {
			k.notify()
		}
	})
	informer.RunWithContext(ctx)
	synced.Wait()
}

// have keeps the objects that are now all known.
func (i *kind) have(ctx context.Context, objects cache.Store) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if ctx.Err() != nil {
		return false // the kind went meanwhile
	}
	i.objects = objects
	return true
}

// typed makes of what the API server sent the Go type. One that cannot be read is left, and passed over later.
func (i *kind) typed(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	into := i.make()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
		klog.ErrorS(err, "read", "object", klog.KObj(u), "kind", u.GetKind())
		return o, nil
	}
	if m, ok := into.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return into, nil
}

// ready says whether all is known: a table of half of the objects would be wrong.
func (k *kinds) ready() bool {
	select {
	case <-k.known:
	default:
		return false
	}
	for _, i := range k.all() {
		i.mu.Lock()
		pending := i.there && i.objects == nil
		i.mu.Unlock()
		if pending {
			return false
		}
	}
	return true
}

// listed are the objects of a kind; none where the cluster has not the kind.
func listed[T any](i *kind) []T {
	i.mu.Lock()
	objects := i.objects
	i.mu.Unlock()
	if objects == nil {
		return nil
	}
	list := objects.List()
	out := make([]T, 0, len(list))
	for _, o := range list {
		if typed, ok := o.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}

// write replaces the status of an object, if it is still the one that was seen.
func (k *kinds) write(ctx context.Context, i *kind, object runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	_, err = k.dynamic.Resource(i.resource).Namespace(u.GetNamespace()).UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}
