// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kserve-go/kserve-go/local/ingress/gatewayapi"
)

const (
	dialTimeout = 2 * time.Second
	idleTimeout = 30 * time.Second
	idlePerHost = 100

	// statusClientGone is for a client that went away; nobody reads it.
	statusClientGone = 499

	// Codes of gRPC, which tells of errors in a header.
	grpcDeadlineExceeded = 4
	grpcUnimplemented    = 12
	grpcUnavailable      = 14
)

// target is where a request goes: endpoints, of which the first to try is any, and what is done on the way.
type target struct {
	endpoints []string
	first     int
	http2     bool
	// match and backend are nil on the way of an Ingress.
	match   *gatewayapi.Match
	backend *gatewayapi.Backend
	// copies are those of the body that are being made.
	copies []*copied
}

type targetKey struct{}

func targetOf(r *http.Request) *target {
	t, _ := r.Context().Value(targetKey{}).(*target)
	return t
}

// refusal is why a request goes nowhere.
type refusal struct {
	status int
	why    string
}

func refusing(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

func (g *Gateway) newHandler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite:        g.rewrite,
		Transport:      g.transport,
		FlushInterval:  -1,
		ModifyResponse: answer,
		ErrorHandler:   failed,
		ErrorLog:       log.New(io.Discard, "", 0), // the error handler tells
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, no := g.target(r)
		if no != nil {
			refuse(w, r, no.status, no.why)
			return
		}
		ctx := context.WithValue(r.Context(), targetKey{}, t)
		if t.match != nil {
			rule := t.match.Rule
			if d := redirect(t); d != nil {
				w.Header().Set("Location", d.Location(r, t.match.Prefix))
				w.WriteHeader(d.Status)
				return
			}
			if rule.Timeout > 0 && r.Header.Get("Upgrade") == "" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, rule.Timeout)
				defer cancel()
			}
		}
		defer t.endCopies()
		forward.ServeHTTP(w, r.WithContext(ctx))
	})
}

// endCopies drops what is not whole when the request has ended.
func (t *target) endCopies() {
	for _, c := range t.copies {
		c.end()
	}
}

func redirect(t *target) *gatewayapi.Redirect {
	if t.match.Rule.Redirect == nil && t.backend != nil {
		return t.backend.Redirect
	}
	return t.match.Rule.Redirect
}

// target looks up where a request goes, or says why it can go nowhere. A route goes before an Ingress, unless it is one for any host and the
// Ingress names this one.
func (g *Gateway) target(r *http.Request) (*target, *refusal) {
	host := gatewayapi.Host(r.Host)
	found := g.routes.Load().Find(host, r)
	if found.Match != nil && found.Host {
		return g.byRoute(found.Match, r)
	}
	to, ok, knownHost := g.table.Load().find(host, r.URL.Path)
	switch {
	case ok:
		return g.byIngress(to, host, r)
	case found.Match != nil:
		return g.byRoute(found.Match, r)
	case found.Host:
		return nil, refusing(http.StatusNotFound, "no rule of an HTTPRoute of host %s matches %s %s", host, r.Method, r.URL.Path)
	case knownHost:
		return nil, refusing(http.StatusNotFound, "no Ingress of host %s has path %s", host, r.URL.Path)
	}
	return nil, refusing(http.StatusNotFound, "no Ingress and no HTTPRoute has host %s", host)
}

func (g *Gateway) byRoute(m *gatewayapi.Match, r *http.Request) (*target, *refusal) {
	t := &target{match: m}
	if m.Rule.Redirect != nil {
		return t, nil
	}
	b := m.Rule.Pick()
	switch {
	case b == nil:
		return nil, refusing(http.StatusInternalServerError, "HTTPRoute %s has no backend for %s", m.Rule.Route, r.URL.Path)
	case b.Fault != "":
		return nil, refusing(http.StatusInternalServerError, "HTTPRoute %s: %s", m.Rule.Route, b.Fault)
	}
	t.backend = b
	if b.Redirect != nil {
		return t, nil
	}
	return t, g.to(t, b, r)
}

// to finds the endpoints of a backend.
func (g *Gateway) to(t *target, b *gatewayapi.Backend, r *http.Request) *refusal {
	s := g.endpoints.of(b.Namespace, b.Service)
	if s == nil {
		return refusing(http.StatusServiceUnavailable, "Service %s/%s does not exist", b.Namespace, b.Service)
	}
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.Port == b.Port {
			return t.lead(s, p, r)
		}
	}
	return refusing(http.StatusServiceUnavailable, "Service %s/%s has no port %d", b.Namespace, b.Service, b.Port)
}

func (g *Gateway) byIngress(to backend, host string, r *http.Request) (*target, *refusal) {
	s := g.endpoints.of(to.namespace, to.service)
	if s == nil {
		return nil, refusing(http.StatusServiceUnavailable, "host %s leads to Service %s/%s, which does not exist", host, to.namespace, to.service)
	}
	port, ok := portOf(s.Service, to.port, isGRPC(r))
	if !ok {
		return nil, refusing(http.StatusServiceUnavailable, "host %s leads to a port of Service %s/%s that it does not have", host, to.namespace, to.service)
	}
	t := &target{}
	return t, t.lead(s, port, r)
}

// lead directs a request to the ready endpoints of a port.
func (t *target) lead(s *behind, port *corev1.ServicePort, r *http.Request) *refusal {
	t.endpoints = s.endpoints[port.Name]
	if len(t.endpoints) == 0 {
		return refusing(http.StatusServiceUnavailable, "Service %s/%s has no ready endpoint", s.Namespace, s.Name)
	}
	t.first = rand.IntN(len(t.endpoints))
	t.http2 = speaksHTTP2(port) || isGRPC(r)
	return nil
}

// rewrite makes the request that an endpoint gets of the one that came.
func (g *Gateway) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = "http", "endpoint" // the transport puts in the address
	r.Out.URL.RawQuery = r.In.URL.RawQuery                // as it came, also what cannot be parsed
	r.Out.Host = r.In.Host
	r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
	r.SetXForwarded()
	t := targetOf(r.In)
	if t.match == nil {
		return
	}
	rule := t.match.Rule
	for _, f := range []*gatewayapi.Filters{&rule.Filters, &t.backend.Filters} {
		f.Request.Apply(r.Out.Header)
		if f.Rewrite == nil {
			continue
		}
		f.Rewrite.Path(r.Out.URL, t.match.Prefix)
		if f.Rewrite.Host != "" {
			r.Out.Host = f.Rewrite.Host
		}
	}
	if r.In.Header.Get("Upgrade") == "" {
		g.mirror(t, r.Out, rule.Mirrors)
		g.mirror(t, r.Out, t.backend.Mirrors)
	}
}

// answer changes what an endpoint answered.
func answer(r *http.Response) error {
	if t := targetOf(r.Request); t != nil && t.match != nil {
		t.match.Rule.Response.Apply(r.Header)
		t.backend.Response.Apply(r.Header)
	}
	statusToTrailer(r)
	return nil
}

// failed tells a client that its request got no answer.
func failed(w http.ResponseWriter, r *http.Request, err error) {
	switch t := targetOf(r); {
	case errors.Is(r.Context().Err(), context.DeadlineExceeded) && t != nil && t.match != nil:
		refuse(w, r, http.StatusGatewayTimeout, fmt.Sprintf("no answer within %s, the timeout of HTTPRoute %s", t.match.Rule.Timeout, t.match.Rule.Route))
	case errors.Is(err, context.Canceled):
		w.WriteHeader(statusClientGone)
	default:
		klog.V(1).InfoS("backend did not answer", "host", r.Host, "path", r.URL.Path, "err", err)
		refuse(w, r, http.StatusBadGateway, fmt.Sprintf("the service behind %s did not answer: %v", r.Host, err))
	}
}

// speaksHTTP2 says whether a port expects HTTP/2 without TLS.
func speaksHTTP2(p *corev1.ServicePort) bool {
	if p.AppProtocol != nil {
		return *p.AppProtocol == "kubernetes.io/h2c" || strings.EqualFold(*p.AppProtocol, "grpc") || strings.EqualFold(*p.AppProtocol, "h2c")
	}
	return strings.HasPrefix(p.Name, "h2c") || strings.HasPrefix(p.Name, "grpc")
}

func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// refuse answers with one sentence as JSON, or as gRPC has it.
func refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if isGRPC(r) {
		code := grpcUnavailable
		switch status {
		case http.StatusNotFound:
			code = grpcUnimplemented
		case http.StatusGatewayTimeout:
			code = grpcDeadlineExceeded
		}
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", fmt.Sprint(code))
		w.Header().Set("Grpc-Message", strings.Map(plain, why))
		return
	}
	b, err := json.Marshal(map[string]string{"error": why})
	if err != nil {
		b = []byte(`{"error":"the gateway cannot serve this request"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // whoever asked may be gone
}

// plain keeps what a header of gRPC may hold as it is.
func plain(r rune) rune {
	if r < ' ' || r > '~' || r == '%' {
		return '?'
	}
	return r
}

// statusToTrailer moves the status of a gRPC answer without messages, which travels in the header, to where it stays valid when the
// header is sent before the end of the stream is known.
func statusToTrailer(r *http.Response) {
	if r.ProtoMajor != 2 || r.Header.Get("Grpc-Status") == "" {
		return
	}
	if r.Trailer == nil {
		r.Trailer = http.Header{}
	}
	for _, name := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"} {
		if v := r.Header[name]; v != nil {
			r.Trailer[name] = v
			r.Header.Del(name)
		}
	}
}

// transport tries the endpoints of a request until one takes the connection. Nothing was sent before that: any request may be tried again.
type transport struct {
	http1, http2 *http.Transport
}

func newTransport() *transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: idleTimeout}
	fresh := func() *http.Transport {
		return &http.Transport{
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout, DisableCompression: true,
		}
	}
	t := &transport{http1: fresh(), http2: fresh()}
	t.http2.Protocols = new(http.Protocols)
	t.http2.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := targetOf(r)
	if to == nil {
		return nil, errors.New("a request without a target")
	}
	use := t.http1
	if to.http2 {
		use = t.http2
	}
	var err error
	for i := range to.endpoints {
		try := r.Clone(r.Context())
		try.URL.Host = to.endpoints[(to.first+i)%len(to.endpoints)]
		if r.Body != nil && r.Body != http.NoBody {
			try.Body = io.NopCloser(r.Body) // a try that failed must not close it; the server does at the end
		}
		var response *http.Response
		if response, err = use.RoundTrip(try); err == nil {
			return response, nil
		}
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" || r.Context().Err() != nil {
			return nil, err
		}
	}
	return nil, err
}
