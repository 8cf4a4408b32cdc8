// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gatewayapi

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Filters are what a rule or a backend does to requests and answers.
type Filters struct {
	Request, Response *Headers
	Rewrite           *Rewrite
	Redirect          *Redirect
	Mirrors           []Mirror
}

// Headers changes those of a request or an answer.
type Headers struct {
	set, add []gatewayv1.HTTPHeader
	remove   []string
}

// Apply changes h: what is set takes the place of what was there.
func (c *Headers) Apply(h http.Header) {
	if c == nil {
		return
	}
	for _, v := range c.set {
		h.Set(string(v.Name), v.Value)
	}
	for _, v := range c.add {
		h.Add(string(v.Name), v.Value)
	}
	for _, name := range c.remove {
		h.Del(name)
	}
}

func newHeaders(f *gatewayv1.HTTPHeaderFilter) *Headers {
	if f == nil {
		return nil
	}
	return &Headers{set: f.Set, add: f.Add, remove: f.Remove}
}

// Rewrite changes the host and the path that a backend sees.
type Rewrite struct {
	// Host is empty where it stays.
	Host string
	path *newPath
}

// Path changes the path of u, which was matched by a prefix.
func (w *Rewrite) Path(u *url.URL, prefix string) {
	if w.path != nil {
		w.path.change(u, prefix)
	}
}

// newPath takes the place of a whole path, or of the prefix that a rule matched.
type newPath struct {
	text   string
	prefix bool
}

func (p *newPath) change(u *url.URL, prefix string) {
	raw := u.RawPath
	u.Path, u.RawPath = p.instead(u.Path, prefix), ""
	if rest, ok := strings.CutPrefix(raw, strings.TrimSuffix(prefix, "/")); ok && p.prefix {
		// What a client had escaped stays so; without effect where the two do not mean the same.
		u.RawPath = cmp.Or((&url.URL{Path: strings.TrimSuffix(p.text, "/")}).EscapedPath()+rest, "/")
	}
}

func (p *newPath) instead(path, prefix string) string {
	if !p.prefix {
		return p.text
	}
	rest, _ := strings.CutPrefix(path, strings.TrimSuffix(prefix, "/")) // the rule matched it
	return cmp.Or(strings.TrimSuffix(p.text, "/")+rest, "/")
}

// Redirect sends the client elsewhere.
type Redirect struct {
	scheme, host string
	port         int32
	path         *newPath
	// Status is the code to answer.
	Status int
}

// Location is where the client of a request is sent. Where nothing says another port, it is the one that the client knows the gateway by:
// inside the cluster that is another.
func (d *Redirect) Location(r *http.Request, prefix string) string {
	host, port := hostAndPort(r.Host)
	switch {
	case d.port != 0:
		port = strconv.Itoa(int(d.port))
	case d.scheme != "":
		port = ""
	}
	to := url.URL{Scheme: cmp.Or(d.scheme, "http"), Host: cmp.Or(d.host, host), Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[to.Scheme] {
		to.Host = net.JoinHostPort(to.Host, port)
	}
	if d.path != nil {
		d.path.change(&to, prefix)
	}
	return to.String()
}

// Mirror is a backend that gets copies of some requests.
type Mirror struct {
	Backend
	share  *share
	copies uint64
}

// Due says whether the request at hand is one to copy.
func (m *Mirror) Due() bool { return m.copies > 0 && m.share.turn() < m.copies }

func newMirror(f *gatewayv1.HTTPRequestMirrorFilter, to Backend) (Mirror, error) {
	copies, of := int64(100), int64(100)
	switch {
	case f.Fraction != nil:
		copies, of = int64(f.Fraction.Numerator), 100
		if f.Fraction.Denominator != nil {
			of = int64(*f.Fraction.Denominator)
		}
	case f.Percent != nil:
		copies = int64(*f.Percent)
	}
	if copies < 0 || of < 1 || copies > of {
		return Mirror{}, fmt.Errorf("%d of %d requests cannot be mirrored", copies, of)
	}
	return Mirror{Backend: to, copies: uint64(copies), share: newShare(uint64(of))}, nil
}

// filters reads those of a rule or a backend. An error is about what this gateway cannot do: such a rule must not be served as if it could.
func (c *compiler) filters(route *gatewayv1.HTTPRoute, list []gatewayv1.HTTPRouteFilter, prefixed bool) (Filters, error) {
	var out Filters
	for i := range list {
		f := &list[i]
		var err error
		switch {
		case f.Type == gatewayv1.HTTPRouteFilterRequestHeaderModifier && f.RequestHeaderModifier != nil:
			out.Request = newHeaders(f.RequestHeaderModifier)
		case f.Type == gatewayv1.HTTPRouteFilterResponseHeaderModifier && f.ResponseHeaderModifier != nil:
			out.Response = newHeaders(f.ResponseHeaderModifier)
		case f.Type == gatewayv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil:
			out.Rewrite = &Rewrite{}
			if f.URLRewrite.Hostname != nil {
				out.Rewrite.Host = string(*f.URLRewrite.Hostname)
			}
			out.Rewrite.path, err = pathOf(f.URLRewrite.Path, prefixed)
		case f.Type == gatewayv1.HTTPRouteFilterRequestRedirect && f.RequestRedirect != nil:
			out.Redirect, err = newRedirect(f.RequestRedirect, prefixed)
		case f.Type == gatewayv1.HTTPRouteFilterRequestMirror && f.RequestMirror != nil:
			var m Mirror
			if m, err = newMirror(f.RequestMirror, c.backend(route, f.RequestMirror.BackendRef)); err == nil {
				out.Mirrors = append(out.Mirrors, m)
			}
		default:
			err = fmt.Errorf("filter %s is not one that this gateway has", f.Type)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func newRedirect(f *gatewayv1.HTTPRequestRedirectFilter, prefixed bool) (*Redirect, error) {
	d := &Redirect{Status: http.StatusFound}
	if f.Scheme != nil {
		d.scheme = *f.Scheme
	}
	if f.Hostname != nil {
		d.host = string(*f.Hostname)
	}
	if f.Port != nil {
		d.port = *f.Port
	}
	if f.StatusCode != nil {
		d.Status = *f.StatusCode
	}
	if d.Status < 300 || d.Status > 399 {
		return nil, fmt.Errorf("a redirect with status %d is none", d.Status)
	}
	var err error
	d.path, err = pathOf(f.Path, prefixed)
	return d, err
}

func pathOf(p *gatewayv1.HTTPPathModifier, prefixed bool) (*newPath, error) {
	switch {
	case p == nil:
		return nil, nil
	case p.Type == gatewayv1.FullPathHTTPPathModifier && p.ReplaceFullPath != nil:
		return &newPath{text: cmp.Or(*p.ReplaceFullPath, "/")}, nil
	case p.Type == gatewayv1.PrefixMatchHTTPPathModifier && p.ReplacePrefixMatch != nil && prefixed:
		return &newPath{text: *p.ReplacePrefixMatch, prefix: true}, nil
	case p.Type == gatewayv1.PrefixMatchHTTPPathModifier && !prefixed:
		return nil, fmt.Errorf("%s needs matches that are all of type %s", p.Type, gatewayv1.PathMatchPathPrefix)
	}
	return nil, fmt.Errorf("a path of type %s is not known", p.Type)
}
