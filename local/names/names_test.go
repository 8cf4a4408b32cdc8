// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// zone is a server that knows these objects.
func zone(t *testing.T, objects ...any) *Server {
	t.Helper()
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	services, endpoints := cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace), cache.NewIndexer(cache.MetaNamespaceKeyFunc, byNamespace)
	for _, o := range objects {
		to := services
		if _, ok := o.(*discoveryv1.EndpointSlice); ok {
			to = endpoints
		}
		require.NoError(t, to.Add(o))
	}
	return &Server{services: corelisters.NewServiceLister(services), slices: discoverylisters.NewEndpointSliceLister(endpoints)}
}

func service(name, ip string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}},
	}
}

func slice(of string, all ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	name, port := "http", int32(8080)
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: of + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: of}},
		Endpoints:  all, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
}

func endpoint(ip, hostname string, ready bool) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}
	if hostname != "" {
		e.Hostname = &hostname
	}
	return e
}

func TestWhatNamesLeadTo(t *testing.T) {
	early := service("early", corev1.ClusterIPNone)
	early.Spec.PublishNotReadyAddresses = true
	outside, alias := service("outside", ""), service("alias", "")
	for s, to := range map[*corev1.Service]string{outside: "example.com", alias: "web.ns.svc.cluster.local"} {
		s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, to
	}
	loop := service("loop", "")
	loop.Spec.Type, loop.Spec.ExternalName = corev1.ServiceTypeExternalName, "loop.ns.svc.cluster.local"
	s := zone(
		t, service("web", "10.96.0.7"), service("pods", corev1.ClusterIPNone), early, outside, alias, loop,
		slice("pods", endpoint("10.88.0.2", "first", true), endpoint("10.88.0.3", "", true), endpoint("10.88.0.4", "third", false)),
		slice("early", endpoint("10.88.0.5", "", false)),
	)
	for _, c := range []struct {
		name string
		kind uint16
		code int
		want []string
	}{
		{name: "web.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.96.0.7"}},
		{name: "WEB.ns.svc.Cluster.Local.", kind: dns.TypeA, want: []string{"A 10.96.0.7"}},
		{name: "web.ns.svc.cluster.local.", kind: dns.TypeAAAA}, // no such record, which is not "no such name"
		{name: "pods.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.88.0.2", "A 10.88.0.3"}},
		{name: "first.pods.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.88.0.2"}},
		{name: "10-88-0-3.pods.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.88.0.3"}},
		{name: "third.pods.ns.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError}, // it is not ready
		{name: "early.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.88.0.5"}},
		{name: "_http._tcp.web.ns.svc.cluster.local.", kind: dns.TypeSRV, want: []string{"SRV 80 web.ns.svc.cluster.local."}},
		{name: "_dns._udp.web.ns.svc.cluster.local.", kind: dns.TypeSRV, want: []string{"SRV 53 web.ns.svc.cluster.local."}},
		{name: "_dns._tcp.web.ns.svc.cluster.local.", kind: dns.TypeSRV, code: dns.RcodeNameError},
		{name: "_http._tcp.pods.ns.svc.cluster.local.", kind: dns.TypeSRV, want: []string{
			"SRV 8080 10-88-0-3.pods.ns.svc.cluster.local.", "SRV 8080 first.pods.ns.svc.cluster.local.",
		}},
		{name: "alias.ns.svc.cluster.local.", kind: dns.TypeA, want: []string{"A 10.96.0.7", "CNAME web.ns.svc.cluster.local."}},
		{name: "outside.ns.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError, want: []string{"CNAME example.com."}},
		{name: "loop.ns.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError, want: slices.Repeat([]string{"CNAME loop.ns.svc.cluster.local."}, maxDepth+1)},
		{name: "nosuch.ns.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: "web.elsewhere.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: "a.web.ns.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: "web.svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: "svc.cluster.local.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: "example.com.", kind: dns.TypeA, code: dns.RcodeNameError},
		{name: ".", kind: dns.TypeA, code: dns.RcodeNameError},
	} {
		t.Run(c.name+" "+dns.TypeToString[c.kind], func(t *testing.T) {
			m := ask(s, &net.TCPAddr{}, new(dns.Msg).SetQuestion(c.name, c.kind))
			require.Equal(t, c.code, m.Rcode)
			var got []string
			for _, r := range m.Answer {
				switch r := r.(type) {
				case *dns.A:
					got = append(got, "A "+r.A.String())
				case *dns.CNAME:
					got = append(got, "CNAME "+r.Target)
				case *dns.SRV:
					got = append(got, fmt.Sprintf("SRV %d %s", r.Port, r.Target))
				}
			}
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnAnswerThatIsTooLongForAPacketSaysSo(t *testing.T) {
	var all []discoveryv1.Endpoint
	for i := range 100 {
		all = append(all, endpoint(fmt.Sprintf("10.88.1.%d", i), "", true))
	}
	s := zone(t, service("pods", corev1.ClusterIPNone), slice("pods", all...))
	question := func() *dns.Msg { return new(dns.Msg).SetQuestion("pods.ns.svc.cluster.local.", dns.TypeA) }
	m := ask(s, &net.UDPAddr{}, question())
	require.True(t, m.Truncated)
	require.LessOrEqual(t, m.Len(), dns.MinMsgSize)
	m = ask(s, &net.UDPAddr{}, question().SetEdns0(4096, false))
	require.False(t, m.Truncated)
	require.Len(t, m.Answer, 100)
	require.Len(t, ask(s, &net.TCPAddr{}, question()).Answer, 100)
}

// line takes what is answered to who asks from there.
type line struct {
	dns.ResponseWriter
	from net.Addr
	said *dns.Msg
}

func (l *line) RemoteAddr() net.Addr { return l.from }

func (l *line) WriteMsg(m *dns.Msg) error {
	l.said = m
	return nil
}

func ask(s *Server, from net.Addr, question *dns.Msg) *dns.Msg {
	l := &line{from: from}
	s.serve(l, question)
	return l.said
}
