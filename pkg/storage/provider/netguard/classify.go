// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package netguard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// Network turns a transport error into a provider.Error. doing completes "connect to <host>: …" and must hold no secret: the URL in
// the standard library's error may carry a signature, so it is left out.
func Network(err error, doing string) error {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		return &provider.Error{Kind: e.Kind, Message: doing + ": " + e.Message, RetryAfter: e.RetryAfter, Cause: err}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	cause := err
	if ue, ok := errors.AsType[*url.Error](err); ok {
		cause = ue.Err
	}
	kind := provider.Unavailable
	if isTLS(cause) {
		kind = provider.Other
	}
	if dns, ok := errors.AsType[*net.DNSError](cause); ok && dns.IsNotFound {
		return &provider.Error{Kind: kind, Message: doing + ": host " + strconv.Quote(dns.Name) + " is not known", Cause: err}
	}
	return &provider.Error{Kind: kind, Message: doing + ": " + cause.Error(), Cause: err}
}

// isTLS says that the peer's certificate or protocol is wrong, which no retry mends.
func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

// Status turns an HTTP status other than success into a provider.Error.
func Status(resp *http.Response, what string) *provider.Error {
	e := &provider.Error{Kind: provider.Other}
	switch code := resp.StatusCode; code {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired:
		e.Kind, e.Message = provider.Unauthenticated, "authentication is needed"
	case http.StatusForbidden:
		e.Kind, e.Message = provider.Denied, "access denied"
	case http.StatusNotFound, http.StatusGone:
		e.Kind, e.Message = provider.NotFound, "not found"
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		e.Kind, e.Message = provider.Changed, "changed while it was read"
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.Kind, e.Message = provider.Unavailable, "the server is busy or broken"
		e.RetryAfter = RetryAfter(resp.Header, time.Now())
	default:
		e.Message = "unexpected answer"
	}
	e.Message = what + ": " + e.Message + " (HTTP " + strconv.Itoa(resp.StatusCode) + ")"
	return e
}

// RetryAfter reads the header of that name in either of its forms; zero when there is none.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.Atoi(v); err == nil && s >= 0 && s < 1<<31 {
		return time.Duration(s) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
