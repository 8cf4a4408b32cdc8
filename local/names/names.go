// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names is the cluster's DNS: A and SRV records of services, of the endpoints of headless services, CNAMEs of
// external ones. Other names do not exist: the cluster has no way out to ask anybody.
//
// Called by: cluster.
// Next: proxy, which listens on the addresses given here.
package names

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/klog/v2"
)

// Zone is the cluster's domain.
const Zone = "cluster.local."

const (
	ttl = 1 // seconds: tests look again right after a change
	// maxDepth bounds chains of external names.
	maxDepth = 4
)

// Server answers for the zone.
type Server struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
	servers  []*dns.Server
}

// New registers with the informers and takes the addresses, each by UDP and TCP.
func New(ctx context.Context, f informers.SharedInformerFactory, addresses ...string) (*Server, error) {
	s := &Server{services: f.Core().V1().Services().Lister(), slices: f.Discovery().V1().EndpointSlices().Lister()}
	f.Core().V1().Services().Informer()
	f.Discovery().V1().EndpointSlices().Informer()
	handler := dns.HandlerFunc(s.serve)
	var lc net.ListenConfig
	for _, a := range addresses {
		at := net.JoinHostPort(a, "53")
		l, err := lc.Listen(ctx, "tcp", at)
		if err != nil {
			return nil, fmt.Errorf("listen for DNS: %w", err)
		}
		p, err := lc.ListenPacket(ctx, "udp", at)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("listen for DNS: %w", err)
		}
		s.servers = append(s.servers, &dns.Server{Listener: l, Handler: handler}, &dns.Server{PacketConn: p, Handler: handler})
	}
	return s, nil
}

// Run answers until ctx ends.
func (s *Server) Run(ctx context.Context) {
	for _, srv := range s.servers {
		go func() {
			if err := srv.ActivateAndServe(); err != nil && ctx.Err() == nil {
				klog.ErrorS(err, "serve DNS")
			}
		}()
	}
	<-ctx.Done()
	for _, srv := range s.servers {
		_ = srv.Shutdown() // one that never started has nothing to shut
	}
}

func (s *Server) serve(w dns.ResponseWriter, r *dns.Msg) {
	m := new(dns.Msg)
	m.SetReply(r)
	m.Authoritative, m.RecursionAvailable = true, true
	for _, q := range r.Question {
		s.Answer(m, strings.ToLower(q.Name), q.Qtype, 0)
	}
	if _, packets := w.RemoteAddr().(*net.UDPAddr); packets {
		size := dns.MinMsgSize
		if o := r.IsEdns0(); o != nil {
			size = max(size, int(o.UDPSize()))
		}
		m.Truncate(size) // who asked then asks once more, by TCP
	}
	if err := w.WriteMsg(m); err != nil {
		klog.V(2).InfoS("answer DNS", "err", err)
	}
}

// Answer adds the records for one question.
func (s *Server) Answer(m *dns.Msg, name string, kind uint16, depth int) {
	rest, ok := strings.CutSuffix(name, ".svc."+Zone)
	if !ok || depth > maxDepth {
		m.Rcode = dns.RcodeNameError
		return
	}
	parts := strings.Split(rest, ".")
	var prefix []string
	if n := len(parts); n >= 2 {
		prefix, parts = parts[:n-2], parts[n-2:]
	} else {
		m.Rcode = dns.RcodeNameError
		return
	}
	svc, err := s.services.Services(parts[1]).Get(parts[0])
	if err != nil {
		m.Rcode = dns.RcodeNameError
		return
	}
	switch {
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		target := dns.Fqdn(svc.Spec.ExternalName)
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: header(name, dns.TypeCNAME), Target: target})
		s.Answer(m, target, kind, depth+1)
	case len(prefix) == 2 && strings.HasPrefix(prefix[0], "_"):
		s.srv(m, name, svc, prefix)
	case svc.Spec.ClusterIP == corev1.ClusterIPNone:
		s.headless(m, name, svc, kind, prefix)
	case len(prefix) > 0:
		m.Rcode = dns.RcodeNameError
	default:
		address(m, name, kind, svc.Spec.ClusterIP)
	}
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// address adds an A record; the cluster has no IPv6, and "no such record" must not become "no such name" (musl gives up on that).
func address(m *dns.Msg, name string, kind uint16, ip string) {
	if kind == dns.TypeA || kind == dns.TypeANY {
		m.Answer = append(m.Answer, &dns.A{Hdr: header(name, dns.TypeA), A: net.ParseIP(ip)})
	}
}

func (s *Server) headless(m *dns.Msg, name string, svc *corev1.Service, kind uint16, prefix []string) {
	seen := map[string]bool{}
	s.each(m, svc, func(_ *discoveryv1.EndpointSlice, e *discoveryv1.Endpoint) {
		ip := e.Addresses[0]
		if seen[ip] || (len(prefix) == 1 && host(e) != prefix[0] && dashed(ip) != prefix[0]) {
			return
		}
		seen[ip] = true
		address(m, name, kind, ip)
	})
	if len(prefix) > 0 && len(seen) == 0 {
		m.Rcode = dns.RcodeNameError
	}
}

// each calls f with the endpoints of a headless service that have names.
func (s *Server) each(m *dns.Msg, svc *corev1.Service, f func(*discoveryv1.EndpointSlice, *discoveryv1.Endpoint)) {
	slices, err := s.slices.EndpointSlices(svc.Namespace).List(labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: svc.Name}))
	if err != nil {
		m.Rcode = dns.RcodeServerFailure
		return
	}
	for _, slice := range slices {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			ready := e.Conditions.Ready == nil || *e.Conditions.Ready || svc.Spec.PublishNotReadyAddresses
			if len(e.Addresses) > 0 && ready {
				f(slice, e)
			}
		}
	}
}

// host is the name of an endpoint below that of its service.
func host(e *discoveryv1.Endpoint) string {
	if e.Hostname != nil {
		return *e.Hostname
	}
	return dashed(e.Addresses[0])
}

func dashed(ip string) string { return strings.ReplaceAll(ip, ".", "-") }

// srv tells where a named port is: of a headless service, at each of its endpoints.
func (s *Server) srv(m *dns.Msg, name string, svc *corev1.Service, prefix []string) {
	at := svc.Name + "." + svc.Namespace + ".svc." + Zone
	add := func(port int32, target string) {
		m.Answer = append(m.Answer, &dns.SRV{Hdr: header(name, dns.TypeSRV), Priority: 0, Weight: 100, Port: uint16(port), Target: target})
	}
	for _, p := range svc.Spec.Ports {
		if prefix[0] != "_"+p.Name || prefix[1] != "_"+protocol(p.Protocol) {
			continue
		}
		if svc.Spec.ClusterIP != corev1.ClusterIPNone {
			add(p.Port, at)
			continue
		}
		s.each(m, svc, func(slice *discoveryv1.EndpointSlice, e *discoveryv1.Endpoint) {
			for _, sp := range slice.Ports {
				if sp.Port != nil && sp.Name != nil && *sp.Name == p.Name {
					add(*sp.Port, host(e)+"."+at)
				}
			}
		})
	}
	if len(m.Answer) == 0 {
		m.Rcode = dns.RcodeNameError
	}
}

func protocol(p corev1.Protocol) string {
	if p == "" {
		p = corev1.ProtocolTCP
	}
	return strings.ToLower(string(p))
}
