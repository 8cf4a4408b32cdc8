// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/serve/batch"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// exchange is what a model written in Go may see of the request besides its tensors. Models of engines see nothing, and their requests
// pay nothing.
type exchange struct {
	request, response http.Header
	call              bool // over gRPC: request is made of the metadata when somebody asks
	timing            *timing
	model             string      // its name
	upstream          *upstream   // the predictor of the model that answers; nil where none is known
	predictor         http.Header // of the predictor's last answer
}

type exchangeKey struct{}

// exchanged is ctx with x, where the model is written in Go.
func exchanged(ctx context.Context, m *repository.Loaded, x exchange) context.Context {
	if !m.Custom {
		return ctx
	}
	kept := x // only here, so that x of an engine's request costs nothing
	kept.model = m.Name
	if c, ok := m.Model.(interface{ asks() *upstream }); ok {
		kept.upstream = c.asks()
	}
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
// It is empty outside of a request, and for several that are joined: what one may do the others may not.
func RequestHeader(ctx context.Context) http.Header {
	x := exchangeOf(ctx)
	if x == nil || batch.Joined(ctx) {
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

// PredictorHeader is the header of what the predictor answered last to this request, or the metadata of a gRPC call. It is empty before.
// It must not be changed.
func PredictorHeader(ctx context.Context) http.Header {
	if x := exchangeOf(ctx); x != nil && x.predictor != nil {
		return x.predictor
	}
	return http.Header{}
}

// CallPredictor asks the predictor that the flags of the program name, with the headers and the deadline of the request that is being
// answered; ctx is that of Preprocess, Predict, Postprocess or Explain. in.Model is the model's own name where it is empty. The outputs are
// added to out, and the errors are the predictor's: see client.Client.Predict. Without a predictor it is a *protocol.Error of code
// Unsupported.
func CallPredictor(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	x := exchangeOf(ctx)
	if x == nil || x.upstream == nil {
		return errNoPredictor()
	}
	return x.upstream.predict(ctx, in, out)
}

// SetResponseHeader sets a header of the answer, or metadata of a gRPC call's. The length and the type of the body are the server's own. What
// the protocol cannot carry, such as a line break, is left out, and so is a header of several requests that are joined.
func SetResponseHeader(ctx context.Context, name, value string) {
	x := exchangeOf(ctx)
	switch canonical := http.CanonicalHeaderKey(name); {
	case x == nil || canonical == "Content-Length" || canonical == "Content-Type" || canonical == "Transfer-Encoding":
	case batch.Joined(ctx) || !client.Carried(name, value, x.call):
	case x.call:
		_ = grpc.SetHeader(ctx, metadata.Pairs(strings.ToLower(name), value)) // too late, when the call has ended: nobody is there to be told
	default:
		x.response.Set(name, value)
	}
}
