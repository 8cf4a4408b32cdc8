// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// dial makes the connection, which is opened by the first call.
func (o *Options) dial(trust *tls.Config) (*grpc.ClientConn, error) {
	target, secure, err := o.target()
	if err != nil {
		return nil, err
	}
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(trust)
	}
	if o.socket() == "" {
		target = "dns:///" + target
	}
	conn, err := grpc.NewClient(target,
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(int(min(o.MaxResponse, math.MaxInt32))), grpc.MaxCallSendMsgSize(math.MaxInt32),
		),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare connection to %s: %w", target, err)
	}
	return conn, nil
}

// target is host:port of a URL whose scheme may be missing, or the URL of a socket.
func (o *Options) target() (target string, secure bool, err error) {
	if path := o.socket(); path != "" {
		return "unix://" + path, false, nil
	}
	host := strings.TrimRight(o.URL, "/")
	port := "80"
	if scheme, rest, ok := strings.Cut(host, "://"); ok {
		switch scheme {
		case "http", "grpc":
		case "https", "grpcs":
			secure, port = true, "443"
		default:
			return "", false, fmt.Errorf("%q: expected http://, https:// or unix:///path, or no scheme", o.URL)
		}
		host = rest
	}
	if host == "" || strings.ContainsAny(host, "/?#@ ") {
		return "", false, fmt.Errorf("%q: expected host or host:port for gRPC", o.URL)
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	return host, secure, nil
}

func (c *Client) infer(ctx context.Context, req *tensor.Request) (*tensor.Response, error) {
	msg, err := v2.EncodeRequest(req)
	if err != nil {
		return nil, err
	}
	out, err := outgoing(ctx)
	if err != nil {
		return nil, err
	}
	var said words
	answer, err := inferencev2.NewGRPCInferenceServiceClient(c.conn).ModelInfer(out, msg, said.options()...)
	if into := answered(ctx); into != nil {
		*into = headerIn(said.header, said.trailer)
	}
	if err != nil {
		// Without a word of the server's the error is this side's. Then nobody knows what the server did of what was sent to it.
		if status.Code(err) == codes.Unavailable && said.server.Addr != nil && !said.any() {
			return nil, unanswered(ctx, c.conn.Target(), err)
		}
		return nil, called(ctx, c.conn.Target(), err, said.trailer.Get("retry-after"))
	}
	resp, err := new(v2.Decoder).DecodeResponseMessage(answer)
	if err != nil {
		return nil, unusable(c.conn.Target(), err)
	}
	return resp, nil
}

// words are what a server says around the answer of a call. The library makes some errors itself, with the codes of servers.
type words struct {
	header, trailer metadata.MD
	server          peer.Peer // without an address where the call did not reach it
}

func (w *words) options() []grpc.CallOption {
	return []grpc.CallOption{grpc.Header(&w.header), grpc.Trailer(&w.trailer), grpc.Peer(&w.server)}
}

// any says whether the server itself has answered.
func (w *words) any() bool { return len(w.header)+len(w.trailer) > 0 }

// headerIn is the metadata of a call as a header.
func headerIn(parts ...metadata.MD) http.Header {
	h := http.Header{}
	for _, md := range parts {
		for name, values := range md {
			name = http.CanonicalHeaderKey(name)
			h[name] = append(h[name], values...)
		}
	}
	return h
}
