// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress is the cluster's gateway: it serves the hosts and paths of Ingress objects and, in a cluster with the Gateway API, of
// HTTPRoutes, over HTTP/1.1 and cleartext HTTP/2 on one port, from the ready endpoints of the Services behind them.
//
// Called by: cluster; the host reaches it through the port that launch forwards.
// Next: ingress/gatewayapi, which knows what the Gateway API means; then the pods.
package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kserve-go/kserve-go/local/ingress/gatewayapi"
)

const (
	// Class is the IngressClass of this gateway, the cluster's default one.
	Class = "kserve-local"
	// Controller is what the class names as its controller.
	Controller = "kserve-go.local/gateway"

	fieldManager    = "kserve-cluster"
	classAnnotation = "kubernetes.io/ingress.class"
	drainTimeout    = 10 * time.Second
)

// Options are what a gateway works with.
type Options struct {
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Informers informers.SharedInformerFactory
	// Address and Port are those that statuses show.
	Address string
	Port    int32
}

// Gateway follows Ingresses and HTTPRoutes and serves them.
type Gateway struct {
	client     kubernetes.Interface
	ingresses  networkinglisters.IngressLister
	classes    networkinglisters.IngressClassLister
	services   corelisters.ServiceLister
	namespaces corelisters.NamespaceLister
	endpoints  *endpoints
	kinds      *kinds
	compiler   gatewayapi.Compiler
	// written are the versions on top of which a status was written, until that is seen.
	written   map[types.UID]string
	address   string
	changed   chan struct{}
	table     atomic.Pointer[table]
	routes    atomic.Pointer[gatewayapi.Table]
	transport *transport
	mirrors   *mirrors
	handler   http.Handler
}

// New registers with the informers; it does no I/O.
func New(o Options) (*Gateway, error) {
	f := o.Informers
	core, network, discovery := f.Core().V1(), f.Networking().V1(), f.Discovery().V1()
	g := &Gateway{
		client: o.Client, address: o.Address, changed: make(chan struct{}, 1), written: map[types.UID]string{}, transport: newTransport(),
		ingresses: network.Ingresses().Lister(), classes: network.IngressClasses().Lister(),
		services: core.Services().Lister(), namespaces: core.Namespaces().Lister(),
		endpoints: &endpoints{services: core.Services().Lister(), slices: discovery.EndpointSlices().Lister()},
		compiler:  gatewayapi.Compiler{Controller: Controller, Address: o.Address, Port: o.Port},
	}
	g.table.Store(newTable(nil))
	g.routes.Store(&gatewayapi.Table{})
	g.kinds = newKinds(o.Dynamic, o.Metadata, g.notify)
	g.mirrors = newMirrors(g.transport)
	g.handler = g.newHandler()
	always := func(any) { g.notify() }
	if err := watch(always, network.Ingresses().Informer(), network.IngressClasses().Informer()); err != nil {
		return nil, err
	}
	// Routes say whether their Services exist, and are allowed by the labels of their namespaces; Ingresses do neither.
	if err := watch(func(any) {
		if len(listed[*gatewayv1.HTTPRoute](g.kinds.routes)) > 0 {
			g.notify()
		}
	}, core.Services().Informer(), core.Namespaces().Informer()); err != nil {
		return nil, err
	}
	if err := g.endpoints.follow(core.Services().Informer(), discovery.EndpointSlices().Informer()); err != nil {
		return nil, fmt.Errorf("watch endpoints: %w", err)
	}
	return g, nil
}

func watch(seen func(any), informers ...cache.SharedIndexInformer) error {
	h := cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) }, DeleteFunc: seen}
	for _, i := range informers {
		if _, err := i.AddEventHandler(h); err != nil {
			return fmt.Errorf("watch what is served: %w", err)
		}
	}
	return nil
}

// notify makes a pass due.
func (g *Gateway) notify() {
	select {
	case g.changed <- struct{}{}:
	default: // one is due already, and will see this change
	}
}

// Run serves l until ctx ends, then lets requests end.
func (g *Gateway) Run(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: g.handler, Protocols: &protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 65 * time.Second}
	var following sync.WaitGroup
	following.Go(func() { g.kinds.run(ctx) })
	following.Go(func() { g.follow(ctx) })
	cache.WaitForCacheSync(ctx.Done(), g.endpoints.known...) // a request must not come before what is behind its Service
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(drained)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		if server.Shutdown(end) != nil {
			_ = server.Close() // whoever is left had his time
		}
	})
	err := server.Serve(l)
	if !stop() {
		<-drained
	}
	following.Wait()
	g.mirrors.stop()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the gateway: %w", err)
}

// follow keeps tables and statuses up to date.
func (g *Gateway) follow(ctx context.Context) {
	for {
		again := g.sync(ctx)
		again = g.syncRoutes(ctx) || again
		var retry <-chan time.Time
		if again {
			retry = time.After(time.Second)
		}
		select {
		case <-ctx.Done():
			return
		case <-g.changed:
		case <-retry:
		}
	}
}

// sync reports whether a status could not be written and must be tried again.
func (g *Gateway) sync(ctx context.Context) (again bool) {
	all, err := g.ingresses.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "list ingresses")
		return true
	}
	var own []*networkingv1.Ingress
	for _, in := range all {
		if g.isOwn(in) {
			own = append(own, in)
		}
	}
	g.table.Store(newTable(own))
	for _, in := range own {
		if err := g.publish(ctx, in); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "write status", "ingress", klog.KObj(in))
			again = true
		}
	}
	return again
}

// isOwn says whether an Ingress asks for this gateway: by its class, or by asking for none.
func (g *Gateway) isOwn(in *networkingv1.Ingress) bool {
	name := in.Annotations[classAnnotation]
	if in.Spec.IngressClassName != nil {
		name = *in.Spec.IngressClassName
	}
	if name == "" || name == Class {
		return true
	}
	class, err := g.classes.Get(name)
	return err == nil && class.Spec.Controller == Controller
}

func (g *Gateway) publish(ctx context.Context, in *networkingv1.Ingress) error {
	want := networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: g.address}},
	}}
	if equality.Semantic.DeepEqual(in.Status, want) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": want})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	_, err = g.client.NetworkingV1().Ingresses(in.Namespace).Patch(ctx, in.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}

// portOf finds a Service's port by number or name. A gRPC call goes to the port that speaks gRPC, where the Service has one and the
// rule names another: HTTP and gRPC of a model are told apart here, since an Ingress has no word for it.
func portOf(s *corev1.Service, want networkingv1.ServiceBackendPort, isGRPC bool) (*corev1.ServicePort, bool) {
	var port, grpc *corev1.ServicePort
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if (want.Name != "" && p.Name == want.Name) || (want.Name == "" && p.Port == want.Number) {
			port = p
		}
		if grpc == nil && speaksHTTP2(p) {
			grpc = p
		}
	}
	if isGRPC && grpc != nil && (port == nil || !speaksHTTP2(port)) {
		return grpc, true
	}
	return port, port != nil
}
