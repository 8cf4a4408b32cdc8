// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"net"
	"sync"
	"time"
)

const (
	// sessionIdle is how long a client's answers are waited for.
	sessionIdle = 30 * time.Second
	// maxSessions bounds the clients of one port; beyond it packets of new clients are lost, as packets may be.
	maxSessions = 1024
	maxPacket   = 64 << 10
)

// packets carries the datagrams of one port: each client has a socket of its own to an endpoint, by which answers find their way back.
type packets struct {
	conn      net.PacketConn
	endpoints *endpoints

	mu       sync.Mutex
	sessions map[string]*session
}

type session struct{ to net.Conn }

func (p *packets) serve(ctx context.Context) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.sessions {
			s.to.Close()
		}
	}()
	buf := make([]byte, maxPacket)
	for {
		n, client, err := p.conn.ReadFrom(buf)
		if err != nil {
			return // closed: the service or its endpoints are gone
		}
		if s := p.session(ctx, client); s != nil {
			_ = s.to.SetReadDeadline(time.Now().Add(sessionIdle))
			_, _ = s.to.Write(buf[:n]) // a datagram may be lost
		}
	}
}

func (p *packets) session(ctx context.Context, client net.Addr) *session {
	key := client.String()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[key]; s != nil {
		return s
	}
	host, _, err := net.SplitHostPort(key)
	order := p.endpoints.order(host)
	if err != nil || len(order) == 0 || len(p.sessions) >= maxSessions {
		return nil
	}
	to, err := (&net.Dialer{}).DialContext(ctx, "udp", order[0])
	if err != nil {
		return nil
	}
	p.endpoints.chosen(host, order[0])
	s := &session{to: to}
	p.sessions[key] = s
	go p.answers(key, client, s)
	return s
}

// answers carries what the endpoint says until it was silent for long, or refuses.
func (p *packets) answers(key string, client net.Addr, s *session) {
	defer func() {
		s.to.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.sessions, key)
	}()
	buf := make([]byte, maxPacket)
	for {
		n, err := s.to.Read(buf)
		if err != nil {
			return
		}
		if _, err := p.conn.WriteTo(buf[:n], client); err != nil {
			return
		}
	}
}
