// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
)

// exchange is what a model written in Go may see of the request besides its tensors. Models of engines see nothing, and their requests
// pay nothing.
type exchange struct {
	request, response http.Header
	call              bool // over gRPC: request is made of the metadata when somebody asks
	timing            *timing
}

type exchangeKey struct{}

// exchanged is ctx with x, where the model is written in Go.
func exchanged(ctx context.Context, m *repository.Loaded, x exchange) context.Context {
	if !m.Custom {
		return ctx
	}
	kept := x // only here, so that x of an engine's request costs nothing
	return context.WithValue(ctx, exchangeKey{}, &kept)
}

// exchangedCall is exchanged of a gRPC call.
func exchangedCall(ctx context.Context, m *repository.Loaded, t *timing) context.Context {
	if !m.Custom {
		return ctx
	}
	return exchanged(ctx, m, exchange{call: true, timing: t})
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestHeader is the header of the request that a model answers: HTTP's, or the metadata of a gRPC call. It must not be changed.
// It is empty outside of a request.
func RequestHeader(ctx context.Context) http.Header {
	x := exchangeOf(ctx)
	if x == nil {
		return http.Header{}
	}
	if x.request == nil && x.call {
		x.request = http.Header{}
		md, _ := metadata.FromIncomingContext(ctx)
		for name, values := range md {
			if !strings.HasPrefix(name, ":") {
				x.request[http.CanonicalHeaderKey(name)] = values
			}
		}
	}
	return x.request
}

// SetResponseHeader sets a header of the answer, or metadata of a gRPC call's. The length and the type of the body are the server's own.
func SetResponseHeader(ctx context.Context, name, value string) {
	x := exchangeOf(ctx)
	switch canonical := http.CanonicalHeaderKey(name); {
	case x == nil || canonical == "Content-Length" || canonical == "Content-Type" || canonical == "Transfer-Encoding":
	case x.call:
		_ = grpc.SetHeader(ctx, metadata.Pairs(strings.ToLower(name), value)) // too late, when the call has ended: nobody is there to be told
	default:
		x.response.Set(name, value)
	}
}
