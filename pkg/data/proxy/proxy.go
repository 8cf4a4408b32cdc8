// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy forwards requests to one back end: it streams both ways, buffers nothing, keeps trailers and passes gRPC through.
//
// Called by: data/sidecar.
// Next: data/serve, the server behind it.
package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Options say where requests go.
type Options struct {
	// Target is the back end's host:port; requests reach it in cleartext.
	Target string
	// IdleConns is how many idle connections are kept; 0 means 1000.
	IdleConns int
	// DialTimeout bounds the connection to the back end; 0 means 5 s.
	DialTimeout time.Duration
	Log         *zap.Logger
}

// New returns a handler that forwards every request to the target. HTTP/2 requests go on as cleartext HTTP/2, so that
// gRPC passes with its trailers; others as HTTP/1.1. The inbound Host is kept and X-Forwarded-For gets the peer appended.
// A back end that cannot be reached is a 502 whose body is the error's text.
func New(o Options) http.Handler {
	if o.IdleConns == 0 {
		o.IdleConns = 1000
	}
	if o.DialTimeout == 0 {
		o.DialTimeout = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	target := &url.URL{Scheme: "http", Host: o.Target}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
			keepForwarded(r)
		},
		Transport:      newTransport(o),
		ModifyResponse: statusToTrailer,
		FlushInterval:  -1, // tokens of a stream reach the client as they come
		BufferPool:     &bufferPool{},
		ErrorHandler:   errorHandler(o.Log),
		ErrorLog:       log.New(io.Discard, "", 0), // the error handler logs, with the request's fields
	}
}

// statusToTrailer moves the status of a gRPC answer without messages, which travels alone in the header block, to where it
// stays valid when the header is flushed before the end of the stream is known: the trailer.
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

// keepForwarded lets a proxy before us keep its word on the scheme and host, which SetXForwarded would replace.
func keepForwarded(r *httputil.ProxyRequest) {
	for _, name := range []string{"Forwarded", "X-Forwarded-Proto", "X-Forwarded-Host"} {
		if v := r.In.Header[name]; v != nil {
			r.Out.Header[name] = v
		}
	}
}

func errorHandler(log *zap.Logger) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		if errors.Is(err, context.Canceled) {
			// The client went away; nobody reads an answer. 499 is what access logs of other proxies show.
			w.WriteHeader(499)
			return
		}
		log.Warn("back end did not answer", zap.String("path", r.URL.Path), zap.Error(err))
		status := http.StatusBadGateway
		if errors.Is(err, context.DeadlineExceeded) {
			status = http.StatusGatewayTimeout
		}
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
	}
}

// transport chooses by the inbound protocol: what came as HTTP/2 may be gRPC and must leave as HTTP/2.
type transport struct {
	http1, http2 *http.Transport
}

func newTransport(o Options) *transport {
	dialer := &net.Dialer{Timeout: o.DialTimeout, KeepAlive: 30 * time.Second}
	plain := func() *http.Transport {
		return &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConns:        o.IdleConns,
			MaxIdleConnsPerHost: o.IdleConns,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true, // bytes pass as they are
			WriteBufferSize:     16 << 10,
			ReadBufferSize:      16 << 10,
		}
	}
	t := &transport{http1: plain(), http2: plain()}
	t.http2.Protocols = new(http.Protocols)
	t.http2.Protocols.SetUnencryptedHTTP2(true)
	return t
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ProtoMajor == 2 {
		return t.http2.RoundTrip(r)
	}
	return t.http1.RoundTrip(r)
}

type bufferPool struct{ pool sync.Pool }

func (p *bufferPool) Get() []byte {
	if b, ok := p.pool.Get().(*[]byte); ok {
		return *b
	}
	return make([]byte, 32<<10)
}

func (p *bufferPool) Put(b []byte) { p.pool.Put(&b) }
