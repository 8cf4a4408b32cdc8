// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress is the cluster's gateway: it serves the hosts and paths of Ingress objects, over HTTP/1.1 and cleartext HTTP/2 on one
// port, from the ready endpoints of the Services behind them.
//
// Called by: cluster; the host reaches it through the port that launch forwards.
// Next: the pods.
package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// Class is the IngressClass of this gateway, the cluster's default one.
	Class = "kserve-local"
	// Controller is what the class names as its controller.
	Controller = "kserve-go.local/gateway"

	classAnnotation = "kubernetes.io/ingress.class"
	drainTimeout    = 10 * time.Second
)

// Gateway follows the Ingresses and serves them.
type Gateway struct {
	client    kubernetes.Interface
	ingresses networkinglisters.IngressLister
	classes   networkinglisters.IngressClassLister
	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	address   string
	changed   chan struct{}
	table     atomic.Pointer[table]
	handler   http.Handler
}

// New registers with the informers; it does no I/O. The address is what the status of an Ingress shows.
func New(client kubernetes.Interface, f informers.SharedInformerFactory, address string) (*Gateway, error) {
	g := &Gateway{
		client: client, address: address, changed: make(chan struct{}, 1),
		ingresses: f.Networking().V1().Ingresses().Lister(), classes: f.Networking().V1().IngressClasses().Lister(),
		services: f.Core().V1().Services().Lister(), slices: f.Discovery().V1().EndpointSlices().Lister(),
	}
	g.table.Store(newTable(nil))
	g.handler = g.newHandler()
	notify := func(any) {
		select {
		case g.changed <- struct{}{}:
		default: // a pass is due already, and will see this change
		}
	}
	h := cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify}
	for _, i := range []cache.SharedIndexInformer{f.Networking().V1().Ingresses().Informer(), f.Networking().V1().IngressClasses().Informer()} {
		if _, err := i.AddEventHandler(h); err != nil {
			return nil, fmt.Errorf("watch ingresses: %w", err)
		}
	}
	// Services and endpoints are looked up for each request.
	f.Core().V1().Services().Informer()
	f.Discovery().V1().EndpointSlices().Informer()
	return g, nil
}

// Run serves l until ctx ends, then lets requests end.
func (g *Gateway) Run(ctx context.Context, l net.Listener) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: g.handler, Protocols: &protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 65 * time.Second}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		g.follow(ctx)
	}()
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
	<-followed
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the gateway: %w", err)
}

// follow keeps the table and the status of the Ingresses up to date.
func (g *Gateway) follow(ctx context.Context) {
	for {
		again := g.sync(ctx)
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
	_, err = g.client.NetworkingV1().Ingresses(in.Namespace).Patch(ctx, in.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kserve-cluster"}, "status")
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
