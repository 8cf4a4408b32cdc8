// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kserve-go/kserve-go/local/proxy"
)

// behind is a Service with the endpoints of each of its ports. It is never changed.
type behind struct {
	*corev1.Service
	endpoints map[string][]string
}

// endpoints has for each Service what is behind it, so that no request has to search.
type endpoints struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister

	// known say whether all that there was at the start has been seen.
	known []cache.InformerSynced

	writing sync.Mutex
	all     sync.Map // types.NamespacedName: *behind
}

// of is nil for a Service that does not exist.
func (e *endpoints) of(namespace, name string) *behind {
	if b, ok := e.all.Load(types.NamespacedName{Namespace: namespace, Name: name}); ok {
		return b.(*behind) //nolint:forcetypeassert // nothing else is stored
	}
	return nil
}

// refresh looks at one Service again. Whoever comes last sees everything that the caches had before.
func (e *endpoints) refresh(namespace, name string) {
	e.writing.Lock()
	defer e.writing.Unlock()
	key := types.NamespacedName{Namespace: namespace, Name: name}
	s, err := e.services.Services(namespace).Get(name)
	if err != nil {
		e.all.Delete(key)
		return
	}
	b := &behind{s, map[string][]string{}}
	for i := range s.Spec.Ports {
		port := s.Spec.Ports[i].Name
		b.endpoints[port] = proxy.Targets(e.slices, s, port)
	}
	e.all.Store(key, b)
}

// follow keeps all up to date with the informers.
func (e *endpoints) follow(services, slices cache.SharedIndexInformer) error {
	changes := func(seen func(any)) cache.ResourceEventHandlerFuncs {
		return cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) }, DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			seen(o)
		}}
	}
	seen, err := services.AddEventHandler(changes(func(o any) {
		if s, ok := o.(*corev1.Service); ok {
			e.refresh(s.Namespace, s.Name)
		}
	}))
	if err != nil {
		return err
	}
	e.known = append(e.known, seen.HasSynced)
	seen, err = slices.AddEventHandler(changes(func(o any) {
		if s, ok := o.(*discoveryv1.EndpointSlice); ok {
			e.refresh(s.Namespace, s.Labels[discoveryv1.LabelServiceName])
		}
	}))
	if err != nil {
		return err
	}
	e.known = append(e.known, seen.HasSynced)
	return nil
}
