// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func writeCertificate(t *testing.T, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return certFile, keyFile
}

func TestHTTPSServesTheNewestCertificate(t *testing.T) {
	dir := t.TempDir()
	opts := Options{HTTP: Endpoint{Addr: "127.0.0.1:0"}}
	opts.CertFile, opts.KeyFile = writeCertificate(t, dir, 1)
	s := New(opts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }), nil, zap.NewNop())
	require.NoError(t, s.Listen(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	serial := func() int64 {
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		}}
		resp, err := client.Get("https://" + s.HTTPAddr().String())
		require.NoError(t, err)
		defer resp.Body.Close()
		require.Equal(t, 2, resp.ProtoMajor)
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	writeCertificate(t, dir, 2)
	s.cert.mu.Lock()
	s.cert.looked, s.cert.changed = time.Time{}, time.Time{}
	s.cert.mu.Unlock()
	require.Equal(t, int64(2), serial())
	require.NoError(t, os.WriteFile(opts.KeyFile, []byte("half written"), 0o600))
	s.cert.mu.Lock()
	s.cert.looked, s.cert.changed = time.Time{}, time.Time{}
	s.cert.mu.Unlock()
	require.Equal(t, int64(2), serial(), "the old one stays")
	stop()
	require.NoError(t, <-done)
}

func TestACertificateThatCannotBeLoadedIsAStartFault(t *testing.T) {
	opts := Options{HTTP: Endpoint{Addr: "127.0.0.1:0"}, CertFile: "absent.crt", KeyFile: "absent.key"}
	require.ErrorContains(t, New(opts, http.NotFoundHandler(), nil, zap.NewNop()).Run(t.Context()), "load the certificate: open absent.crt")
	opts.KeyFile = ""
	require.ErrorContains(t, New(opts, http.NotFoundHandler(), nil, zap.NewNop()).Run(t.Context()), "a certificate needs two files")
}
