// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// The server's files are written anew all the time, one after the other and in place, while clients connect anew for each request: none is
// refused, and new certificates come into use.
func TestCertificatesAreRenewedUnderLoad(t *testing.T) {
	ca, clients := pki.New(t, "servers"), pki.New(t, "clients")
	soon := time.Now().Add(time.Hour)
	core, logs := observer.New(zap.InfoLevel)
	opts := serve.Options{Models: []serve.Model{{Name: "m", Model: &sum{word: "sum"}}}, Log: zap.New(core)}
	tlsFiles := &opts.Server.TLS
	tlsFiles.GRPC = true
	tlsFiles.CertFile, tlsFiles.KeyFile, _ = ca.Files(t, 1, soon)
	_, _, tlsFiles.ClientCAFile = clients.Files(t, 1, soon)
	p := run(t, opts)
	require.Eventually(t, p.Ready, waitFor, tick)
	known := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{*clients.Pair(t, soon)}}
	authority, err := os.ReadFile(tlsFiles.ClientCAFile)
	require.NoError(t, err)

	stop := make(chan struct{})
	var all sync.WaitGroup
	each := func(ask func() error) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := ask(); err != nil {
					t.Errorf("a client is refused: %v", err)
					return
				}
			}
		})
	}
	for _, h2 := range []bool{false, true} {
		web := http.Client{Transport: &http.Transport{TLSClientConfig: known.Clone(), DisableKeepAlives: true, ForceAttemptHTTP2: h2}}
		each(func() error {
			resp, err := web.Post("https://"+p.HTTPAddr().String()+"/v1/models/m:predict", "application/json", strings.NewReader(v1Body))
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			return err
		})
	}
	each(func() error {
		conn, err := grpc.NewClient(p.GRPCAddr().String(), grpc.WithTransportCredentials(credentials.NewTLS(known)))
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = inferencev2.NewGRPCInferenceServiceClient(conn).ModelInfer(context.Background(), inferRequest("m"))
		return err
	})
	for serial := int64(2); logs.FilterMessage("certificate reloaded").Len() < 1; serial++ {
		cert, key := ca.Issue(t, serial, soon)
		for name, text := range map[string][]byte{tlsFiles.CertFile: cert, tlsFiles.KeyFile: key, tlsFiles.ClientCAFile: authority} {
			require.NoError(t, os.WriteFile(name, text[:len(text)/2], 0o600))
			require.NoError(t, os.WriteFile(name, text, 0o600))
		}
		time.Sleep(100 * time.Millisecond) // as files are left alone in the end
		require.Less(t, serial, int64(500), "no certificate is taken")
	}
	close(stop)
	all.Wait()
}
