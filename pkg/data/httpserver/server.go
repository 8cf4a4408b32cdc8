// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpserver opens ports, serves HTTP/1.1, cleartext HTTP/2 and gRPC on them, and drains without losing a request.
//
// Called by: data/serve, data/route, data/sidecar.
// Next: their handlers.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
)

// Options are what a server's owner sets. The zero value of a duration or size means its default.
type Options struct {
	// HTTP and GRPC are the ports. An endpoint without an address is not opened.
	HTTP, GRPC Endpoint
	// HTTPSocket and GRPCSocket are Unix sockets beside them, always in cleartext: who may reach the file may speak.
	HTTPSocket, GRPCSocket Endpoint
	// TLS secures the ports.
	TLS TLS
	// ReadHeaderTimeout bounds the time of a TLS handshake, and of a request header from its first byte, or from the connection, to its end.
	// Default DefaultReadHeader.
	ReadHeaderTimeout time.Duration
	// IdleTimeout closes a connection with no request on it. Default 65 s.
	IdleTimeout time.Duration
	// WriteStall is how long a client may take nothing of its answer, and how long it may take for each Fair bytes of it. Default 30 s.
	WriteStall time.Duration
	// MaxHeaderBytes bounds a request header. Default 64 KiB.
	MaxHeaderBytes int
	// MaxConnections bounds the connections that are open at once, of all ports and sockets together. One more is accepted and closed, so that
	// its client knows, and may try elsewhere. Default DefaultMaxConnections.
	MaxConnections int
	// DrainDelay is how long new requests are still answered after the signal to stop, while readiness is already false:
	// the time that others need to notice. Zero means none.
	DrainDelay time.Duration
	// DrainTimeout is how long running requests may take to finish after that. Default 30 s.
	DrainTimeout time.Duration
}

// Defaults of Options.
const (
	DefaultReadHeader     = 10 * time.Second
	DefaultMaxConnections = 4096
)

// Endpoint is one port to listen on.
type Endpoint struct {
	// Addr is host:port; an empty host is every interface, port 0 any free one. For a socket it is the file's path.
	Addr string
	// Flag is the flag that chose the port, for the message when it is taken.
	Flag string
}

// BindFlags adds the timeouts and limits; the owner adds its own port flags.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.ReadHeaderTimeout, "read_header_timeout", DefaultReadHeader, "longest time a request header may take to arrive")
	fs.DurationVar(&o.WriteStall, "write_stall", DefaultStall, "give a client up when it takes less than 64 KiB of its answer in this time")
	fs.IntVar(&o.MaxHeaderBytes, "max_header_bytes", 64<<10, "largest request header accepted")
	fs.IntVar(&o.MaxConnections, "max_connections", DefaultMaxConnections, "connections that are open at once, of all ports and sockets together; more are closed")
	fs.DurationVar(&o.DrainDelay, "drain_delay", o.DrainDelay,
		"after the signal to stop, keep answering new requests this long while reporting not ready")
	fs.DurationVar(&o.DrainTimeout, "drain_timeout", 30*time.Second, "then let running requests finish for this long")
}

// GRPC is the part of a gRPC server that this package drives: *grpc.Server is one.
type GRPC interface {
	Serve(listener net.Listener) error
	GracefulStop()
	Stop()
}

// ErrPortTaken says that a port cannot be opened because something else listens there.
var ErrPortTaken = errors.New("another process has this port")

// ErrCut says that a drain ended with requests still running, and that they were cut off.
var ErrCut = errors.New("drain timed out: requests were still running and were cut off")

// Fatal is a cause: when the context of Run is cancelled with it, Run ends without DrainDelay and returns Err.
type Fatal struct{ Err error } //nolint:errname // a cause, not what Run returns

func (f *Fatal) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Fatal) Unwrap() error { return f.Err }

// Server serves one HTTP handler and optionally one gRPC server.
type Server struct {
	opts       Options
	log        *zap.Logger
	http       *http.Server
	grpc       GRPC
	complaints complaints
	conns      conns
	places     places
	draining   atomic.Bool
	onDrain    []func()

	mu       sync.Mutex
	secrets  *secrets // nil for cleartext
	opened   bool
	httpLis  []net.Listener // the port, then the socket; a nil one is not served
	grpcLis  []net.Listener
	httpDone chan struct{} // closed when none of them is served any more
	grpcDone chan struct{}
}

// New makes a server; it opens nothing. grpc may be nil.
func New(opts Options, handler http.Handler, grpc GRPC, log *zap.Logger) *Server {
	orDefault(&opts.ReadHeaderTimeout, DefaultReadHeader)
	orDefault(&opts.IdleTimeout, 65*time.Second)
	orDefault(&opts.WriteStall, DefaultStall)
	orDefault(&opts.DrainTimeout, 30*time.Second)
	orDefault(&opts.MaxHeaderBytes, 64<<10)
	if opts.MaxConnections <= 0 { // nobody could connect
		opts.MaxConnections = DefaultMaxConnections
	}
	s := &Server{opts: opts, log: log, grpc: grpc}
	s.places = places{most: int64(opts.MaxConnections), refused: s.complaints.crowded}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	s.complaints.log = log.Named("http")
	s.http = &http.Server{
		Handler:           s.around(handler),
		ReadHeaderTimeout: opts.ReadHeaderTimeout,
		IdleTimeout:       opts.IdleTimeout,
		MaxHeaderBytes:    opts.MaxHeaderBytes,
		Protocols:         &protocols,
		ConnState:         s.conns.changed,
		// A connection of HTTP/2 whose client has gone is found out by a ping.
		HTTP2: &http.HTTP2Config{SendPingTimeout: opts.WriteStall},
		// What net/http has to say (a listener out of file descriptors, a header written twice) is for the operator.
		ErrorLog: stdlog.New(&s.complaints, "", 0),
	}
	return s
}

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// OnDrain adds a function that is called once, when draining begins. Call it before Run.
func (s *Server) OnDrain(f func()) { s.onDrain = append(s.onDrain, f) }

// Draining reports whether the server has been told to stop.
func (s *Server) Draining() bool { return s.draining.Load() }

// linger is how long the rest of a body is waited for on a connection that is to be closed: reading it lets the client read the answer.
const linger = 500 * time.Millisecond

// around asks clients to give up their kept-alive connections with the answer they get while draining, so that none is closed
// under a request on its way. And it bounds how long net/http waits, after the answer, for a body that the handler did not read.
func (s *Server) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		if r.ProtoMajor == 2 {
			// The stream's own: a client may keep its connection alive and take nothing of one answer.
			stall := s.opts.WriteStall
			patient := &patientWriter{ResponseWriter: w, control: http.NewResponseController(w), patience: patience{stall: stall, left: stall}}
			defer func() { patient.begin(time.Now()) }() // for what net/http writes when the handler has returned
			w = patient
		}
		next.ServeHTTP(w, r)
		if r.ContentLength != 0 && r.Body != http.NoBody {
			wait := s.opts.ReadHeaderTimeout
			if len(w.Header()["Connection"]) > 0 {
				wait = min(wait, linger)
			}
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait))
		}
	})
}

// Listen opens the ports. Run does it too where it was not called; a caller that wants to know the addresses first calls it.
func (s *Server) Listen(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return nil
	}
	if s.secrets == nil && s.opts.TLS.on() {
		var err error
		if s.secrets, err = newSecrets(s.opts.TLS, s.log); err != nil {
			return err
		}
		s.http.TLSConfig = s.secrets.config("h2", "http/1.1")
	}
	err := s.listenAll(ctx)
	if err != nil {
		for _, l := range slices.Concat(s.httpLis, s.grpcLis) {
			if l != nil {
				_ = l.Close()
			}
		}
		s.httpLis, s.grpcLis = nil, nil
	}
	s.opened = err == nil
	return err
}

func (s *Server) listenAll(ctx context.Context) error {
	add := func(to *[]net.Listener, what string, e Endpoint) error {
		if e.Addr == "" {
			*to = append(*to, nil)
			return nil
		}
		l, err := s.listen(ctx, what, e)
		if err == nil {
			*to = append(*to, l)
		}
		return err
	}
	socket := func(e Endpoint) Endpoint {
		if e.Addr != "" {
			e.Addr = unixPrefix + e.Addr
		}
		return e
	}
	if err := add(&s.httpLis, "HTTP", s.opts.HTTP); err != nil {
		return err
	}
	if err := add(&s.httpLis, "HTTP", socket(s.opts.HTTPSocket)); err != nil {
		return err
	}
	if s.grpc == nil {
		return nil
	}
	if err := add(&s.grpcLis, "gRPC", s.opts.GRPC); err != nil {
		return err
	}
	if port := s.grpcLis[0]; port != nil && s.opts.TLS.GRPC {
		s.grpcLis[0] = &secureListener{Listener: port, config: s.secrets.config("h2"), complaints: &s.complaints}
	}
	return add(&s.grpcLis, "gRPC", socket(s.opts.GRPCSocket))
}

func (s *Server) listen(ctx context.Context, what string, e Endpoint) (net.Listener, error) {
	l, err := open(ctx, e.Addr)
	if err == nil {
		return newListener(l, s.opts.WriteStall, &s.places), nil
	}
	hint := ""
	if e.Flag != "" {
		hint = " or choose another with " + e.Flag
	}
	var dns *net.DNSError
	path, isSocket := strings.CutPrefix(e.Addr, unixPrefix)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen for %s on %s: %w: stop it%s", what, e.Addr, ErrPortTaken, hint)
	case isSocket:
		return nil, fmt.Errorf("listen for %s on the socket %s: %w", what, path, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("listen for %s on %s: not allowed to open this port: take one above 1023%s", what, e.Addr, hint)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns):
		return nil, fmt.Errorf("listen for %s on %s: this machine has no such address", what, e.Addr)
	default:
		return nil, fmt.Errorf("listen for %s on %s: %w", what, e.Addr, err)
	}
}

// HTTPAddr is the address of the HTTP port, nil before Listen or without one.
func (s *Server) HTTPAddr() net.Addr { return s.addr(&s.httpLis) }

// GRPCAddr is the address of the gRPC port, nil before Listen or without one.
func (s *Server) GRPCAddr() net.Addr { return s.addr(&s.grpcLis) }

func (s *Server) addr(all *[]net.Listener) net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*all) == 0 || (*all)[0] == nil {
		return nil
	}
	return (*all)[0].Addr()
}

// Run serves until ctx ends, then drains: readiness turns false at once, new requests are answered for DrainDelay more, then the
// ports close and running requests get DrainTimeout to finish. It returns nil after a clean drain, ErrCut after one that was not,
// and any other error when a port cannot be opened or stops working. Run is called once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Listen(ctx); err != nil {
		return err
	}
	failed := make(chan error, len(s.httpLis)+len(s.grpcLis))
	s.httpDone = s.serve("HTTP", s.httpLis, failed, func(l net.Listener) error {
		if s.secrets != nil && l == s.httpLis[0] {
			return s.http.ServeTLS(l, "", "")
		}
		return s.http.Serve(l)
	})
	s.grpcDone = s.serve("gRPC", s.grpcLis, failed, func(l net.Listener) error { return s.grpc.Serve(l) })
	var cause error
	select {
	case <-ctx.Done():
		var fatal *Fatal
		if errors.As(context.Cause(ctx), &fatal) {
			cause = fatal.Err
		}
	case cause = <-failed:
	}
	if err := s.drain(context.WithoutCancel(ctx), cause == nil); cause == nil {
		return err
	}
	return cause
}

// serve serves on each of the listeners; the channel is closed when none is served any more, and nil when there is none.
func (s *Server) serve(what string, on []net.Listener, failed chan<- error, serve func(net.Listener) error) chan struct{} {
	var all sync.WaitGroup
	served := 0
	for _, l := range on {
		if l == nil {
			continue
		}
		served++
		all.Go(func() {
			if err := serve(l); err != nil && !s.draining.Load() {
				failed <- fmt.Errorf("serve %s: %w", what, err)
			}
		})
	}
	if served == 0 {
		return nil
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	return done
}

func (s *Server) drain(ctx context.Context, graceful bool) error {
	s.draining.Store(true)
	for _, f := range s.onDrain {
		f()
	}
	if graceful && s.opts.DrainDelay > 0 {
		s.log.Info("draining: not ready any more, still answering", zap.Duration("for", s.opts.DrainDelay))
		time.Sleep(s.opts.DrainDelay)
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.DrainTimeout)
	defer cancel()
	results := make(chan error, 2)
	parts := 0
	if s.httpDone != nil {
		parts++
		go func() { results <- s.drainHTTP(ctx) }()
	}
	if s.grpcDone != nil {
		parts++
		go func() { results <- s.drainGRPC(ctx) }()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-results)
	}
	if errors.Is(err, ErrCut) {
		return ErrCut
	}
	return err
}

// drainHTTP stops listening, lets every connection that has a request, or is new and may still send one, finish, and only then calls
// Shutdown: from that moment on net/http drops requests that it reads.
func (s *Server) drainHTTP(ctx context.Context) error {
	for _, l := range s.httpLis {
		if l != nil {
			_ = l.Close()
		}
	}
	<-s.httpDone
	s.conns.wait(ctx)
	if err := s.http.Shutdown(ctx); err == nil {
		return nil
	}
	_ = s.http.Close()
	return ErrCut
}

func (s *Server) drainGRPC(ctx context.Context) error {
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
		<-s.grpcDone
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-stopped
		<-s.grpcDone
		return ErrCut
	}
}
