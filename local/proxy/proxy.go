// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy makes ClusterIP services work: for each TCP port of a service that has a ready endpoint it listens on the service's
// own address, which the network made local, and copies to an endpoint. A service without endpoints refuses connections.
//
// Called by: cluster.
// Next: the pods.
package proxy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/gate"
)

const dialTimeout = 2 * time.Second

// Proxy holds the listeners.
type Proxy struct {
	services  corelisters.ServiceLister
	slices    discoverylisters.EndpointSliceLister
	changed   chan struct{}
	mu        sync.Mutex
	listeners map[string]*listener
}

type listener struct {
	net.Listener
	mu       sync.Mutex
	affinity map[string]string
	targets  []string
	sticky   bool
}

// New registers with the informers; it does no I/O.
func New(f informers.SharedInformerFactory) (*Proxy, error) {
	p := &Proxy{
		services: f.Core().V1().Services().Lister(), slices: f.Discovery().V1().EndpointSlices().Lister(),
		changed: make(chan struct{}, 1), listeners: map[string]*listener{},
	}
	notify := func(any) {
		select {
		case p.changed <- struct{}{}:
		default: // a pass is due already, and will see this change
		}
	}
	h := cache.ResourceEventHandlerFuncs{AddFunc: notify, UpdateFunc: func(_, o any) { notify(o) }, DeleteFunc: notify}
	for _, i := range []cache.SharedIndexInformer{f.Core().V1().Services().Informer(), f.Discovery().V1().EndpointSlices().Informer()} {
		if _, err := i.AddEventHandler(h); err != nil {
			return nil, fmt.Errorf("watch services: %w", err)
		}
	}
	return p, nil
}

// Run follows the services until ctx ends.
func (p *Proxy) Run(ctx context.Context) {
	for {
		p.sync(ctx)
		select {
		case <-ctx.Done():
			p.mu.Lock()
			for _, l := range p.listeners {
				l.Close()
			}
			p.mu.Unlock()
			return
		case <-p.changed:
		}
	}
}

func (p *Proxy) sync(ctx context.Context) {
	all, err := p.services.List(labels.Everything())
	if err != nil {
		klog.ErrorS(err, "list services")
		return
	}
	type want struct {
		targets []string
		sticky  bool
	}
	wanted := map[string]want{}
	for _, s := range all {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		for _, port := range s.Spec.Ports {
			if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
				continue
			}
			if t := Targets(p.slices, s, port.Name); len(t) > 0 {
				wanted[net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(port.Port)))] = want{t, s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP}
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, l := range p.listeners {
		if _, ok := wanted[key]; !ok {
			l.Close()
			delete(p.listeners, key)
		}
	}
	for key, w := range wanted {
		l := p.listeners[key]
		if l == nil {
			raw, err := (&net.ListenConfig{}).Listen(ctx, "tcp", key)
			if err != nil {
				klog.ErrorS(err, "listen for service", "address", key)
				continue
			}
			l = &listener{Listener: raw, affinity: map[string]string{}}
			p.listeners[key] = l
			go l.serve(ctx)
		}
		l.set(w.targets, w.sticky)
	}
}

// Targets are the endpoints that get traffic: the ready ones, or, as Kubernetes has it, those still serving while they end.
func Targets(lister discoverylisters.EndpointSliceLister, s *corev1.Service, port string) []string {
	slices, err := lister.EndpointSlices(s.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: s.Name}))
	if err != nil {
		klog.ErrorS(err, "list endpoints", "service", klog.KObj(s))
		return nil
	}
	var ready, serving []string
	for _, slice := range slices {
		for _, sp := range slice.Ports {
			if sp.Port == nil || (sp.Name != nil && *sp.Name != port) {
				continue
			}
			for _, e := range slice.Endpoints {
				if len(e.Addresses) == 0 {
					continue
				}
				a := net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*sp.Port)))
				switch {
				case e.Conditions.Ready == nil || *e.Conditions.Ready:
					ready = append(ready, a)
				case e.Conditions.Serving != nil && *e.Conditions.Serving:
					serving = append(serving, a)
				}
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return serving
}

func (l *listener) set(targets []string, sticky bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.targets, l.sticky = targets, sticky
	if !sticky {
		clear(l.affinity)
	}
}

// order is the endpoints in the order to try them: at random, the client's last one first when the service asks for that.
func (l *listener) order(client string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := append([]string(nil), l.targets...)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if last, ok := l.affinity[client]; ok && l.sticky {
		for i, t := range out {
			if t == last {
				out[0], out[i] = out[i], out[0]
			}
		}
	}
	return out
}

func (l *listener) serve(ctx context.Context) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed: the service or its endpoints are gone
		}
		go l.carry(ctx, c)
	}
}

func (l *listener) carry(ctx context.Context, c net.Conn) {
	client, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		client = ""
	}
	d := net.Dialer{Timeout: dialTimeout}
	for _, t := range l.order(client) {
		u, err := d.DialContext(ctx, "tcp", t)
		if err != nil {
			continue
		}
		l.mu.Lock()
		if l.sticky {
			l.affinity[client] = t
		}
		l.mu.Unlock()
		gate.Join(c, u)
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // a reset, as a refused connection would be
	}
	c.Close()
}
