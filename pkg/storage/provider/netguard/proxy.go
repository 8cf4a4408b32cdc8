// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"net"
	"net/http"
	"net/url"
	"sync"
)

// proxyAddrs remembers which dial addresses are proxies that the environment names.
type proxyAddrs struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (p *proxyAddrs) proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u == nil || err != nil {
		return u, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[net.JoinHostPort(u.Hostname(), port)] = true
	return u, nil
}

func (p *proxyAddrs) has(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[addr]
}
