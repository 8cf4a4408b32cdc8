// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/test/conformance/exchange"
)

// target is where a server listens: http://host:port and host:port.
type target struct{ url, grpc string }

// limit bounds one exchange.
const limit = 60 * time.Second

// player sends exchanges to one server.
type player struct {
	host string
	conn *grpc.ClientConn
}

func newPlayer(t target) (*player, error) {
	u, err := url.Parse(t.url)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("server address %q: want http://host:port", t.url)
	}
	conn, err := grpc.NewClient("passthrough:///"+t.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, fmt.Errorf("dial gRPC: %w", err)
	}
	return &player{host: u.Host, conn: conn}, nil
}

func (p *player) close() { _ = p.conn.Close() }

func (p *player) play(ctx context.Context, e *exchange.Exchange) (exchange.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if e.Call != nil {
		got, err := p.call(ctx, e.Call)
		if err != nil {
			return 0, err
		}
		return e.JudgeAnswer(got)
	}
	got, err := p.send(ctx, e.HTTP)
	if err != nil {
		return 0, err
	}
	return e.Judge(got)
}

// send writes the request's bytes on a connection of its own: nothing may tidy up its path, method or framing.
func (p *player) send(ctx context.Context, r *exchange.Request) (exchange.Got, error) {
	var got exchange.Got
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", p.host)
	if err != nil {
		return got, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	wrote := make(chan error, 1)
	go func() { // a server may answer before it has read all
		_, err := conn.Write(requestBytes(r))
		wrote <- err
	}()
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, &http.Request{Method: r.Method})
	for err == nil && resp.StatusCode < 200 {
		resp, err = http.ReadResponse(in, &http.Request{Method: r.Method})
	}
	if err != nil {
		select {
		case w := <-wrote:
			err = errors.Join(err, w)
		default:
		}
		return got, fmt.Errorf("read answer: %w", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return got, fmt.Errorf("read body: %w", err)
	}
	if err := resp.Body.Close(); err != nil {
		return got, fmt.Errorf("read body: %w", err)
	}
	got = exchange.Got{Status: resp.StatusCode, Headers: map[string]string{}, Body: body}
	for name, values := range resp.Header {
		got.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return got, nil
}

func requestBytes(r *exchange.Request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", r.Method, r.Path)
	framed := false
	for name, value := range r.Headers {
		framed = framed || strings.EqualFold(name, "Content-Length") || strings.EqualFold(name, "Transfer-Encoding")
		fmt.Fprintf(&b, "%s: %s\r\n", name, value)
	}
	if r.Body != nil && !framed {
		b.WriteString("Content-Length: " + strconv.Itoa(len(r.Body)) + "\r\n")
	}
	b.WriteString("\r\n")
	b.Write(r.Body)
	return b.Bytes()
}

func (p *player) call(ctx context.Context, c *exchange.Call) (exchange.GotCall, error) {
	in, err := c.Encode()
	if err != nil {
		return exchange.GotCall{}, err
	}
	ctx = metadata.NewOutgoingContext(ctx, metadata.New(c.Metadata))
	var out []byte
	err = p.conn.Invoke(ctx, c.Method, &in, &out)
	s := status.Convert(err)
	return exchange.GotCall{Code: s.Code(), Details: s.Message(), Message: out}, nil
}

// rawCodec passes messages as the bytes that they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, fmt.Errorf("message is a %T", v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("message is a %T", v)
	}
	*b = bytes.Clone(data)
	return nil
}
