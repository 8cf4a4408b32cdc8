// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki makes authorities and certificates for tests of secured ports.
//
// Called by: tests of data/httpserver and data/serve.
// Next: nothing; crypto/x509 does the work.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Name is the host name of every certificate; 127.0.0.1 is its address.
const Name = "model.test"

// Authority signs certificates.
type Authority struct {
	// PEM is its own certificate.
	PEM []byte

	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// New makes an authority.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(tb, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(tb, err)
	return &Authority{key: key, cert: cert, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// Pool has the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue signs a certificate for servers and clients that ends at the time given. It and its key are returned in PEM.
func (a *Authority) Issue(tb testing.TB, serial int64, until time.Time) (cert, key []byte) {
	tb.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: until.Add(-24 * time.Hour), NotAfter: until,
		DNSNames: []string{Name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	require.NoError(tb, err)
	private, err := x509.MarshalPKCS8PrivateKey(own)
	require.NoError(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// Pair is Issue for a TLS configuration.
func (a *Authority) Pair(tb testing.TB, until time.Time) *tls.Certificate {
	tb.Helper()
	cert, key := a.Issue(tb, 7, until)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(tb, err)
	return &pair
}

// Files writes what Issue returns, and a's own certificate, into a directory of the test's.
func (a *Authority) Files(tb testing.TB, serial int64, until time.Time) (certFile, keyFile, caFile string) {
	tb.Helper()
	dir := tb.TempDir()
	cert, key := a.Issue(tb, serial, until)
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(tb, os.WriteFile(path, data, 0o600))
		return path
	}
	return write("tls.crt", cert), write("tls.key", key), write("ca.crt", a.PEM)
}
