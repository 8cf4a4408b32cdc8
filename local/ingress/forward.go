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

	"github.com/kserve-go/kserve-go/local/proxy"
)

const (
	dialTimeout = 2 * time.Second
	idleTimeout = 30 * time.Second
	idlePerHost = 100

	// Codes of gRPC, which tells of errors in a header.
	grpcUnimplemented = 12
	grpcUnavailable   = 14
)

// target is where a request goes: endpoints to try in this order.
type target struct {
	endpoints []string
	http2     bool
}

type targetKey struct{}

func (g *Gateway) newHandler() http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "endpoint" // the transport puts in the address
			r.Out.URL.RawQuery = r.In.URL.RawQuery                // as it came, also what cannot be parsed
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport:      newTransport(),
		FlushInterval:  -1,
		ModifyResponse: statusToTrailer,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, context.Canceled) {
				w.WriteHeader(499) // the client went away; nobody reads this
				return
			}
			klog.V(1).InfoS("backend did not answer", "host", r.Host, "path", r.URL.Path, "err", err)
			refuse(w, r, http.StatusBadGateway, fmt.Sprintf("the service behind %s did not answer: %v", r.Host, err))
		},
		ErrorLog: log.New(io.Discard, "", 0), // the error handler tells
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, status, why := g.target(r)
		if t == nil {
			refuse(w, r, status, why)
			return
		}
		forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), targetKey{}, t)))
	})
}

// target looks up where a request goes, or says why it can go nowhere.
func (g *Gateway) target(r *http.Request) (t *target, status int, why string) {
	to, found, knownHost := g.table.Load().find(r.Host, r.URL.Path)
	if !found {
		if knownHost {
			return nil, http.StatusNotFound, fmt.Sprintf("no Ingress of host %s has path %s", bare(r.Host), r.URL.Path)
		}
		return nil, http.StatusNotFound, fmt.Sprintf("no Ingress has host %s", bare(r.Host))
	}
	s, err := g.services.Services(to.namespace).Get(to.service)
	if err != nil {
		return nil, http.StatusServiceUnavailable, fmt.Sprintf("host %s leads to Service %s/%s, which does not exist", bare(r.Host), to.namespace, to.service)
	}
	port, ok := portOf(s, to.port, isGRPC(r))
	if !ok {
		return nil, http.StatusServiceUnavailable, fmt.Sprintf("host %s leads to a port of Service %s/%s that it does not have", bare(r.Host), to.namespace, to.service)
	}
	endpoints := proxy.Targets(g.slices, s, port.Name)
	if len(endpoints) == 0 {
		return nil, http.StatusServiceUnavailable, fmt.Sprintf("Service %s/%s has no ready endpoint", to.namespace, to.service)
	}
	rand.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })
	return &target{endpoints: endpoints, http2: speaksHTTP2(port) || isGRPC(r)}, 0, ""
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
		if status == http.StatusNotFound {
			code = grpcUnimplemented
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
func statusToTrailer(r *http.Response) error {
	if r.ProtoMajor != 2 || r.Header.Get("Grpc-Status") == "" {
		return nil
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
	return nil
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
	to, ok := r.Context().Value(targetKey{}).(*target)
	if !ok {
		return nil, errors.New("a request without a target")
	}
	use := t.http1
	if to.http2 {
		use = t.http2
	}
	var err error
	for _, endpoint := range to.endpoints {
		try := r.Clone(r.Context())
		try.URL.Host = endpoint
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
