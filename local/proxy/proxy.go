// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy makes services work: for each port of a service that has a ready endpoint it listens on the service's own address,
// which the network made local, and for a node port on the node's, and copies to an endpoint. A service without endpoints refuses
// connections.
//
// Called by: cluster.
// Next: the pods.
package proxy

import (
	"context"
	"fmt"
	"io"
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
	nodes     []string
	changed   chan struct{}
	mu        sync.Mutex
	listeners map[place]*listener
}

// place is where a port of a service answers.
type place struct{ network, address string }

// listener answers at one place, by connections or by packets.
type listener struct {
	io.Closer
	endpoints
}

// endpoints are those of a port.
type endpoints struct {
	mu       sync.Mutex
	affinity map[string]string
	all      []string
	sticky   bool
}

// New registers with the informers; it does no I/O. Node ports answer at the addresses of nodes.
func New(f informers.SharedInformerFactory, nodes ...string) (*Proxy, error) {
	p := &Proxy{
		services: f.Core().V1().Services().Lister(), slices: f.Discovery().V1().EndpointSlices().Lister(),
		nodes: nodes, changed: make(chan struct{}, 1), listeners: map[place]*listener{},
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
	wanted := map[place]want{}
	for _, s := range all {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		for i := range s.Spec.Ports {
			p.want(wanted, s, &s.Spec.Ports[i])
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, l := range p.listeners {
		if _, ok := wanted[at]; !ok {
			l.Close()
			delete(p.listeners, at)
		}
	}
	for at, w := range wanted {
		l := p.listeners[at]
		if l == nil {
			if l, err = open(ctx, at, w); err != nil {
				klog.ErrorS(err, "listen for service", "address", at.address)
				continue
			}
			p.listeners[at] = l
		}
		l.set(w.targets, w.sticky)
	}
}

type want struct {
	targets []string
	sticky  bool
}

func (p *Proxy) want(wanted map[place]want, s *corev1.Service, port *corev1.ServicePort) {
	network := "tcp"
	switch port.Protocol {
	case corev1.ProtocolTCP, "":
	case corev1.ProtocolUDP:
		network = "udp"
	default:
		return
	}
	t := Targets(p.slices, s, port.Name)
	if len(t) == 0 {
		return
	}
	w := want{t, s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP}
	wanted[place{network, net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(port.Port)))}] = w
	if port.NodePort == 0 {
		return
	}
	for _, n := range p.nodes {
		wanted[place{network, net.JoinHostPort(n, strconv.Itoa(int(port.NodePort)))}] = w
	}
}

func open(ctx context.Context, at place, w want) (*listener, error) {
	l := &listener{endpoints: endpoints{affinity: map[string]string{}, all: w.targets, sticky: w.sticky}}
	if at.network == "udp" {
		c, err := (&net.ListenConfig{}).ListenPacket(ctx, at.network, at.address)
		if err != nil {
			return nil, err
		}
		l.Closer = c
		go (&packets{conn: c, endpoints: &l.endpoints, sessions: map[string]*session{}}).serve(ctx)
		return l, nil
	}
	raw, err := (&net.ListenConfig{}).Listen(ctx, at.network, at.address)
	if err != nil {
		return nil, err
	}
	l.Closer = raw
	go l.serve(ctx, raw)
	return l, nil
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

func (e *endpoints) set(all []string, sticky bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all, e.sticky = all, sticky
	if !sticky {
		clear(e.affinity)
	}
}

// order is the endpoints in the order to try them: at random, the client's last one first when the service asks for that.
func (e *endpoints) order(client string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := append([]string(nil), e.all...)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	if last, ok := e.affinity[client]; ok && e.sticky {
		for i, a := range out {
			if a == last {
				out[0], out[i] = out[i], out[0]
			}
		}
	}
	return out
}

// chosen remembers which endpoint a client got.
func (e *endpoints) chosen(client, target string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sticky {
		e.affinity[client] = target
	}
}

func (l *listener) serve(ctx context.Context, from net.Listener) {
	_ = gate.Accept(ctx, from, func(c net.Conn) { l.carry(ctx, c) }) // closed: the service or its endpoints are gone
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
		l.chosen(client, t)
		gate.Join(c, u)
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // a reset, as a refused connection would be
	}
	c.Close()
}
