// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netguard decides which schemes, hosts and addresses a fetch may reach, and enforces it where it counts: at every dial, on the
// resolved address, and at every redirect.
//
// Called by: storage/provider/{web,s3} for their transports, storage/builtin to build the policy.
// Next: net/http, through the transport that it makes.
package netguard

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// Policy says what may be reached. The zero value allows every scheme and host, and refuses loopback, link-local and metadata addresses.
type Policy struct {
	// Schemes, when not empty, are the only ones allowed.
	Schemes []string
	// Hosts, when not empty, are the only ones allowed: a name, or ".suffix" for every name below it. Buckets are not hosts.
	Hosts []string
	// AllowLoopback permits 127.0.0.0/8, ::1 and the unspecified addresses.
	AllowLoopback bool
	// Allow lists addresses that are permitted whatever the other rules say.
	Allow []netip.Prefix
	// Deny lists addresses that are refused besides the built-in ones: the API server's, for instance.
	Deny []netip.Prefix
	// ConnectTimeout bounds one dial; 15 s when zero.
	ConnectTimeout time.Duration
}

// metadata are the addresses where clouds answer with credentials and that are not link-local.
//
//nolint:gochecknoglobals // a constant table
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

// nat64 embeds an IPv4 address in its last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96") //nolint:gochecknoglobals // a constant

// CheckScheme refuses a scheme that is not allowed.
func (p *Policy) CheckScheme(scheme string) error {
	if len(p.Schemes) == 0 || slices.Contains(p.Schemes, scheme) {
		return nil
	}
	return provider.Errorf(provider.Refused, "scheme %q is not allowed here (allowed: %s)", scheme, strings.Join(p.Schemes, ", "))
}

// CheckHost refuses a host name that is not allowed, and a literal address that is not.
func (p *Policy) CheckHost(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if len(p.Hosts) > 0 && !slices.ContainsFunc(p.Hosts, func(h string) bool {
		h = strings.ToLower(h)
		return host == h || strings.HasPrefix(h, ".") && strings.HasSuffix(host, h)
	}) {
		return provider.Errorf(provider.Refused, "host %q is not allowed here (allowed: %s)", host, strings.Join(p.Hosts, ", "))
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return p.CheckAddr(addr)
	}
	return nil
}

// CheckAddr refuses an address that a fetch must not reach.
func (p *Policy) CheckAddr(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	in := func(set []netip.Prefix) bool {
		return slices.ContainsFunc(set, func(x netip.Prefix) bool { return x.Contains(addr) })
	}
	var what string
	switch {
	case in(p.Allow):
		return nil
	case in(p.Deny):
		what = "denied"
	case addr.IsLoopback() || addr.IsUnspecified():
		if p.AllowLoopback {
			return nil
		}
		what = "loopback"
	case addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast() || addr.IsMulticast():
		what = "link-local or multicast"
	case in(metadata):
		what = "metadata"
	default:
		return nil
	}
	return provider.Errorf(provider.Refused, "address %s is a %s address, which fetches may not reach unless it is allowed", addr, what)
}

// control runs for every connection attempt, after the name was resolved.
func (p *Policy) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return provider.Errorf(provider.Refused, "dial %q: not an IP address", address)
	}
	return p.CheckAddr(ap.Addr())
}

// Transport returns an HTTP/1.1 transport whose every dial is checked. A proxy from the environment is the operator's choice: its
// address is not checked, the target's name and literal address are.
func (p *Policy) Transport(tlsConfig *tls.Config, conns int) *http.Transport {
	timeout := p.ConnectTimeout
	if timeout <= 0 {
		timeout = 15 * time.Second
	}
	guarded := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, ControlContext: p.control}
	plain := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	proxies := &proxyAddrs{}
	return &http.Transport{
		Proxy: proxies.proxy,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if proxies.has(addr) {
				return plain.DialContext(ctx, network, addr)
			}
			return guarded.DialContext(ctx, network, addr)
		},
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: timeout,
		MaxIdleConns:        conns,
		MaxIdleConnsPerHost: conns,
		IdleConnTimeout:     90 * time.Second,
		// A model's bytes do not compress, and ranges are of the encoded form.
		DisableCompression: true,
		ReadBufferSize:     32 << 10,
	}
}

// CheckURL refuses a URL whose scheme is not http(s), or whose host is not allowed.
func (p *Policy) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return provider.Errorf(provider.Refused, "URL scheme %q is not http or https", u.Scheme)
	}
	if err := p.CheckScheme(u.Scheme); err != nil {
		return err
	}
	return p.CheckHost(u.Hostname())
}

// MaxRedirects is how many redirects one request may follow.
const MaxRedirects = 10

// CheckRedirect is for http.Client: it follows at most MaxRedirects, never from https to http, each checked by the policy.
func (p *Policy) CheckRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= MaxRedirects {
		return provider.Errorf(provider.Refused, "more than %d redirects, last to %s", MaxRedirects, req.URL.Host)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http" {
		return provider.Errorf(provider.Refused, "redirect from https to plain http (%s)", req.URL.Host)
	}
	if err := p.CheckURL(req.URL); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	return nil
}
