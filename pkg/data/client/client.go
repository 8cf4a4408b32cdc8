// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package client calls model servers over V1, V2 REST and V2 gRPC: the same request, whichever they speak.
//
// A Client keeps its connections and is safe for concurrent use. Errors are *protocol.Error: what the server said, with its status, or why
// it could not be asked.
//
// Called by: data/serve, for transformers; programs of anybody's own.
// Next: data/protocol, which writes requests and reads answers.
package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Protocol is what a server speaks.
type Protocol string

// The protocols, as the flag predictor_protocol spells them.
const (
	V1   Protocol = "v1"
	V2   Protocol = "v2"
	GRPC Protocol = "grpc-v2"
)

// ParseProtocol reads a protocol's name.
func ParseProtocol(name string) (Protocol, error) {
	switch p := Protocol(name); p {
	case V1, V2, GRPC:
		return p, nil
	default:
		return "", fmt.Errorf("protocol %q: expected %s, %s or %s", name, V1, V2, GRPC)
	}
}

// Defaults of Options.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultMaxResponse = 64 << 20
)

// Options say which server is called, and how. The zero value of a number means its default.
type Options struct {
	// URL is the server's: http://host or https://host, with a port and a path where they are needed, or unix:///path of a Unix socket.
	// For GRPC the scheme may be left out, and a path is an error; without a port it is 80, or 443 for https.
	URL string
	// Protocol is what it speaks. Default V1.
	Protocol Protocol
	// Timeout bounds a call with its retries. A deadline of the call's context bounds it too, and the server is told what is left of it: gRPC's
	// way, or over HTTP in protocol.HeaderTimeout. Default DefaultTimeout; negative is none.
	Timeout time.Duration
	// Retries is how often a call is made again which the server has not worked on: it could not be reached, or answered 429, 503, UNAVAILABLE
	// or RESOURCE_EXHAUSTED. A call that was cut off is not made again. The waits grow from 0.1 s to 1 s, by chance up to half as long; a server
	// that asks for more is given it up to 10 s. A call that would have to wait longer, or beyond its deadline, ends with what was answered.
	Retries int
	// Binary sends V2 tensors in the binary form, and asks for it, also where JSON could hold them. gRPC is binary in any case.
	Binary bool
	// CAFile has the certificates to trust instead of the system's, in the PEM form. It is read for https alone.
	CAFile string
	// MaxResponse bounds an answer, in bytes. Default DefaultMaxResponse.
	MaxResponse int64
}

// Client calls one server.
type Client struct {
	opts Options
	base string // of REST: the URL without its last slash
	root string // the same as the library takes it: a socket has another one
	web  *http.Client
	conn *grpc.ClientConn
}

// New makes a client. It calls nothing yet. The caller closes it.
func New(o Options) (*Client, error) {
	o.Protocol = cmp.Or(o.Protocol, V1)
	if _, err := ParseProtocol(string(o.Protocol)); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	o.MaxResponse = cmp.Or(o.MaxResponse, DefaultMaxResponse)
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	c := &Client{opts: o}
	if o.Protocol == GRPC {
		if c.conn, err = o.dial(trust); err != nil {
			return nil, err
		}
		return c, nil
	}
	if c.root, err = o.origin(); err != nil {
		return nil, err
	}
	c.base, c.web = strings.TrimRight(o.URL, "/"), o.web(trust)
	return c, nil
}

// origin is what paths are added to, for REST.
func (o *Options) origin() (string, error) {
	if o.socket() != "" {
		return "http://localhost", nil
	}
	if !strings.HasPrefix(o.URL, "http://") && !strings.HasPrefix(o.URL, "https://") {
		return "", fmt.Errorf("%q: Base url should have 'http://' or 'https://' protocol", o.URL)
	}
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is no URL of a server", o.URL)
	}
	return strings.TrimRight(o.URL, "/"), nil
}

// socket is the path of the Unix socket that the URL names; "" for a port.
func (o *Options) socket() string {
	path, ok := strings.CutPrefix(o.URL, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return ""
	}
	return path
}

// trust is the configuration of TLS.
func (o *Options) trust() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CAFile == "" || !strings.HasPrefix(o.URL, "https://") && !strings.HasPrefix(o.URL, "grpcs://") {
		return t, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read CA certificates: %w", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read CA certificates: %s holds none in the PEM form", o.CAFile)
	}
	return t, nil
}

// Close gives the connections up.
func (c *Client) Close() error {
	if c.conn != nil {
		return c.conn.Close()
	}
	c.web.CloseIdleConnections()
	return nil
}

// Predict asks the model in.Model, in version in.Version where V2 can name one, and adds its outputs to out. in is not changed. The error is
// a *protocol.Error with the server's status and text; of code Unavailable when it cannot be reached, Deadline when it did not answer in
// time, and with status 502 when its answer cannot be read.
func (c *Client) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	req := *in
	if req.ID == "" && c.opts.Protocol != V1 {
		req.ID = protocol.NewID()
	}
	return c.call(ctx, func(ctx context.Context) (*tensor.Response, error) {
		switch c.opts.Protocol {
		case V1:
			return c.predictV1(ctx, &req)
		case V2:
			return c.predictV2(ctx, &req)
		default:
			return c.infer(ctx, &req)
		}
	}, out)
}

// Explain asks for an explanation, which only V1 can, and answers what stands under "explanations".
func (c *Client) Explain(ctx context.Context, in *tensor.Request) (json.RawMessage, error) {
	if c.opts.Protocol != V1 {
		return nil, protocol.Errorf(protocol.Unsupported, "Unsupported protocol %s.", c.opts.Protocol)
	}
	var answer struct{ Explanations json.RawMessage }
	err := c.call(ctx, func(ctx context.Context) (*tensor.Response, error) {
		return nil, c.explainV1(ctx, in, &answer)
	}, nil)
	return answer.Explanations, err
}

// call makes a call, again where that is allowed, and adds its outputs to out.
func (c *Client) call(ctx context.Context, once func(context.Context) (*tensor.Response, error), out *tensor.Response) error {
	if _, timed := ctx.Deadline(); timed {
		ctx = context.WithValue(ctx, timedKey{}, true)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for again := 0; ; again++ {
		resp, err := once(ctx)
		if err == nil {
			if out != nil && resp != nil {
				out.ID, out.Model, out.Version, out.Frame = resp.ID, resp.Model, resp.Version, resp.Frame
				out.Parameters, out.Outputs = resp.Parameters, append(out.Outputs, resp.Outputs...)
			}
			return nil
		}
		var refused *refusal
		if !errors.As(err, &refused) {
			return err
		}
		if again >= c.opts.Retries || !pause(ctx, again, refused.err.RetryAfter) {
			return refused.err
		}
	}
}
