// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

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
	conn, err := grpc.NewClient("dns:///"+target,
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

// target is host:port of a URL whose scheme may be missing.
func (o *Options) target() (target string, secure bool, err error) {
	host := strings.TrimRight(o.URL, "/")
	port := "80"
	if scheme, rest, ok := strings.Cut(host, "://"); ok {
		switch scheme {
		case "http", "grpc":
		case "https", "grpcs":
			secure, port = true, "443"
		default:
			return "", false, fmt.Errorf("%q: expected http:// or https://, or no scheme", o.URL)
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

// outgoing is ctx with the call's headers as metadata.
func outgoing(ctx context.Context) context.Context {
	md := metadata.Pairs("request_type", "grpc_v2", "response_type", "grpc_v2")
	for name, values := range headerOf(ctx) {
		name = strings.ToLower(name)
		switch name {
		case "host", "content-type", "content-length", "connection", "te", "transfer-encoding", "user-agent":
		default:
			if !strings.HasPrefix(name, "grpc-") {
				md.Append(name, values...)
			}
		}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func (c *Client) infer(ctx context.Context, req *tensor.Request) (*tensor.Response, error) {
	msg, err := v2.EncodeRequest(req)
	if err != nil {
		return nil, err
	}
	var trailer metadata.MD
	answer, err := inferencev2.NewGRPCInferenceServiceClient(c.conn).ModelInfer(outgoing(ctx), msg, grpc.Trailer(&trailer))
	if err != nil {
		var after time.Duration
		if asked := trailer.Get("retry-after"); len(asked) > 0 {
			after = seconds(asked[0])
		}
		return nil, called(ctx, c.conn.Target(), err, after)
	}
	resp, err := new(v2.Decoder).DecodeResponseMessage(answer)
	if err != nil {
		return nil, unusable(c.conn.Target(), err)
	}
	return resp, nil
}
