// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/kserve-go/kserve-go/pkg/testkit/pki"
)

// files writes a server's files and the authority of its clients.
func files(t *testing.T, server, clients *pki.Authority, serial int64, until time.Time) TLS {
	t.Helper()
	var o TLS
	o.CertFile, o.KeyFile, _ = server.Files(t, serial, until)
	if clients != nil {
		_, _, o.ClientCAFile = clients.Files(t, serial, until)
	}
	return o
}

// secured starts a server and returns what it logs.
func secured(t *testing.T, o TLS) (*Server, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.InfoLevel)
	opts := Options{HTTP: Endpoint{Addr: "127.0.0.1:0"}, TLS: o}
	s := New(opts, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }), nil, zap.New(core))
	require.NoError(t, s.Listen(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return s, logs
}

// again makes the server look at its files with the next handshake.
func (s *Server) again() {
	s.secrets.mu.Lock()
	s.secrets.looked = time.Time{}
	s.secrets.mu.Unlock()
}

func ask(t *testing.T, s *Server, config *tls.Config) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	resp, err := client.Get("https://" + s.HTTPAddr().String())
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// refused does a handshake and waits for what the server says: with TLS 1.3 that comes after the client's own end of it.
func refused(t *testing.T, s *Server, config *tls.Config) error {
	t.Helper()
	conn, err := tls.Dial("tcp", s.HTTPAddr().String(), config)
	if err != nil {
		return err
	}
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestHTTPSServesTheNewestFiles(t *testing.T) {
	ca, first, second := pki.New(t, "servers"), pki.New(t, "old clients"), pki.New(t, "new clients")
	until := time.Now().Add(time.Hour)
	o := files(t, ca, first, 1, until)
	s, logs := secured(t, o)
	as := func(who *pki.Authority) *tls.Config {
		pair := who.Pair(t, until)
		return &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }}
	}
	serial := func(who *pki.Authority) int64 {
		resp, proto, err := ask(t, s, as(who))
		require.NoError(t, err)
		require.Equal(t, "HTTP/2.0", proto)
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial(first))
	require.ErrorContains(t, refused(t, s, as(second)), "tls: unknown certificate authority")

	cert, key := ca.Issue(t, 22, until)
	require.NoError(t, os.WriteFile(o.CertFile, cert, 0o600))
	s.again()
	require.Equal(t, int64(1), serial(first), "the certificate and the key do not belong together yet")
	s.again()
	require.Equal(t, int64(1), serial(first))
	require.Equal(t, 1, logs.FilterMessage("the new certificate cannot be used; the old one stays").Len(), "it is told once")
	require.NoError(t, os.WriteFile(o.KeyFile, key, 0o600))
	require.NoError(t, os.WriteFile(o.ClientCAFile, second.PEM, 0o600))
	s.again()
	require.Equal(t, int64(22), serial(second))
	require.Equal(t, 1, logs.FilterMessage("certificate reloaded").Len())
	require.ErrorContains(t, refused(t, s, as(first)), "tls: unknown certificate authority", "the old authority is not let in any more")
}

// A list of authorities that is half written is a list, too: it is not used before it has been left alone.
func TestFilesThatAreBeingWrittenAreNotUsed(t *testing.T) {
	soon := time.Now().Add(time.Hour)
	o := files(t, pki.New(t, "servers"), pki.New(t, "first"), 1, soon)
	first, err := os.ReadFile(o.ClientCAFile)
	require.NoError(t, err)
	_, _, file := pki.New(t, "second").Files(t, 1, soon)
	second, err := os.ReadFile(file)
	require.NoError(t, err)
	write := func(text []byte) { require.NoError(t, os.WriteFile(o.ClientCAFile, text, 0o600)) }
	write(append(bytes.Clone(second), first...))
	s, err := newSecrets(o, zap.NewNop())
	require.NoError(t, err)
	look := func() material {
		s.looked = time.Time{}
		return s.newest()
	}
	before := s.current
	s.settle = time.Second // long enough for the rest to be written, however busy the machine is
	write(second)
	rest := time.AfterFunc(100*time.Millisecond, func() { write(append(bytes.Clone(second), first...)) })
	defer rest.Stop()
	require.Same(t, before.clients, look().clients)

	s.settle = 0
	write(first)
	require.NotSame(t, before.clients, look().clients, "what stays is used")
}

func TestClientsAreToldWhyTheyAreNotLetIn(t *testing.T) {
	ca, clients := pki.New(t, "servers"), pki.New(t, "clients")
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	with := func(c *tls.Certificate) *tls.Config {
		// Shown whatever authorities the server names.
		return &tls.Config{RootCAs: ca.Pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c, nil }}
	}
	old := func(version uint16) *tls.Config { return &tls.Config{RootCAs: ca.Pool(), MaxVersion: version} }
	cases := map[string]struct {
		auth   ClientAuth
		open   bool // no client authority
		min    string
		client *tls.Config
		alert  string // what the client sees; empty: it is let in
		log    string
	}{
		"a known client": {client: with(clients.Pair(t, soon))},
		"a client without a certificate": {
			client: &tls.Config{RootCAs: ca.Pool()},
			alert:  "remote error: tls: certificate required", log: "tls: client didn't provide a certificate",
		},
		"a client of another authority": {
			client: with(ca.Pair(t, soon)),
			alert:  "remote error: tls: unknown certificate authority", log: "x509: certificate signed by unknown authority",
		},
		"an expired client": {
			client: with(clients.Pair(t, past)),
			alert:  "remote error: tls: expired certificate", log: "x509: certificate has expired or is not yet valid",
		},
		"optional: without a certificate": {auth: ClientOptional, client: &tls.Config{RootCAs: ca.Pool()}},
		"optional: with a wrong one": {
			auth: ClientOptional, client: with(ca.Pair(t, soon)),
			alert: "remote error: tls: unknown certificate authority", log: "x509: certificate signed by unknown authority",
		},
		"a client by the certificate's name": {open: true, client: &tls.Config{RootCAs: ca.Pool(), ServerName: "model.test"}},
		"a client that wants another name": {
			open: true, client: &tls.Config{RootCAs: ca.Pool(), ServerName: "other.test"},
			alert: "certificate is valid for model.test, not other.test", log: "remote error: tls: bad certificate",
		},
		"a client that does not know the authority": {
			open: true, client: &tls.Config{RootCAs: clients.Pool()},
			alert: "x509: certificate signed by unknown authority", log: "remote error: tls: bad certificate",
		},
		"TLS 1.1": {
			open: true, client: old(tls.VersionTLS11),
			alert: "remote error: tls: protocol version not supported", log: "tls: client offered only unsupported versions: [302 301]",
		},
		"TLS 1.2":                     {open: true, client: old(tls.VersionTLS12)},
		"TLS 1.2 where 1.3 is wanted": {open: true, min: "1.3", client: old(tls.VersionTLS12), alert: "remote error: tls: protocol version not supported", log: "tls: client offered only unsupported versions: [303"},
		"TLS 1.3 where 1.3 is wanted": {open: true, min: "1.3", client: old(tls.VersionTLS13)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			authorities := clients
			if c.open {
				authorities = nil
			}
			o := files(t, ca, authorities, 1, soon)
			o.ClientAuth, o.MinVersion = c.auth, c.min
			if c.client.MaxVersion == tls.VersionTLS11 {
				c.client.MinVersion = tls.VersionTLS10
			}
			s, logs := secured(t, o)
			if c.alert == "" {
				_, _, err := ask(t, s, c.client)
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, refused(t, s, c.client), c.alert)
			failed := func() []observer.LoggedEntry { return logs.FilterMessage("a TLS handshake failed").All() }
			require.Eventually(t, func() bool { return len(failed()) == 1 }, 5*time.Second, time.Millisecond)
			require.Contains(t, failed()[0].ContextMap()["error"], c.log)
			require.Contains(t, failed()[0].ContextMap()["client"], "127.0.0.1:")
		})
	}
}

func TestAnExpiredCertificateIsServedWithAWarning(t *testing.T) {
	ca := pki.New(t, "servers")
	s, logs := secured(t, files(t, ca, nil, 1, time.Now().Add(-time.Minute)))
	require.Equal(t, 1, logs.FilterMessage("the certificate has expired: clients refuse it").Len())
	_, _, err := ask(t, s, &tls.Config{RootCAs: ca.Pool()})
	require.ErrorContains(t, err, "certificate has expired")
}

func TestHandshakesThatFailDoNotFloodTheLog(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	c := &complaints{log: zap.New(core)}
	for range 100 {
		_, err := c.Write([]byte("http: TLS handshake error from 10.0.0.1:99: tls: no\n"))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, logs.Len(), 2*perSecond)
	c.second = 0
	c.add("10.0.0.1:99", "tls: no")
	last := logs.All()[logs.Len()-1].ContextMap()
	require.Equal(t, "10.0.0.1:99", last["client"])
	require.Equal(t, "tls: no", last["error"])
	require.Positive(t, last["notLogged"])
	c.add("10.0.0.1:99", "EOF")
	require.Equal(t, zap.DebugLevel, logs.All()[logs.Len()-1].Level, "a probe of the port is no fault")
}

func TestTLSOptionsThatCannotBe(t *testing.T) {
	ca := pki.New(t, "servers")
	good := files(t, ca, ca, 1, time.Now().Add(time.Hour))
	other := files(t, ca, ca, 2, time.Now().Add(time.Hour))
	cases := map[string]struct {
		change func(*TLS)
		want   string
	}{
		"a file that is not there":      {func(o *TLS) { o.CertFile = "absent.crt" }, "load the certificate: open absent.crt"},
		"no key":                        {func(o *TLS) { o.KeyFile = "" }, "TLS needs two files: the certificate and its key"},
		"gRPC without a certificate":    {func(o *TLS) { *o = TLS{GRPC: true} }, "TLS needs two files"},
		"a key of another certificate":  {func(o *TLS) { o.KeyFile = other.KeyFile }, "private key does not match public key"},
		"authorities that are none":     {func(o *TLS) { o.ClientCAFile = o.KeyFile }, "has no certificate in PEM"},
		"authorities that are absent":   {func(o *TLS) { o.ClientCAFile = "absent.crt" }, "load the client authorities: open absent.crt"},
		"a version that is not spoken":  {func(o *TLS) { o.MinVersion = "1.1" }, `TLS version "1.1": expected 1.2 or 1.3`},
		"a client authentication":       {func(o *TLS) { o.ClientAuth = "maybe" }, `client authentication "maybe": expected required or optional`},
		"one without whom to ask about": {func(o *TLS) { o.ClientAuth, o.ClientCAFile = ClientOptional, "" }, "client authentication needs a file of client authorities"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			err := New(Options{HTTP: Endpoint{Addr: "127.0.0.1:0"}, TLS: o}, http.NotFoundHandler(), nil, zap.NewNop()).Run(t.Context())
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A volume of a Secret is a link to a directory that is replaced as a whole; its files may have the times and the sizes of the old ones.
func TestFilesBehindALinkThatMoves(t *testing.T) {
	ca := pki.New(t, "servers")
	until := time.Now().Add(time.Hour)
	dir := t.TempDir()
	same := time.Now().Add(-time.Hour)
	publish := func(generation string, serial int64) {
		cert, key := ca.Issue(t, serial, until)
		require.NoError(t, os.Mkdir(filepath.Join(dir, generation), 0o700))
		for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
			path := filepath.Join(dir, generation, name)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			require.NoError(t, os.Chtimes(path, same, same))
		}
		require.NoError(t, os.Symlink(generation, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	publish("..1", 1)
	for _, name := range []string{"tls.crt", "tls.key"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	s, logs := secured(t, TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")})
	serial := func() int64 {
		s.again()
		resp, _, err := ask(t, s, &tls.Config{RootCAs: ca.Pool()})
		require.NoError(t, err)
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	require.Equal(t, int64(1), serial())
	publish("..2", 2)
	require.Equal(t, int64(2), serial())
	require.Equal(t, int64(2), serial())
	require.Equal(t, 1, logs.FilterMessage("certificate reloaded").Len())

	other, _ := ca.Issue(t, 4, until)
	for name, breakIt := range map[string]func(path string) error{
		"empty":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"another's": func(path string) error { return os.WriteFile(path, other, 0o600) },
		"gone":      os.Remove,
	} {
		require.NoError(t, breakIt(filepath.Join(dir, "..2", "tls.crt")), name)
		require.Equal(t, int64(2), serial(), name)
		require.Equal(t, int64(2), serial(), name)
	}
	require.Equal(t, 3, logs.FilterMessage("the new certificate cannot be used; the old one stays").Len(), "each fault is told once")
	publish("..3", 3)
	require.Equal(t, int64(3), serial())
}
