// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package web fetches one file over http or https.
//
// Called by: storage, through its Provider interface; storage/builtin makes it.
// Next: net/http, guarded by storage/provider/netguard.
package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
)

// Options configure the provider.
type Options struct {
	// Policy says what may be reached; nil is the zero policy.
	Policy *netguard.Policy
	// TLS is used as it is; nil means the system's roots.
	TLS *tls.Config
	// Headers returns what to send to a host, and to that host only: not to where it redirects.
	Headers func(host string) (http.Header, error)
	// Connections bounds the idle pool; 16 when zero.
	Connections int
	// UserAgent names the caller.
	UserAgent string
}

// Provider fetches over HTTP.
type Provider struct {
	o      Options
	client *http.Client
}

// New returns a provider; it does no I/O.
func New(o Options) *Provider {
	if o.Policy == nil {
		o.Policy = &netguard.Policy{}
	}
	if o.Connections <= 0 {
		o.Connections = 16
	}
	if o.UserAgent == "" {
		o.UserAgent = "kserve-go-storage"
	}
	p := &Provider{o: o}
	p.client = &http.Client{
		Transport:     &headers{o: &p.o, next: o.Policy.Transport(o.TLS, o.Connections)},
		CheckRedirect: o.Policy.CheckRedirect,
	}
	return p
}

// headers adds each host's own headers, hop by hop, so that a redirect never carries them elsewhere.
type headers struct {
	o    *Options
	next http.RoundTripper
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("Referer")
	if h.o.Headers != nil {
		own, err := h.o.Headers(req.URL.Hostname())
		if err != nil {
			return nil, provider.Errorf(provider.Invalid, "headers for %s: %w", req.URL.Hostname(), err)
		}
		for k, v := range own {
			req.Header[k] = v
		}
	}
	return h.next.RoundTrip(req)
}

// List asks for one byte, which tells the size, the version and whether ranges work; servers that refuse HEAD answer this too.
func (p *Provider) List(ctx context.Context, ref modelref.Ref) (provider.Listing, error) {
	u, err := url.Parse(ref.URI)
	if err != nil {
		return provider.Listing{}, provider.Errorf(provider.Invalid, "parse %s: not a URL", ref.String())
	}
	if err := p.o.Policy.CheckURL(u); err != nil {
		return provider.Listing{}, err
	}
	name := fileName(u)
	if name == "" {
		return provider.Listing{}, provider.Errorf(provider.Invalid, "no file name in %s: a web source names one file or archive", ref.String())
	}
	resp, err := p.get(ctx, ref.URI, "bytes=0-0")
	if err != nil {
		return provider.Listing{}, err
	}
	defer resp.Body.Close()
	obj := provider.Object{Path: name, Key: ref.URI, Size: -1, ContentType: resp.Header.Get("Content-Type")}
	switch resp.StatusCode {
	case http.StatusOK:
		obj.Size = resp.ContentLength
	case http.StatusPartialContent:
		if _, total, ok := contentRange(resp.Header.Get("Content-Range")); ok && total >= 0 {
			obj.Size, obj.Ranges = total, true
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if resp.Header.Get("Content-Range") != "bytes */0" {
			return provider.Listing{}, netguard.Status(resp, ref.String())
		}
		obj.Size = 0
	default:
		return provider.Listing{}, netguard.Status(resp, ref.String())
	}
	obj.Version = version(resp.Header, obj.Size)
	if media, _, _ := mime.ParseMediaType(obj.ContentType); media == "text/html" && !strings.HasSuffix(name, ".html") {
		return provider.Listing{}, provider.Errorf(provider.Invalid,
			"%s answers with an HTML page, not with a model: a log-in or error page, or a link to a page about the file", ref.String())
	}
	return provider.Listing{Objects: []provider.Object{obj}, Single: true}, nil
}

// Open reads n bytes from off (to the end when n is negative) and checks that they are of the listed version.
func (p *Provider) Open(ctx context.Context, obj provider.Object, off, n int64) (io.ReadCloser, error) {
	what := modelref.Redact(obj.Key)
	rng := ""
	if off > 0 || n >= 0 && n != obj.Size {
		if !obj.Ranges {
			return nil, provider.Errorf(provider.Other, "%s: the server does not support ranges", what)
		}
		rng = fmt.Sprintf("bytes=%d-", off)
		if n >= 0 {
			rng += strconv.FormatInt(off+n-1, 10)
		}
	}
	resp, err := p.get(ctx, obj.Key, rng)
	if err != nil {
		return nil, err
	}
	if err := check(resp, obj, off, what); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// check compares an answer with what was listed.
func check(resp *http.Response, obj provider.Object, off int64, what string) error {
	total := resp.ContentLength
	switch resp.StatusCode {
	case http.StatusOK:
		if off > 0 {
			return provider.Errorf(provider.Unavailable, "%s: the server ignored the range", what)
		}
	case http.StatusPartialContent:
		start, t, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || start != off {
			return provider.Errorf(provider.Unavailable, "%s: the server sent another range than asked (%q)", what, resp.Header.Get("Content-Range"))
		}
		total = t
	default:
		return netguard.Status(resp, what)
	}
	if obj.Size >= 0 && total >= 0 && total != obj.Size || version(resp.Header, obj.Size) != obj.Version {
		return provider.Errorf(provider.Changed, "%s changed while it was read", what)
	}
	return nil
}

func (p *Provider) get(ctx context.Context, uri, rng string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, http.NoBody)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "%s is not a URL", modelref.Redact(uri))
	}
	req.Header.Set("User-Agent", p.o.UserAgent)
	req.Header.Set("Accept-Encoding", "identity")
	if rng != "" {
		req.Header.Set("Range", rng)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, netguard.Network(err, "get "+modelref.Redact(uri))
	}
	return resp, nil
}

// version prefers the ETag; without one, date and size together must do.
func version(h http.Header, size int64) string {
	if tag := h.Get("Etag"); tag != "" {
		return tag
	}
	if date := h.Get("Last-Modified"); date != "" {
		return date + "/" + strconv.FormatInt(size, 10)
	}
	return ""
}

// contentRange parses "bytes 0-9/100"; total is -1 for "*".
func contentRange(v string) (start, total int64, ok bool) {
	v, ok = strings.CutPrefix(v, "bytes ")
	if !ok {
		return 0, 0, false
	}
	rng, size, ok := strings.Cut(v, "/")
	first, _, dash := strings.Cut(rng, "-")
	if !ok || !dash {
		return 0, 0, false
	}
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil || start < 0 {
		return 0, 0, false
	}
	if size == "*" {
		return start, -1, true
	}
	total, err = strconv.ParseInt(size, 10, 64)
	return start, total, err == nil && total >= 0
}

// fileName is the last element of the path; when that tells no kind of file, a query value that ends in one does better
// (…/download?path=/x/model.zip).
func fileName(u *url.URL) string {
	if strings.HasSuffix(u.Path, "/") || u.Path == "" {
		return ""
	}
	name := path.Base(u.Path)
	if name == "." || name == ".." {
		return ""
	}
	if path.Ext(name) != "" {
		return name
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(value); err == nil {
			if base := path.Base(v); len(path.Ext(base)) > 1 && !strings.ContainsAny(path.Ext(base), " ") && base != ".." && isArchiveName(base) {
				return base
			}
		}
	}
	return name
}

func isArchiveName(name string) bool {
	name = strings.ToLower(name)
	for _, ext := range []string{".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz2"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}
