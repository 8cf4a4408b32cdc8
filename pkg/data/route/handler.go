// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route executes an InferenceGraph: it compiles the graph once, answers each request by running its steps, and says
// which step failed and why.
//
// Called by: cmd/router; cli/run, for graphs without a cluster.
// Next: data/sidecar or data/serve, whatever answers a step's URL.
package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// DefaultMaxBody bounds a request and each step's answer, in bytes.
const DefaultMaxBody = 64 << 20

// HandlerOptions are what a graph's handler may be told.
type HandlerOptions struct {
	// Propagate are the patterns of inbound headers that reach the steps; see ParsePropagate.
	Propagate []*regexp.Regexp
	// MaxBody bounds the request and each answer, in bytes; 0 means DefaultMaxBody.
	MaxBody int64
	// ReadStall is how long a client may send nothing of its request; 0 means httpserver.DefaultStall.
	ReadStall time.Duration
	// StepTimeout bounds one step; 0 means none but the client's own deadline.
	StepTimeout time.Duration
	// Transport carries the steps; nil means a pooled transport of our own.
	Transport http.RoundTripper
	Log       *zap.Logger
}

// NewHandler answers every path and method by executing the graph, as the reference's router does.
func NewHandler(graph *Graph, o HandlerOptions) http.Handler {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	return &handler{
		graph: graph, options: o, bodies: httpserver.Bodies{MaxBytes: o.MaxBody, MaxHeld: httpserver.DefaultMaxHeld, Stall: o.ReadStall},
		caller: &httpCaller{client: &http.Client{Transport: o.Transport, Timeout: o.StepTimeout}, maxBody: o.MaxBody},
	}
}

func newTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own default
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 256
	t.IdleConnTimeout = 90 * time.Second
	return t
}

// ParsePropagate reads PROPAGATE_HEADERS: comma-separated regular expressions, matched anywhere in the canonical header name.
// Unlike the reference, letter case does not matter and an empty list propagates nothing.
func ParsePropagate(list string) ([]*regexp.Regexp, error) {
	var patterns []*regexp.Regexp
	var faults []error
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		re, err := regexp.Compile("(?i)" + p)
		if err != nil {
			faults = append(faults, fmt.Errorf("header pattern %q: %w", p, err))
			continue
		}
		patterns = append(patterns, re)
	}
	return patterns, errors.Join(faults...)
}

type handler struct {
	graph   *Graph
	caller  Caller
	bodies  httpserver.Bodies
	options HandlerOptions
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := h.bodies.Read(w, r, nil)
	if err != nil {
		h.fail(w, protocol.From(err).Code.HTTPStatus(), err)
		return
	}
	defer h.bodies.Release(body)
	start := time.Now()
	answer, err := h.graph.Execute(r.Context(), h.caller, h.propagated(r.Header), body)
	h.options.Log.Debug("graph executed", zap.Duration("elapsed", time.Since(start)), zap.Int("status", answer.Status), zap.Error(err))
	if err != nil {
		h.fail(w, statusOf(err), err)
		return
	}
	if json.Valid(answer.Body) {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // the client is gone if this fails
}

// statusOf maps an execution's error. A graph that has no route for a request is the request's matter at any depth.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoSwitchMatch):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}

func (h *handler) fail(w http.ResponseWriter, status int, cause error) {
	if status >= http.StatusInternalServerError {
		h.options.Log.Error("graph failed", zap.Error(cause))
	}
	body, err := json.Marshal(map[string]string{"error": "Failed to process request", "cause": cause.Error()})
	if err != nil {
		body = []byte(`{"error":"Failed to process request"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone if this fails
}

// traceHeaders reach every step whatever the patterns say: a trace that stops at the router explains nothing.
//
//nolint:gochecknoglobals // a constant list
var traceHeaders = []string{"Traceparent", "Tracestate", "X-Request-Id"}

func (h *handler) propagated(in http.Header) http.Header {
	out := http.Header{}
	for name, values := range in {
		for _, re := range h.options.Propagate {
			if re.MatchString(name) {
				out[name] = values
				break
			}
		}
	}
	for _, name := range traceHeaders {
		if v := in[name]; v != nil {
			out[name] = v
		}
	}
	for name := range out {
		if protocol.OneConnection(in, name) {
			delete(out, name)
		}
	}
	// The body is sent anew: what described the old one would lie.
	for _, name := range []string{"Content-Length", "Content-Encoding", "Host", "Accept-Encoding"} {
		out.Del(name)
	}
	if out.Get("Content-Type") == "" {
		out.Set("Content-Type", "application/json")
	}
	return out
}

type httpCaller struct {
	client  *http.Client
	maxBody int64
}

func (c *httpCaller) Call(ctx context.Context, url string, header http.Header, body []byte) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header = header.Clone() // steps of an Ensemble run at once and the transport may add to it
	res, err := c.client.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer res.Body.Close()
	out, err := io.ReadAll(io.LimitReader(res.Body, c.maxBody+1))
	if err != nil {
		return Answer{}, fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if int64(len(out)) > c.maxBody {
		return Answer{}, fmt.Errorf("the answer of %s is larger than %d bytes", url, c.maxBody)
	}
	return Answer{Status: res.StatusCode, Body: out}, nil
}
