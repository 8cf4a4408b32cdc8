// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

// ServerLive reports whether the server lives. The error is that it cannot be asked, or what it answered instead.
func (c *Client) ServerLive(ctx context.Context) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch c.opts.Protocol {
	case V1:
		return c.alive(ctx)
	case V2:
		return c.says(ctx, "/v2/health/live", "live")
	default:
		out, err := outgoing(ctx)
		if err != nil {
			return false, err
		}
		resp, err := inferencev2.NewGRPCInferenceServiceClient(c.conn).ServerLive(out, &inferencev2.ServerLiveRequest{})
		return resp.GetLive(), c.asked(ctx, err)
	}
}

// ServerReady reports whether the server is ready; V1 can only tell that it lives. The error is as of ServerLive.
func (c *Client) ServerReady(ctx context.Context) (bool, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch c.opts.Protocol {
	case V1:
		return c.alive(ctx)
	case V2:
		return c.says(ctx, "/v2/health/ready", "ready")
	default:
		out, err := outgoing(ctx)
		if err != nil {
			return false, err
		}
		resp, err := inferencev2.NewGRPCInferenceServiceClient(c.conn).ServerReady(out, &inferencev2.ServerReadyRequest{})
		return resp.GetReady(), c.asked(ctx, err)
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

func (c *Client) asked(ctx context.Context, err error) error {
	if err == nil || status.Code(err) == codes.Unavailable && ctx.Err() == nil && isNotReady(err) {
		return nil
	}
	return plain(called(ctx, c.conn.Target(), err, nil))
}

// isNotReady tells a server that says that it is not ready from one that cannot be reached, for which the library has the same code.
func isNotReady(err error) bool { return status.Convert(err).Message() == "Server is not ready." }

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
