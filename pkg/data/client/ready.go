// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// ServerLive reports whether the server lives. The error is that it cannot be asked, or what it answered instead.
func (c *Client) ServerLive(ctx context.Context) (bool, error) {
	return c.health(ctx, "live", func(ctx context.Context, s inferencev2.GRPCInferenceServiceClient, o ...grpc.CallOption) (bool, error) {
		resp, err := s.ServerLive(ctx, &inferencev2.ServerLiveRequest{}, o...)
		return resp.GetLive(), err
	})
}

// ServerReady reports whether the server is ready; V1 can only tell that it lives. The error is as of ServerLive.
func (c *Client) ServerReady(ctx context.Context) (bool, error) {
	return c.health(ctx, "ready", func(ctx context.Context, s inferencev2.GRPCInferenceServiceClient, o ...grpc.CallOption) (bool, error) {
		resp, err := s.ServerReady(ctx, &inferencev2.ServerReadyRequest{}, o...)
		return resp.GetReady(), err
	})
}

// health asks about the server itself: over V2 for the word at /v2/health, over gRPC by a call. A server that answers 503, or UNAVAILABLE, says no.
func (c *Client) health(ctx context.Context, word string, ask func(context.Context, inferencev2.GRPCInferenceServiceClient, ...grpc.CallOption) (bool, error)) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch c.opts.Protocol {
	case V1:
		return c.alive(ctx)
	case V2:
		return c.says(ctx, "/v2/health/"+word, word)
	case GRPC: // is called, below
	}
	out, err := outgoing(ctx)
	if err != nil {
		return false, err
	}
	var said words
	yes, err := ask(out, inferencev2.NewGRPCInferenceServiceClient(c.conn), said.options()...)
	switch {
	case err == nil:
		return yes, nil
	case status.Code(err) == codes.Unavailable && said.any():
		return false, nil
	default:
		return false, plain(called(ctx, c.conn.Target(), err, nil))
	}
}

// ModelReady reports whether a model is ready. One that cannot be asked about is not.
func (c *Client) ModelReady(ctx context.Context, model string) bool {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch c.opts.Protocol {
	case V1:
		ready, err := c.says(ctx, "/v1/models/"+url.PathEscape(model), "ready")
		return err == nil && ready
	case V2:
		_, err := c.send(ctx, http.MethodGet, c.base+"/v2/models/"+url.PathEscape(model)+"/ready", message{})
		return err == nil
	default:
		out, err := outgoing(ctx)
		if err != nil {
			return false
		}
		resp, err := inferencev2.NewGRPCInferenceServiceClient(c.conn).ModelReady(out, &inferencev2.ModelReadyRequest{Name: model})
		return err == nil && resp.GetReady()
	}
}

func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.opts.Timeout > 0 {
		return context.WithTimeout(ctx, c.opts.Timeout)
	}
	return ctx, func() {}
}

// plain is an error without the leave to try again.
func plain(err error) error {
	var refused *refusal
	if errors.As(err, &refused) {
		return refused.err
	}
	return err
}

// says asks for a JSON object and reads one truth in it; a server that answers 503 says no.
func (c *Client) says(ctx context.Context, path, member string) (bool, error) {
	where := c.base + path
	a, err := c.exchange(ctx, http.MethodGet, where, message{})
	switch {
	case err != nil:
		return false, plain(err)
	case a.code == http.StatusServiceUnavailable:
		return false, nil
	case !a.ok():
		return false, plain(a.fault(where))
	}
	var said map[string]any
	if err := json.Unmarshal(a.body, &said); err != nil {
		return false, unusable(where, err)
	}
	yes, _ := said[member].(bool)
	return yes, nil
}

// alive asks what a V1 server says at its root.
func (c *Client) alive(ctx context.Context) (bool, error) {
	where := c.base + "/"
	got, err := c.send(ctx, http.MethodGet, where, message{})
	if err != nil {
		return false, plain(err)
	}
	var said struct{ Status string }
	if err := json.Unmarshal(got.body, &said); err != nil {
		return false, unusable(where, err)
	}
	return said.Status == "alive", nil
}
