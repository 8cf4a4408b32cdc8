// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
)

func TestAddresses(t *testing.T) {
	for addr, refused := range map[string]bool{
		"127.0.0.1": true, "127.8.9.10": true, "::1": true, "0.0.0.0": true, "::": true, "::ffff:127.0.0.1": true, "64:ff9b::7f00:1": true,
		"169.254.169.254": true, "169.254.0.1": true, "fe80::1%eth0": true, "fd00:ec2::254": true, "64:ff9b::a9fe:a9fe": true,
		"100.100.100.200": true, "168.63.129.16": true, "224.0.0.1": true, "ff02::1": true,
		"10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "fd12::1": false, "8.8.8.8": false, "2001:db8::1": false,
	} {
		err := (&netguard.Policy{}).CheckAddr(netip.MustParseAddr(addr))
		if !refused {
			require.NoError(t, err, addr)
			continue
		}
		require.Equal(t, provider.Refused, provider.KindOf(err), addr)
	}
	p := &netguard.Policy{
		AllowLoopback: true,
		Allow:         []netip.Prefix{netip.MustParsePrefix("169.254.169.0/24")},
		Deny:          []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32"), netip.MustParsePrefix("169.254.169.254/32")},
	}
	require.NoError(t, p.CheckAddr(netip.MustParseAddr("127.0.0.1")))
	require.NoError(t, p.CheckAddr(netip.MustParseAddr("169.254.169.254")), "what is allowed by address wins")
	require.Error(t, p.CheckAddr(netip.MustParseAddr("169.254.1.1")))
	require.Error(t, p.CheckAddr(netip.MustParseAddr("10.96.0.1")))
}

func TestHosts(t *testing.T) {
	p := &netguard.Policy{Hosts: []string{"models.example.com", ".s3.example.com"}}
	for host, ok := range map[string]bool{
		"models.example.com": true, "MODELS.example.com.": true, "b.s3.example.com": true, "s3.example.com": false,
		"evil-models.example.com": false, "models.example.com.evil.org": false, "": false,
	} {
		require.Equal(t, ok, p.CheckHost(host) == nil, host)
	}
}

func TestProxyOfTheEnvironmentMayBeLocal(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked", r.URL.String())
	}))
	defer proxy.Close()
	// The standard library reads the proxy variables once per process, so the transport's own hook is given the answer.
	tr := (&netguard.Policy{}).Transport(nil, 1)
	u, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	tr.Proxy = http.ProxyURL(u)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://models.example.com/m", http.NoBody)
	require.NoError(t, err)
	_, err = tr.RoundTrip(req)
	require.Equal(t, provider.Refused, provider.KindOf(err), "only a proxy that the environment names is trusted")
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999": 0,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		require.Equal(t, want, netguard.RetryAfter(http.Header{"Retry-After": {value}}, now), value)
	}
}

func TestATLSClientAtAPlainPortIsNotTriedAgain(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	client := &http.Client{Transport: (&netguard.Policy{AllowLoopback: true}).Transport(nil, 1)}
	_, err := client.Get("https" + plain.URL[len("http"):])
	require.Error(t, err)
	require.Equal(t, provider.Other, provider.KindOf(netguard.Network(err, "get x")))
}
