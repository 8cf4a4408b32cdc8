// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args  []string
		fails string
		check func(*testing.T, *tls.Config)
	}{
		"nothing": {nil, "", func(t *testing.T, c *tls.Config) {
			t.Helper()
			require.Equal(t, uint16(tls.VersionTLS12), c.MinVersion)
		}},
		"TLS 1.3": {[]string{"--tls-min-version=VersionTLS13"}, "", func(t *testing.T, c *tls.Config) {
			t.Helper()
			require.Equal(t, uint16(tls.VersionTLS13), c.MinVersion)
		}},
		"an old TLS":          {[]string{"--tls-min-version=VersionTLS10"}, "VersionTLS12 or VersionTLS13", nil},
		"a suite":             {[]string{"--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}, "", func(t *testing.T, c *tls.Config) { t.Helper(); require.Len(t, c.CipherSuites, 1) }},
		"a suite that is not": {[]string{"--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA"}, "possible are TLS_", nil},
		"an address":          {[]string{"--webhook-url-base=https://127.0.0.1:9443"}, "", nil},
		"no TLS":              {[]string{"--webhook-url-base=http://127.0.0.1:9443"}, "https://host:port", nil},
		"a path":              {[]string{"--webhook-url-base=https://127.0.0.1/x"}, "https://host:port", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := NewOptions()
			fs := pflag.NewFlagSet("x", pflag.ContinueOnError)
			o.BindFlags(fs)
			require.NoError(t, fs.Parse(c.args))
			config, err := o.tlsConfig()
			if err == nil {
				_, err = o.certificateOptions()
			}
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				return
			}
			require.NoError(t, err)
			if c.check != nil {
				c.check(t, config)
			}
		})
	}
}

func TestWithoutAnAPIServerTheWebhookSaysHowToNameOne(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	o.Probe.Kubeconfig = t.TempDir() + "/none"
	require.ErrorIs(t, Run(context.Background(), o, zap.NewNop()), os.ErrNotExist)
}

func TestABusyPortIsNamed(t *testing.T) {
	t.Parallel()
	o := NewOptions()
	o.Probe.Kubeconfig = t.TempDir() + "/kubeconfig"
	require.NoError(t, os.WriteFile(o.Probe.Kubeconfig, []byte("{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], contexts: [{name: x, context: {cluster: c}}], current-context: x}"), 0o600))
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close()
	address, ok := busy.Addr().(*net.TCPAddr)
	require.True(t, ok)
	o.Host, o.Port = "127.0.0.1", address.Port
	err = Run(t.Context(), o, zap.NewNop())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "--webhook-port")
}
