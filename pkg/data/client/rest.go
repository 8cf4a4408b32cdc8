// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "github.com/kserve-go/kserve-go/pkg/data/protocol/v1"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

const (
	typeJSON   = "application/json"
	typeBinary = "application/octet-stream"

	dialTimeout = 10 * time.Second
	// idleTimeout is below the 65 s after which model servers close a connection: a request never meets one that is being closed.
	idleTimeout = 55 * time.Second
	maxIdle     = 256
)

// web makes the HTTP client: connections are kept, redirects are not followed, and a call has no limit but its context's.
func (o *Options) web(trust *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       trust,
		TLSHandshakeTimeout:   dialTimeout,
		MaxIdleConns:          maxIdle,
		MaxIdleConnsPerHost:   maxIdle,
		IdleConnTimeout:       idleTimeout,
		DisableCompression:    true,
		ExpectContinueTimeout: time.Second,
	}
	if path := o.socket(); path != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// message is one REST request or answer.
type message struct {
	body       []byte
	kind       string // content type
	jsonLength string // the header of V2's binary form; "" for none
}

// answer is what came back.
type answer struct {
	code   int
	status string // the code with its words
	header http.Header
	body   []byte
}

func (a *answer) ok() bool { return a.code >= 200 && a.code <= 299 }

// send makes one REST request. An answer that is not 2xx is an error.
func (c *Client) send(ctx context.Context, method, where string, m message) (message, error) {
	a, err := c.exchange(ctx, method, where, m)
	if err != nil {
		return message{}, err
	}
	if !a.ok() {
		return message{}, a.fault(where)
	}
	return message{body: a.body, kind: a.header.Get("Content-Type"), jsonLength: a.header.Get(v2.HeaderLength)}, nil
}

func (c *Client) exchange(ctx context.Context, method, where string, m message) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.root+strings.TrimPrefix(where, c.base), bytes.NewReader(m.body))
	if err != nil {
		return nil, unusable(where, err)
	}
	if err := addTo(ctx, req); err != nil {
		return nil, err
	}
	if m.kind != "" {
		req.Header.Set("Content-Type", m.kind)
	}
	if m.jsonLength != "" {
		req.Header.Set(v2.HeaderLength, m.jsonLength)
	}
	resp, err := c.web.Do(req)
	if err != nil {
		return nil, unanswered(ctx, where, err)
	}
	defer resp.Body.Close()
	if into := answered(ctx); into != nil {
		*into = resp.Header
	}
	body, err := c.read(resp)
	switch {
	case errors.Is(err, errTooLarge):
		return nil, unusable(where, err)
	case err != nil:
		return nil, unanswered(ctx, where, err)
	}
	return &answer{code: resp.StatusCode, status: resp.Status, header: resp.Header, body: body}, nil
}

var errTooLarge = errors.New("it is too large")

func (c *Client) read(resp *http.Response) ([]byte, error) {
	limit := c.opts.MaxResponse
	if resp.ContentLength > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", errTooLarge, resp.ContentLength, limit)
	}
	var buf bytes.Buffer
	if resp.ContentLength > 0 {
		buf.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, limit+1))
	if err == nil && n > limit {
		err = fmt.Errorf("%w: more than %d bytes", errTooLarge, limit)
	}
	return buf.Bytes(), err
}

func (c *Client) predictV1(ctx context.Context, req *tensor.Request) (*tensor.Response, error) {
	body, err := v1.AppendRequest(nil, req)
	if err != nil {
		return nil, err
	}
	where := c.base + "/v1/models/" + url.PathEscape(req.Model) + ":predict"
	got, err := c.send(ctx, http.MethodPost, where, message{body: body, kind: typeJSON})
	if err != nil {
		return nil, err
	}
	resp, err := new(v1.Decoder).DecodeResponse(got.body)
	if err != nil {
		return nil, unusable(where, err)
	}
	return resp, nil
}

func (c *Client) explainV1(ctx context.Context, req *tensor.Request, into any) error {
	body, err := v1.AppendRequest(nil, req)
	if err != nil {
		return err
	}
	where := c.base + "/v1/models/" + url.PathEscape(req.Model) + ":explain"
	got, err := c.send(ctx, http.MethodPost, where, message{body: body, kind: typeJSON})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return unusable(where, err)
	}
	return nil
}

func (c *Client) predictV2(ctx context.Context, req *tensor.Request) (*tensor.Response, error) {
	body, length, err := v2.AppendRequest(nil, req, c.opts.Binary)
	if err != nil {
		return nil, err
	}
	m := message{body: body, kind: typeJSON}
	if length > 0 {
		m.kind, m.jsonLength = typeBinary, strconv.Itoa(length)
	}
	where := c.base + "/v2/models/" + url.PathEscape(req.Model)
	if req.Version != "" {
		where += "/versions/" + url.PathEscape(req.Version)
	}
	where += "/infer"
	got, err := c.send(ctx, http.MethodPost, where, m)
	if err != nil {
		return nil, err
	}
	resp, err := new(v2.Decoder).DecodeResponse(got.body, got.jsonLength)
	if err != nil {
		return nil, unusable(where, err)
	}
	return resp, nil
}

// Post sends a JSON body to the URL itself, as an InferenceGraph takes it, and answers the body that comes back.
func (c *Client) Post(ctx context.Context, body []byte) ([]byte, error) {
	if c.web == nil {
		return nil, errors.New("a graph is called over REST, not gRPC")
	}
	var got message
	err := c.call(ctx, func(ctx context.Context) (_ *tensor.Response, err error) {
		got, err = c.send(ctx, http.MethodPost, c.opts.URL, message{body: body, kind: typeJSON})
		return nil, err
	}, nil)
	return got.body, err
}
