// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// TLS says how ports are secured. The zero value is cleartext. The files are looked at again while the server runs.
type TLS struct {
	// CertFile and KeyFile make the HTTP port HTTPS.
	CertFile, KeyFile string
	// GRPC secures the gRPC port with the same files.
	GRPC bool
	// ClientCAFile has the authorities whose clients are let in. Empty: clients show no certificate.
	ClientCAFile string
	// ClientAuth is what is asked of clients when ClientCAFile is given. Default ClientRequired.
	ClientAuth ClientAuth
	// MinVersion is the oldest version spoken: 1.2, the default, or 1.3.
	MinVersion string
}

// ClientAuth is what is asked of a client.
type ClientAuth string

// Values of ClientAuth.
const (
	// ClientRequired lets nobody in without a certificate.
	ClientRequired ClientAuth = "required"
	// ClientOptional lets clients without a certificate in, and refuses a wrong one.
	ClientOptional ClientAuth = "optional"
)

func (o TLS) on() bool { return o.CertFile != "" || o.KeyFile != "" || o.ClientCAFile != "" || o.GRPC }

// Validate says what does not go together.
func (o TLS) Validate() error {
	switch {
	case o.on() && (o.CertFile == "" || o.KeyFile == ""):
		return errors.New("TLS needs two files: the certificate and its key")
	case o.ClientAuth != "" && o.ClientAuth != ClientRequired && o.ClientAuth != ClientOptional:
		return fmt.Errorf("client authentication %q: expected %s or %s", o.ClientAuth, ClientRequired, ClientOptional)
	case o.ClientAuth != "" && o.ClientCAFile == "":
		return errors.New("client authentication needs a file of client authorities")
	}
	_, err := o.minVersion()
	return err
}

func (o TLS) minVersion() (uint16, error) {
	switch o.MinVersion {
	case "", "1.2":
		return tls.VersionTLS12, nil
	case "1.3":
		return tls.VersionTLS13, nil
	default:
		return 0, fmt.Errorf("TLS version %q: expected 1.2 or 1.3", o.MinVersion)
	}
}

const (
	// recheck is how old the look at the files may be.
	recheck = 2 * time.Second
	// settle is how long changed files have to stay the same: one that is being written may look whole, as a list of authorities does.
	settle = 20 * time.Millisecond
)

var errUnsettled = errors.New("the files are being written")

// secrets are the newest usable files of a TLS, which others replace while the server runs.
type secrets struct {
	opts   TLS
	min    uint16
	settle time.Duration
	log    *zap.Logger

	mu       sync.Mutex
	current  material
	looked   time.Time
	told     string // the last fault that was logged
	lastGone time.Time
}

// material is what is made of the files.
type material struct {
	files   [3][]byte // certificate, key, client authorities
	pair    *tls.Certificate
	clients *x509.CertPool // nil: clients show no certificate
}

func newSecrets(opts TLS, log *zap.Logger) (*secrets, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &secrets{opts: opts, settle: settle, log: log}
	s.min, _ = opts.minVersion()
	var err error
	if s.current, err = s.read(material{}); err != nil {
		return nil, err
	}
	s.looked = time.Now()
	s.warnOfAge()
	return s, nil
}

func (s *secrets) contents() (files [3][]byte, err error) {
	for i, name := range []string{s.opts.CertFile, s.opts.KeyFile, s.opts.ClientCAFile} {
		if name == "" {
			continue
		}
		if files[i], err = os.ReadFile(name); err != nil {
			return files, fmt.Errorf("load the %s: %w", [...]string{"certificate", "certificate's key", "client authorities"}[i], err)
		}
	}
	return files, nil
}

// read makes the material of the files, or returns old if they have not changed.
func (s *secrets) read(old material) (m material, err error) {
	if m.files, err = s.contents(); err != nil {
		return m, err
	}
	if old.pair != nil {
		if slices.EqualFunc(m.files[:], old.files[:], bytes.Equal) {
			return old, nil
		}
		time.Sleep(s.settle)
		again, err := s.contents()
		if err != nil {
			return m, err
		}
		if !slices.EqualFunc(m.files[:], again[:], bytes.Equal) {
			return m, errUnsettled
		}
	}
	pair, err := tls.X509KeyPair(m.files[0], m.files[1])
	if err != nil {
		return m, fmt.Errorf("load the certificate of %s and %s: %w", s.opts.CertFile, s.opts.KeyFile, err)
	}
	m.pair = &pair
	if s.opts.ClientCAFile == "" {
		return m, nil
	}
	m.clients = x509.NewCertPool()
	if !m.clients.AppendCertsFromPEM(m.files[2]) {
		return m, fmt.Errorf("load the client authorities: %s has no certificate in PEM", s.opts.ClientCAFile)
	}
	return m, nil
}

// newest looks at the files, not more often than every recheck. Files that cannot be read, or do not belong together yet, leave the old ones
// in use.
func (s *secrets) newest() material {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.looked) < recheck {
		return s.current
	}
	s.looked = time.Now()
	m, err := s.read(s.current)
	switch {
	case err == nil && m.pair != s.current.pair:
		s.log.Info("certificate reloaded", zap.String("file", s.opts.CertFile), zap.Time("expires", m.pair.Leaf.NotAfter))
		fallthrough
	case err == nil:
		s.current, s.told = m, ""
	case errors.Is(err, errUnsettled):
	case err.Error() != s.told:
		s.told = err.Error()
		s.log.Warn("the new certificate cannot be used; the old one stays", zap.Error(err))
	}
	s.warnOfAge()
	return s.current
}

// warnOfAge says, hourly at most, that clients will refuse the certificate. The caller holds mu, or nobody else has s.
func (s *secrets) warnOfAge() {
	leaf := s.current.pair.Leaf
	now := time.Now()
	if leaf == nil || now.Sub(s.lastGone) < time.Hour {
		return
	}
	switch {
	case now.After(leaf.NotAfter):
		s.log.Warn("the certificate has expired: clients refuse it", zap.String("file", s.opts.CertFile), zap.Time("expired", leaf.NotAfter))
	case now.Before(leaf.NotBefore):
		s.log.Warn("the certificate is not valid yet: clients refuse it", zap.String("file", s.opts.CertFile), zap.Time("from", leaf.NotBefore))
	default:
		return
	}
	s.lastGone = now
}

// config is for a port that speaks the protocols named. Each handshake gets the newest files.
func (s *secrets) config(protocols ...string) *tls.Config {
	base := &tls.Config{MinVersion: s.min, NextProtos: protocols}
	base.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.newest().pair, nil }
	if s.opts.ClientCAFile == "" {
		return base
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		m := s.newest()
		own := &tls.Config{MinVersion: s.min, NextProtos: protocols, Certificates: []tls.Certificate{*m.pair}, ClientCAs: m.clients}
		own.ClientAuth = tls.RequireAndVerifyClientCert
		if s.opts.ClientAuth == ClientOptional {
			own.ClientAuth = tls.VerifyClientCertIfGiven
		}
		// A resumed session would keep authorities that have been withdrawn since.
		own.SessionTicketsDisabled = true
		return own, nil
	}
	return base
}

// complaints writes what clients do wrong, in handshakes and by their number: a line each, but not more than perSecond, for any scanner makes
// them.
type complaints struct {
	log *zap.Logger

	mu         sync.Mutex
	second     int64
	count      int
	suppressed int
}

const perSecond = 10

func (c *complaints) add(client, what string) {
	// A client that connects and leaves is a probe of the port.
	if what == "EOF" || strings.HasSuffix(what, "connection reset by peer") {
		c.log.Debug("a client left during the TLS handshake", zap.String("client", client))
		return
	}
	c.warn("a TLS handshake failed", zap.String("client", client), zap.String("error", what))
}

// crowded tells of a connection for which there was no place.
func (c *complaints) crowded(conn net.Conn) {
	c.warn("a connection is closed: as many as --max_connections allows are open", zap.Stringer("client", conn.RemoteAddr()))
}

func (c *complaints) warn(text string, fields ...zap.Field) {
	c.mu.Lock()
	if now := time.Now().Unix(); now != c.second {
		c.second, c.count = now, 0
	}
	c.count++
	if c.count > perSecond {
		c.suppressed++
		c.mu.Unlock()
		return
	}
	suppressed := c.suppressed
	c.suppressed = 0
	c.mu.Unlock()
	if suppressed > 0 {
		fields = append(fields, zap.Int("notLogged", suppressed))
	}
	c.log.Warn(text, fields...)
}

// Write takes the lines of net/http's own log, one each.
func (c *complaints) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if rest, ok := strings.CutPrefix(text, "http: TLS handshake error from "); ok {
		client, what, _ := strings.Cut(rest, ": ")
		c.add(client, what)
	} else {
		c.log.Warn(text)
	}
	return len(line), nil
}

// secureListener hands out connections that do their handshake when they are first used, and tell when it fails. It is for gRPC: net/http
// has its own.
type secureListener struct {
	net.Listener
	config     *tls.Config
	complaints *complaints
}

// Accept implements net.Listener.
func (l *secureListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &secureConn{Conn: tls.Server(conn, l.config), complaints: l.complaints}, nil
}

// secureConn is a connection of a secured gRPC port. A gRPC server with SecureCredentials does the handshake in its own time.
type secureConn struct {
	*tls.Conn
	complaints *complaints
	once       sync.Once
	failed     error
}

// HandshakeContext does the handshake once.
func (c *secureConn) HandshakeContext(ctx context.Context) error {
	c.once.Do(func() {
		if c.failed = c.Conn.HandshakeContext(ctx); c.failed != nil {
			c.complaints.add(c.RemoteAddr().String(), c.failed.Error())
		}
	})
	return c.failed
}

// Read does the handshake before the first byte.
func (c *secureConn) Read(p []byte) (int, error) {
	if err := c.HandshakeContext(context.Background()); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}
