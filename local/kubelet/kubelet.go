// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet serves what the API server asks of a node: logs, commands in containers, forwarded ports and resource metrics. It
// also answers as metrics.k8s.io, so that HPA and `kubectl top` need no metrics server.
//
// Only a client certificate of the cluster's authority is let in: without that any pod could run commands in any other.
//
// Called by: cluster.
// Next: node.
package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/klog/v2"
	utilexec "k8s.io/utils/exec"

	"github.com/kserve-go/kserve-go/local/gate"
	"github.com/kserve-go/kserve-go/local/node"
	"github.com/kserve-go/kserve-go/local/runtime"
	"github.com/kserve-go/kserve-go/local/usage"
)

const (
	idleTimeout   = 4 * time.Hour
	createTimeout = 30 * time.Second
	headerTimeout = 10 * time.Second
)

// Options say what is served and with which files.
type Options struct {
	Node     *node.Node
	NodeName string
	Usage    *usage.Watcher
	Cert     string
	Key      string
	// CA signed the clients that may ask; FrontCA those that aggregate APIs.
	CA, FrontCA string
}

// Server is the node's HTTPS server.
type Server struct {
	Options
	http *http.Server
}

// New reads the certificates.
func New(o Options) (*Server, error) {
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return nil, fmt.Errorf("load node certificate: %w", err)
	}
	pool := x509.NewCertPool()
	for _, file := range []string{o.CA, o.FrontCA} {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read authority: %w", err)
		}
		pool.AppendCertsFromPEM(b)
	}
	s := &Server{Options: o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }) // a client that left
	mux.HandleFunc("GET /pods", s.pods)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.logs)
	for _, path := range []string{"/{namespace}/{pod}/{container}", "/{namespace}/{pod}/{uid}/{container}"} {
		mux.HandleFunc("/exec"+path, s.exec)
		mux.HandleFunc("/attach"+path, s.attach)
	}
	mux.HandleFunc("/portForward/{namespace}/{pod}", s.portForward)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", s.portForward)
	mux.HandleFunc("GET /metrics/resource", s.resourceMetrics)
	s.metricsAPI(mux)
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTimeout,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
			NextProtos: []string{"http/1.1"}, // streams are upgraded connections, which HTTP/2 has not
		},
	}
	return s, nil
}

// Run serves on l until ctx ends.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()
	if err := s.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the node's API: %w", err)
	}
	return nil
}

func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadRequest
	if errors.Is(err, node.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		code = http.StatusNotFound
	}
	http.Error(w, err.Error(), code)
}

func (s *Server) pods(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{}
	for _, p := range s.Node.Pods() {
		list.Items = append(list.Items, *p)
	}
	writeJSON(w, list)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		klog.V(2).InfoS("answer", "err", err)
	}
}

func (s *Server) logs(w http.ResponseWriter, r *http.Request) {
	o, err := logOptions(r)
	if err != nil {
		fail(w, err)
		return
	}
	out := &started{ResponseWriter: w}
	err = s.Node.Logs(r.Context(), r.PathValue("namespace"), r.PathValue("pod"), o, out)
	if err != nil && !out.begun {
		fail(w, err)
	}
}

// started remembers whether an error can still be answered as one.
type started struct {
	http.ResponseWriter
	begun bool
}

func (s *started) Write(p []byte) (int, error) {
	s.begun = true
	return s.ResponseWriter.Write(p)
}

func (s *started) Flush() {
	if !s.begun {
		return
	}
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		fail(w, err)
		return
	}
	e := &executor{node: s.Node, namespace: r.PathValue("namespace")}
	remotecommand.ServeExec(w, r, e, r.PathValue("pod"), r.PathValue("uid"), r.PathValue("container"), r.URL.Query()["command"], o, idleTimeout, createTimeout, remotecommand.SupportedStreamingProtocols)
}

type executor struct {
	node      *node.Node
	namespace string
}

// ExecInContainer is what the streaming library calls for a command.
func (e *executor) ExecInContainer(ctx context.Context, name, _, container string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error { //nolint:revive // the library's interface
	x := node.Exec{Command: cmd, Stdin: in}
	if out != nil {
		x.Stdout = out
	}
	if errOut != nil {
		x.Stderr = errOut
	}
	var err error
	if tty {
		err = withTerminal(in, out, resize, func(t *os.File) error {
			x.Terminal = t
			return e.node.Exec(ctx, e.namespace, name, container, x)
		})
	} else {
		err = e.node.Exec(ctx, e.namespace, name, container, x)
	}
	var exit *runtime.ExitError
	if errors.As(err, &exit) {
		return utilexec.CodeExitError{Err: err, Code: exit.Code}
	}
	var start *runtime.StartError
	if errors.As(err, &start) && runtime.IsMissing(err) {
		const notFound = 127
		if errOut != nil {
			_, _ = fmt.Fprintln(errOut, start.Message) // a client that left
		}
		return utilexec.CodeExitError{Err: err, Code: notFound}
	}
	return err
}

// attach follows what the container prints from now on, and gives it input.
func (s *Server) attach(w http.ResponseWriter, r *http.Request) {
	o, err := remotecommand.NewOptions(r)
	if err != nil {
		fail(w, err)
		return
	}
	a := &attacher{node: s.Node, namespace: r.PathValue("namespace")}
	remotecommand.ServeAttach(w, r, a, r.PathValue("pod"), r.PathValue("uid"), r.PathValue("container"), o, idleTimeout, createTimeout, remotecommand.SupportedStreamingProtocols)
}

type attacher struct {
	node      *node.Node
	namespace string
}

// AttachContainer is what the streaming library calls.
func (a *attacher) AttachContainer(ctx context.Context, name, _, container string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error { //nolint:revive // the library's interface
	if out == nil {
		return a.node.Attach(ctx, a.namespace, name, container, in, nil)
	}
	return a.node.Attach(ctx, a.namespace, name, container, in, out)
}

func (s *Server) portForward(w http.ResponseWriter, r *http.Request) {
	o, err := portforward.NewV4Options(r)
	if err != nil {
		fail(w, err)
		return
	}
	f := &forwarder{node: s.Node, namespace: r.PathValue("namespace")}
	portforward.ServePortForward(w, r, f, r.PathValue("pod"), r.PathValue("uid"), o, idleTimeout, createTimeout, portforward.SupportedProtocols)
}

type forwarder struct {
	node      *node.Node
	namespace string
}

// PortForward is what the streaming library calls for a connection.
func (f *forwarder) PortForward(ctx context.Context, name, _ string, port int32, stream io.ReadWriteCloser) error {
	c, err := f.node.Dial(ctx, f.namespace, name, port)
	if err != nil {
		return err
	}
	gate.Join(c, streamConn{stream})
	return nil
}

// streamConn is a stream as a connection, as far as copying needs it.
type streamConn struct{ io.ReadWriteCloser }

func (streamConn) LocalAddr() net.Addr              { return nil }
func (streamConn) RemoteAddr() net.Addr             { return nil }
func (streamConn) SetDeadline(time.Time) error      { return nil }
func (streamConn) SetReadDeadline(time.Time) error  { return nil }
func (streamConn) SetWriteDeadline(time.Time) error { return nil }
