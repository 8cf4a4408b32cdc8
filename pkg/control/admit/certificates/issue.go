// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// Lifetimes of certificates. A certificate is renewed when two thirds of its life are over.
type Lifetimes struct {
	CA, Serving time.Duration
	// Overlap is how long an old authority stays trusted after a new one took over.
	Overlap time.Duration
}

// DefaultLifetimes are a year for the authority, 90 days for what is served, a day of overlap.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{CA: 365 * 24 * time.Hour, Serving: 90 * 24 * time.Hour, Overlap: 24 * time.Hour}
}

// backdate makes a new certificate valid on machines whose clocks are behind.
const backdate = time.Hour

// maxAuthorities bounds how many authorities are trusted at once, whatever happens to the Secret.
const maxAuthorities = 3

// material is what the Secret holds, read and checked.
type material struct {
	authorities []*x509.Certificate // trusted; the first one signs
	caKey       *ecdsa.PrivateKey   // nil when somebody else signs
	serving     *tls.Certificate    // Leaf is set
}

// Keys of the Secret.
const (
	keyAuthorities = "ca.crt"
	keyAuthority   = "ca.key"
	keyServing     = "tls.crt"
	keyServingKey  = "tls.key"
)

// parse reads the Secret's data. What is there must be whole: a certificate and its key belong together.
func parse(data map[string][]byte) (*material, error) {
	m := &material{}
	var err error
	if m.authorities, err = parseCertificates(data[keyAuthorities]); err != nil {
		return nil, fmt.Errorf("%s: %w", keyAuthorities, err)
	}
	if len(data[keyServing]) == 0 || len(data[keyServingKey]) == 0 {
		return nil, fmt.Errorf("%s or %s is empty", keyServing, keyServingKey)
	}
	pair, err := tls.X509KeyPair(data[keyServing], data[keyServingKey])
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", keyServing, keyServingKey, err)
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, fmt.Errorf("%s: %w", keyServing, err)
		}
	}
	m.serving = &pair
	if text := data[keyAuthority]; len(text) > 0 {
		if m.caKey, err = parseKey(text); err != nil {
			return nil, fmt.Errorf("%s: %w", keyAuthority, err)
		}
		if len(m.authorities) == 0 {
			return nil, fmt.Errorf("%s is empty beside %s", keyAuthorities, keyAuthority)
		}
		if !m.caKey.PublicKey.Equal(m.authorities[0].PublicKey) {
			return nil, fmt.Errorf("%s is not the key of the first certificate in %s", keyAuthority, keyAuthorities)
		}
	}
	return m, nil
}

func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for len(bytes.TrimSpace(text)) > 0 {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("is not PEM")
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read a certificate: %w", err)
		}
		all = append(all, certificate)
	}
	return all, nil
}

func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	own, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("is a %T, and an ECDSA key is needed", key)
	}
	return own, nil
}

// problem says why the serving certificate must not be used now for the names; empty when it is right.
func (m *material) problem(now time.Time, names []string) string {
	leaf := m.serving.Leaf
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Sprintf("the serving certificate is not valid before %s", leaf.NotBefore.Format(time.RFC3339))
	case !now.Before(leaf.NotAfter):
		return fmt.Sprintf("the serving certificate expired at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	for _, name := range names {
		if err := leaf.VerifyHostname(name); err != nil {
			return fmt.Sprintf("the serving certificate is not for %s", name)
		}
	}
	if len(m.authorities) > 0 && !trusts(m.authorities, m.serving, now) {
		return "the serving certificate is not signed by an authority of " + keyAuthorities
	}
	return ""
}

// trusts reports whether a client that knows the authorities would accept the certificate now.
func trusts(authorities []*x509.Certificate, serving *tls.Certificate, now time.Time) bool {
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	for _, a := range authorities {
		roots.AddCert(a)
	}
	for _, der := range serving.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			between.AddCert(c)
		}
	}
	_, err := serving.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err == nil
}

// aging reports whether two thirds of a certificate's life are over, or it has not begun.
func aging(c *x509.Certificate, now time.Time) bool {
	life := c.NotAfter.Sub(c.NotBefore)
	return now.Before(c.NotBefore) || now.After(c.NotBefore.Add(life/3*2))
}

// need is what a material of our own needs now.
type need int

const (
	nothing need = iota
	fewerAuthorities
	newServing
	newAuthority
)

// needs decides what is due. A material that signs itself is asked only.
func (m *material) needs(now time.Time, names []string, life Lifetimes) need {
	switch {
	case m.caKey == nil || aging(m.authorities[0], now):
		return newAuthority
	case m.problem(now, names) != "" || aging(m.serving.Leaf, now) || !trusts(m.authorities[:1], m.serving, now):
		return newServing
	case len(keep(m.authorities, now, life)) < len(m.authorities):
		return fewerAuthorities
	}
	return nothing
}

// keep returns the authorities that are still to be trusted: the first, and older ones for a while after it took over.
func keep(authorities []*x509.Certificate, now time.Time, life Lifetimes) []*x509.Certificate {
	if len(authorities) == 0 {
		return nil
	}
	took := authorities[0].NotBefore.Add(backdate)
	kept := authorities[:1:1]
	for _, old := range authorities[1:] {
		known := slices.ContainsFunc(kept, old.Equal)
		if !known && len(kept) < maxAuthorities && now.Before(old.NotAfter) && now.Before(took.Add(life.Overlap)) {
			kept = append(kept, old)
		}
	}
	return kept
}

// terms are when a certificate is made, what it is for, and how long it lasts.
type terms struct {
	now   time.Time
	names []string
	life  Lifetimes
}

// issue makes what is due: from nothing when m is nil. trusted are authorities that replicas may still be serving under.
func issue(m *material, due need, t terms, trusted []*x509.Certificate) (map[string][]byte, error) {
	next := &material{}
	if m != nil {
		next.authorities, next.caKey, next.serving = slices.Clone(m.authorities), m.caKey, m.serving
	}
	next.authorities = append(next.authorities, trusted...)
	if due == newAuthority || next.caKey == nil {
		authority, key, err := newCA(t.now, t.life.CA)
		if err != nil {
			return nil, err
		}
		next.authorities, next.caKey = append([]*x509.Certificate{authority}, next.authorities...), key
		due = newServing
	}
	next.authorities = keep(next.authorities, t.now, t.life)
	if due == newServing || next.serving == nil {
		serving, err := newServingPair(next.authorities[0], next.caKey, t)
		if err != nil {
			return nil, err
		}
		next.serving = serving
	}
	return next.data()
}

func (m *material) data() (map[string][]byte, error) {
	authorities := encodeCertificates(m.authorities)
	caKey, err := encodeKey(m.caKey)
	if err != nil {
		return nil, err
	}
	servingKey, err := encodeKey(m.serving.PrivateKey)
	if err != nil {
		return nil, err
	}
	var chain bytes.Buffer
	for _, der := range m.serving.Certificate {
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return map[string][]byte{keyAuthorities: authorities, keyAuthority: caKey, keyServing: chain.Bytes(), keyServingKey: servingKey}, nil
}

func encodeCertificates(all []*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, c := range all {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return text.Bytes()
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func serial() (*big.Int, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choose a serial number: %w", err)
	}
	return n, nil
}

func newCA(now time.Time, life time.Duration) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the authority's key: %w", err)
	}
	number, err := serial()
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: number,
		// The number keeps the names of successive authorities apart for clients that look issuers up by name.
		Subject:   pkix.Name{CommonName: "kserve-webhook-ca-" + fmt.Sprintf("%030x", number)[:8]},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign the authority: %w", err)
	}
	authority, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("read the authority: %w", err)
	}
	return authority, key, nil
}

func newServingPair(authority *x509.Certificate, caKey *ecdsa.PrivateKey, t terms) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the serving key: %w", err)
	}
	number, err := serial()
	if err != nil {
		return nil, err
	}
	until := t.now.Add(t.life.Serving)
	if until.After(authority.NotAfter) {
		until = authority.NotAfter
	}
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{CommonName: "kserve-webhook-server"},
		NotBefore: t.now.Add(-backdate), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range t.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("sign the serving certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the serving certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
