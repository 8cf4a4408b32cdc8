// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki writes the certificates, the service-account key and the kubeconfig of one cluster, and keeps those that are still good.
//
// Called by: cluster.
// Next: controlplane and kubelet, which serve with them.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kserve-go/kserve-go/local/place"
)

const (
	lifetime = 365 * 24 * time.Hour
	// renewBefore is how long a kept certificate must still live to be kept once more.
	renewBefore = 30 * 24 * time.Hour
	keyBits     = 2048
)

// Authority is a certificate authority in a folder: NAME.crt and NAME.key.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is the certificate.
	PEM []byte
}

// Request describes a certificate for server and client use.
type Request struct {
	Name  string // file name without ending
	User  string
	Group string
	Hosts []string
	IPs   []net.IP
}

// Pair is a certificate and its key as PEM.
type Pair struct{ Cert, Key []byte }

// OpenAuthority reads the authority of that name, or makes it. made says that it is new: certificates of an older one are void.
func OpenAuthority(dir, name string) (a *Authority, made bool, err error) {
	a, err = readAuthority(dir, name)
	if err == nil && time.Until(a.cert.NotAfter) > renewBefore {
		return a, false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("read authority %s: %w (remove %s to make a new one)", name, err, dir)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, false, fmt.Errorf("make key: %w", err)
	}
	t, err := template(Request{User: name})
	if err != nil {
		return nil, false, err
	}
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage |= x509.KeyUsageCertSign
	t.NotAfter = time.Now().Add(10 * lifetime)
	pair, der, err := sign(t, t, key, key)
	if err != nil {
		return nil, false, err
	}
	if err := writePair(dir, name, pair); err != nil {
		return nil, false, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, false, fmt.Errorf("parse own certificate: %w", err)
	}
	return &Authority{dir: dir, cert: cert, key: key, PEM: pair.Cert}, true, nil
}

func readAuthority(dir, name string) (*Authority, error) {
	pair, err := readPair(dir, name)
	if err != nil {
		return nil, err
	}
	cert, err := parseCert(pair.Cert)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(pair.Key)
	if block == nil {
		return nil, fmt.Errorf("%s.key holds no PEM block", name)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse %s.key: %w", name, err)
	}
	return &Authority{dir: dir, cert: cert, key: key, PEM: pair.Cert}, nil
}

// Issue writes a new certificate and its key as NAME.crt and NAME.key.
func (a *Authority) Issue(r Request) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("make key: %w", err)
	}
	t, err := template(r)
	if err != nil {
		return Pair{}, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	pair, _, err := sign(t, a.cert, key, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("issue %s: %w", r.Name, err)
	}
	return pair, writePair(a.dir, r.Name, pair)
}

func template(r Request) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw serial number: %w", err)
	}
	subject := pkix.Name{CommonName: r.User}
	if r.Group != "" {
		subject.Organization = []string{r.Group}
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		DNSNames:     r.Hosts,
		IPAddresses:  r.IPs,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}, nil
}

func sign(t, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (pair Pair, der []byte, err error) {
	der, err = x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, parentKey)
	if err != nil {
		return Pair{}, nil, fmt.Errorf("sign certificate: %w", err)
	}
	k, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return Pair{}, nil, fmt.Errorf("encode key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: k}),
	}, der, nil
}

func parseCert(b []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("no PEM block in certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse certificate: %w", err)
	}
	return c, nil
}

func readPair(dir, name string) (Pair, error) {
	c, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return Pair{}, fmt.Errorf("read certificate: %w", err)
	}
	k, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return Pair{}, fmt.Errorf("read key: %w", err)
	}
	return Pair{Cert: c, Key: k}, nil
}

func writePair(dir, name string, p Pair) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make certificate folder: %w", err)
	}
	for file, b := range map[string][]byte{name + ".crt": p.Cert, name + ".key": p.Key} {
		if err := place.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return nil
}

// SigningKey makes sure that sa.key and sa.pub exist, with which service-account tokens are signed and checked. An existing key is
// kept: tokens in running pods must stay good over a restart.
func SigningKey(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "sa.pub")); err == nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return fmt.Errorf("make service-account key: %w", err)
	}
	pub, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode service-account key: %w", err)
	}
	// The public one last: that it is there says that both are.
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := place.WriteFile(filepath.Join(dir, "sa.key"), private, 0o600); err != nil {
		return fmt.Errorf("write service-account key: %w", err)
	}
	if err := place.WriteFile(filepath.Join(dir, "sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pub}), 0o600); err != nil {
		return fmt.Errorf("write service-account key: %w", err)
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig with one context of that name.
func WriteKubeconfig(path, name, server string, ca []byte, user Pair) error {
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: user.Cert, ClientKeyData: user.Key}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
