// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/testkit/pki"
	inferencev2 "github.com/kserve-go/kserve-go/proto/inference/v2"
)

func secureClient(t *testing.T, addr string, config *tls.Config) inferencev2.GRPCInferenceServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return inferencev2.NewGRPCInferenceServiceClient(conn)
}

func TestBothPortsAreSecured(t *testing.T) {
	ca, clients := pki.New(t, "servers"), pki.New(t, "clients")
	soon := time.Now().Add(time.Hour)
	core, logs := observer.New(zap.InfoLevel)
	opts := serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Log: zap.New(core)}
	opts.Server.TLS.GRPC = true
	opts.Server.TLS.CertFile, opts.Server.TLS.KeyFile, _ = ca.Files(t, 1, soon)
	_, _, opts.Server.TLS.ClientCAFile = clients.Files(t, 1, soon)
	socket := filepath.Join(t.TempDir(), "grpc.sock")
	opts.Server.GRPCSocket = httpserver.Endpoint{Addr: socket}
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)

	known := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{*clients.Pair(t, soon)}}
	web := http.Client{Transport: &http.Transport{TLSClientConfig: known, DisableKeepAlives: true}}
	resp, err := web.Post("https://"+p.HTTPAddr().String()+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, `{"predictions":[3.0,7.0]}`, string(text))
	_, err = secureClient(t, p.GRPCAddr().String(), known).ModelInfer(t.Context(), inferRequest("m"))
	require.NoError(t, err)
	_, err = grpcClient(t, "unix:"+socket).ModelInfer(t.Context(), inferRequest("m"))
	require.NoError(t, err, "a socket is in cleartext")

	for name, config := range map[string]*tls.Config{
		"no certificate":            {RootCAs: ca.Pool()},
		"one of another authority":  {RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return ca.Pair(t, soon), nil }},
		"an authority it knows not": {RootCAs: clients.Pool()},
	} {
		before := logs.FilterMessage("a TLS handshake failed").Len()
		_, err = secureClient(t, p.GRPCAddr().String(), config).ModelInfer(t.Context(), inferRequest("m"))
		require.Equal(t, codes.Unavailable, status.Code(err), name)
		require.Eventually(t, func() bool { return logs.FilterMessage("a TLS handshake failed").Len() > before }, waitFor, tick, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = grpcClient(t, p.GRPCAddr().String()).ModelInfer(ctx, inferRequest("m"))
	require.Error(t, err, "cleartext on the secured port")
	p.stop()
	require.NoError(t, <-p.done)
}
