// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
	"github.com/kserve-go/kserve-go/pkg/telemetry/tracing"
)

// Flags of this server's own.
const (
	flagClientCAs  = "ssl_ca_certs"
	flagClientAuth = "ssl_client_auth"
	flagMinTLS     = "ssl_min_version"
	flagSecureGRPC = "secure_grpc_server"
	flagHTTPSocket = "http_socket"
	flagGRPCSocket = "grpc_socket"
	flagAccessLog  = "access_log"
	flagProfiles   = "pprof_address"
)

// edge is the part of the command line that is about the way in, and about watching it.
type edge struct {
	tls                    httpserver.TLS
	secureGRPC             strbool
	httpSocket, grpcSocket string
	accessLog              strbool
	accessFormat, profiles string
}

// fromEnvironment sets the defaults that the environment has.
func (e *edge) fromEnvironment(getenv func(string) string) {
	e.tls.CertFile, e.tls.KeyFile = getenv(handoff.EnvTLSCertFile), getenv(handoff.EnvTLSKeyFile)
}

func (e *edge) bindFlags(fs *pflag.FlagSet) {
	fs.StringVar(&e.tls.CertFile, handoff.FlagSSLCertFile, e.tls.CertFile,
		"certificate file: REST becomes HTTPS, on port "+strconv.Itoa(handoff.HTTPSPort)+" unless --"+handoff.FlagHTTPPort+" is given")
	fs.StringVar(&e.tls.KeyFile, handoff.FlagSSLKeyFile, e.tls.KeyFile, "the certificate's key file")
	fs.StringVar(&e.tls.ClientCAFile, flagClientCAs, "", "file of the authorities whose clients are let in; empty: clients show no certificate")
	fs.StringVar((*string)(&e.tls.ClientAuth), flagClientAuth, "", "what is asked of clients with --"+flagClientCAs+": required, the default, or optional")
	fs.StringVar(&e.tls.MinVersion, flagMinTLS, "1.2", "oldest TLS version spoken: 1.2 or 1.3")
	fs.Var(&e.secureGRPC, flagSecureGRPC, "secure the gRPC port with the same files")
	fs.StringVar(&e.httpSocket, flagHTTPSocket, "", "path of a Unix socket that serves REST beside the port, in cleartext")
	fs.Var(&e.accessLog, flagAccessLog, "log a line for each request")
	fs.StringVar(&e.accessFormat, handoff.FlagAccessLogFormat, "", "any text turns --"+flagAccessLog+" on; the lines have the fields and the format of the log")
	fs.StringVar(&e.profiles, flagProfiles, "", "serve Go's profiles here: host:port, or a port of the loopback interface")
	fs.StringVar(&e.grpcSocket, flagGRPCSocket, "", "path of a Unix socket that serves gRPC beside the port, in cleartext")
}

func (e *edge) validate() error {
	e.tls.GRPC = bool(e.secureGRPC)
	switch {
	case (e.tls.CertFile == "") != (e.tls.KeyFile == ""):
		return fmt.Errorf("--%s and --%s go together", handoff.FlagSSLCertFile, handoff.FlagSSLKeyFile)
	case e.tls.GRPC && e.tls.CertFile == "":
		return fmt.Errorf("--%s needs --%s and --%s", flagSecureGRPC, handoff.FlagSSLCertFile, handoff.FlagSSLKeyFile)
	case e.tls.ClientCAFile != "" && e.tls.CertFile == "":
		return fmt.Errorf("--%s needs --%s and --%s", flagClientCAs, handoff.FlagSSLCertFile, handoff.FlagSSLKeyFile)
	case e.tls.ClientAuth != "" && e.tls.ClientCAFile == "":
		return fmt.Errorf("--%s needs --%s", flagClientAuth, flagClientCAs)
	}
	if err := e.tls.Validate(); err != nil {
		flag := flagClientAuth
		if e.tls.MinVersion != "1.2" && e.tls.MinVersion != "1.3" {
			flag = flagMinTLS
		}
		return fmt.Errorf("argument --%s: %w", flag, err)
	}
	return nil
}

func (e *edge) apply(o *Options, grpc bool) {
	o.Server.TLS = e.tls
	o.Server.HTTPSocket = httpserver.Endpoint{Addr: e.httpSocket, Flag: "--" + flagHTTPSocket}
	if grpc {
		o.Server.GRPCSocket = httpserver.Endpoint{Addr: e.grpcSocket, Flag: "--" + flagGRPCSocket}
	}
}

// open makes what the server writes to and is watched by: the access log, traces, profiles. What cannot be had is an error where a flag asked
// for it; traces, which others configure for many servers at once, are then left out.
func (e *edge) open(ctx context.Context, c *Command, o *Options, log telemetry.LogOptions) (func(), error) {
	var stops []func()
	stop := func() {
		for _, f := range slices.Backward(stops) {
			f()
		}
	}
	if e.accessLog || e.accessFormat != "" {
		access, flush, err := telemetry.NewBufferedLogger(log, c.Stderr)
		if err != nil {
			return stop, err
		}
		o.Access = access.Named("access")
		stops = append(stops, flush)
	}
	if e.profiles != "" {
		_, end, err := profiles(ctx, e.profiles, o.Log)
		if err != nil {
			return stop, err
		}
		stops = append(stops, end)
	}
	tracer, end, err := tracing.Open(ctx, c.Name, c.Getenv, o.Log)
	if err != nil {
		o.Log.Error("no traces are made", zap.Error(err))
	}
	o.Tracer = tracer
	return func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		end(last)
		stop()
	}, nil
}
