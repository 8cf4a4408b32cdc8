// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults is a wire to an API server that breaks on purpose: what goes over it is counted, and rules answer some requests with an
// error, with half an answer, late, or never.
//
// Called by: test/apiserver.
// Next: the API server of pkg/testkit/cluster.
package faults

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Request is one that came over the wire.
type Request struct {
	// User is the name of the service account whose token the request has, else empty.
	User string
	// Verb is Kubernetes' word: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource with its subresource, such as inferenceservices/status; empty for what is no resource.
	Resource, Namespace, Name string
	Path                      string
	// Faulty says that a rule has answered.
	Faulty bool
	Time   time.Time
}

// Writes says that the request is to change something.
func (r Request) Writes() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}

// Rule chooses requests and what becomes of them. Empty fields choose all.
type Rule struct {
	Users, Verbs, Resources []string
	Namespace, Name         string
	// Chance is how often the rule holds, between 0 and 1; 0 is always.
	Chance float64
	// Times ends the rule after so many faults; 0 is never.
	Times int
	Fault Fault
}

// Proxy is the wire.
type Proxy struct {
	server  *httptest.Server
	forward http.Handler

	mu       sync.Mutex
	random   *rand.Rand
	rules    map[int]*rule
	next     int
	requests []Request
	watches  map[int]context.CancelFunc
}

type rule struct {
	Rule
	hits int
}

// New listens. The seed decides what rules with a chance choose. Close ends it.
func New(to *rest.Config, seed uint64) (*Proxy, error) {
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, fmt.Errorf("read the address of the API server: %w", err)
	}
	tls, err := rest.TLSConfigFor(rest.AnonymousClientConfig(to))
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the API server: %w", err)
	}
	p := &Proxy{
		random: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // a test that can be repeated
		rules:  map[int]*rule{}, watches: map[int]context.CancelFunc{},
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	return p, nil
}

// Close cuts everything.
func (p *Proxy) Close() {
	p.CutWatches()
	p.server.CloseClientConnections()
	p.server.Close()
}

// Over is a config that goes over the wire.
func (p *Proxy) Over(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Host = p.server.URL
	c.CAFile, c.CAData = "", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return c
}

// Break adds a rule and returns what takes it away again and tells how often it held.
func (p *Proxy) Break(r Rule) (mend func() int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	id, held := p.next, &rule{Rule: r}
	p.rules[id] = held
	return func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.rules, id)
		return held.hits
	}
}

// CutWatches ends every watch that is open now, as a server does that goes away.
func (p *Proxy) CutWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.watches {
		cancel()
	}
}

// Requests are all so far that a function wants.
func (p *Proxy) Requests(wanted func(Request) bool) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Request
	for _, r := range p.requests {
		if wanted(r) {
			list = append(list, r)
		}
	}
	return list
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	request := read(r)
	fault := p.admit(request)
	if request.Verb == "watch" {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer p.open(cancel)()
		r = r.WithContext(ctx)
	}
	if fault == nil {
		fault = func(w http.ResponseWriter, r *http.Request, forward http.Handler) { forward.ServeHTTP(w, r) }
	}
	fault(w, r, p.forward)
}

// admit counts a request and finds the fault for it, nil for none.
func (p *Proxy) admit(r Request) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Time = time.Now()
	var fault Fault
	for _, id := range p.order() {
		one := p.rules[id]
		if !one.chooses(r) || one.Times > 0 && one.hits >= one.Times || one.Chance > 0 && p.random.Float64() >= one.Chance {
			continue
		}
		one.hits++
		fault, r.Faulty = one.Fault, true
		break
	}
	p.requests = append(p.requests, r)
	return fault
}

func (p *Proxy) order() []int {
	ids := make([]int, 0, len(p.rules))
	for id := range p.rules {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (r *Rule) chooses(q Request) bool {
	among := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	return among(r.Users, q.User) && among(r.Verbs, q.Verb) && among(r.Resources, q.Resource) &&
		(r.Namespace == "" || r.Namespace == q.Namespace) && (r.Name == "" || r.Name == q.Name)
}

func (p *Proxy) open(cancel context.CancelFunc) (closed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	id := p.next
	p.watches[id] = cancel
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, id)
	}
}

// read takes a request apart as the API server does.
func read(r *http.Request) Request {
	q := Request{Path: r.URL.Path, User: user(r.Header.Get("Authorization"))}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		q.Verb = strings.ToLower(r.Method)
		return q
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.Namespace, parts = parts[1], parts[2:]
	}
	q.Resource = parts[0]
	if len(parts) > 1 {
		q.Name = parts[1]
	}
	if len(parts) > 2 {
		q.Resource += "/" + parts[2]
	}
	q.Verb = verb(r, q.Name)
	return q
}

func verb(r *http.Request, name string) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch watch := r.URL.Query().Get("watch"); {
	case watch == "true" || watch == "1":
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}

// user is the service account that a token is for. It is read, not verified: that is the server's.
func user(authorization string) string {
	parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	claims := struct{ Sub string }{}
	if json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	return claims.Sub[strings.LastIndexByte(claims.Sub, ':')+1:]
}
