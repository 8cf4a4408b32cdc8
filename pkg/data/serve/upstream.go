// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/repository"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Forwarded are the headers of a request that a transformer's call to its predictor has too: who asks, the request's name, and the
// traces that it belongs to. Cookies and everything else stay here.
func Forwarded() []string {
	return []string{
		"Authorization", "X-Request-Id",
		"Traceparent", "Tracestate", "B3", "X-B3-Traceid", "X-B3-Spanid", "X-B3-Parentspanid", "X-B3-Sampled", "X-B3-Flags",
	}
}

// names are the headers that go along. The error is a name of more that can never go.
func names(more []string) ([]string, error) {
	all := Forwarded()
	for _, name := range more {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		switch {
		case name == "" || strings.ContainsAny(name, " \t:;=\"'"):
			return nil, fmt.Errorf("%q is no name of a header", name)
		case client.OwnHeader(name):
			return nil, fmt.Errorf("%s is never forwarded: it belongs to one connection or one body", name)
		case !slices.Contains(all, name):
			all = append(all, name)
		}
	}
	return all, nil
}

// upstream is a transformer's predictor.
type upstream struct {
	client  *client.Client // nil: no flag names one
	forward []string
}

func newUpstream(to *client.Client, forward []string) (*upstream, error) {
	all, err := names(forward)
	if err != nil {
		return nil, err
	}
	return &upstream{client: to, forward: all}, nil
}

func errNoPredictor() error {
	return protocol.Errorf(protocol.Unsupported, "Could not find predictor_host.")
}

func (u *upstream) predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if u.client == nil {
		return errNoPredictor()
	}
	// A version is the transformer's own: its predictor has others.
	req := *in
	req.Version = ""
	if x := exchangeOf(ctx); x != nil {
		req.Model = cmp.Or(req.Model, x.model)
		ctx = client.WithAnswerHeader(ctx, &x.predictor)
	}
	return u.client.Predict(client.WithHeader(ctx, u.header(ctx)), &req, out)
}

// header is what goes along of the request's header.
func (u *upstream) header(ctx context.Context) http.Header {
	came, goes := RequestHeader(ctx), http.Header{}
	for _, name := range u.forward {
		if values := came[name]; len(values) > 0 && !protocol.OneConnection(came, name) {
			goes[name] = values
		}
	}
	// Where this server is part of the trace the predictor's span is below its own.
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(goes))
	return goes
}

// Dependency is another server that has to be ready before this one says that it is; a *client.Client is one.
type Dependency interface {
	ServerReady(ctx context.Context) (bool, error)
	ModelReady(ctx context.Context, model string) bool
}

// readyNow is nil when the server is ready, and what it depends on.
func (s *Server) readyNow(ctx context.Context) error {
	if !s.Ready() {
		return errNotReady()
	}
	for _, name := range s.models.Names() {
		if err := s.willing(name, ""); err != nil {
			return err
		}
	}
	if s.opts.Dependency == nil {
		return nil
	}
	ready, err := s.opts.Dependency.ServerReady(ctx)
	switch {
	case err != nil:
		return protocol.Wrap(err, protocol.Unavailable, "Server is not ready: its predictor is not: %s", protocol.From(err).Message)
	case !ready:
		return errNotReady()
	default:
		return nil
	}
}

func errNotReady() error { return protocol.Errorf(protocol.Unavailable, "Server is not ready.") }

// willing is nil unless the model is one in Go that says that it is not ready.
func willing(m *repository.Loaded) error {
	if !m.Custom {
		return nil
	}
	if r, ok := m.Model.(Readier); ok && !r.Ready() {
		return protocol.Errorf(protocol.Unavailable, "Model with name %s is not ready.", m.Name)
	}
	return nil
}

// willing asks a model that is in memory; others have nothing to say.
func (s *Server) willing(name, version string) error {
	m := s.models.Resident(name, version)
	if m == nil {
		return nil
	}
	defer m.Release()
	return willing(m)
}

// dependencyReady is nil when the model says so itself, and the predictor's model is ready too.
func (s *Server) dependencyReady(ctx context.Context, model, version string) error {
	if err := s.willing(model, version); err != nil {
		return err
	}
	if s.opts.Dependency == nil || s.opts.Dependency.ModelReady(ctx, model) {
		return nil
	}
	return protocol.Errorf(protocol.Unavailable, "Model with name %s is not ready.", model)
}
