// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// Clients of gRPC that have gone are found out by pings: after this time without a word, and that time without an answer.
const (
	pingAfter = time.Minute
	pingWait  = 20 * time.Second
)

// minPing is how often a client may ping. Balancers and clients that keep idle connections open do it every ten seconds or more.
const minPing = 5 * time.Second

// How much of a request may come before gRPC asks for more: of one call, whose message gets more once its length is known, and of a connection.
const (
	streamWindow = 1 << 20
	connWindow   = 4 << 20
)

// wayIn are the options of a gRPC server that are about its connections.
func (s *Server) wayIn() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(&doorman{s}),
		// Goroutines that have answered a call answer the next: their stacks have grown already. When all are busy, a call gets its own.
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))),
		// Windows that do not change need no measuring: gRPC would ping the client with each request to learn how wide they might be.
		grpc.StaticStreamWindowSize(streamWindow), grpc.StaticConnWindowSize(connWindow),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingWait}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	}
}

// doorman are credentials that make each connection a caller. One that the listener has secured has its handshake still to do, in gRPC's own
// time, and tells who the peer is.
type doorman struct{ server *Server }

func (d *doorman) caller(conn net.Conn) *caller {
	o := &d.server.opts
	c := newCaller(conn, o.BodyStall, o.Server.WriteStall, d.server.messages)
	c.full = func() {
		d.server.log.Warn("a gRPC connection is closed: the requests that are arriving take more memory than --max_bodies_bytes allows",
			zap.Stringer("client", conn.RemoteAddr()))
	}
	return c
}

// ServerHandshake implements credentials.TransportCredentials.
func (d *doorman) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, ok := conn.(interface {
		HandshakeContext(ctx context.Context) error
		ConnectionState() tls.ConnectionState
	})
	if !ok {
		return d.caller(conn), nil, nil
	}
	// The connection has a deadline: grpc.ConnectionTimeout.
	if err := secure.HandshakeContext(context.Background()); err != nil {
		return nil, nil, err
	}
	return d.caller(conn), credentials.TLSInfo{
		State:          secure.ConnectionState(),
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
	}, nil
}

// ClientHandshake implements credentials.TransportCredentials; a server has no use for it.
func (*doorman) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, nil, credentials.ErrConnDispatched
}

// Info implements credentials.TransportCredentials.
func (*doorman) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "tls"}
}

// Clone implements credentials.TransportCredentials.
func (d *doorman) Clone() credentials.TransportCredentials { return d }

// OverrideServerName implements credentials.TransportCredentials.
func (*doorman) OverrideServerName(string) error { return nil }
