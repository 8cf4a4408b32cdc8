// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// knownSchemes are the ones that users may write, whether or not this program serves them.
var knownSchemes = []string{
	"azure", "file", "gs", "hdfs", "hf", "git", "http", "https", "modelscope", "oci", "oci+fetch", "oci+native", "pvc", "s3", "webhdfs",
}

// parse splits a model URI. A text without "://" is a path.
func parse(uri string) (provider.Ref, error) {
	if uri == "" {
		return provider.Ref{}, provider.Errorf(provider.Invalid, "the model URI is empty")
	}
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return provider.Ref{URI: uri, Path: filepath.Clean(uri)}, nil
	}
	ref := provider.Ref{URI: uri, Scheme: strings.ToLower(scheme)}
	switch ref.Scheme {
	case "file":
		if !strings.HasPrefix(rest, "/") {
			if host, path, ok := strings.Cut(rest, "/"); ok && host == "localhost" {
				rest = "/" + path
			}
		}
		ref.Path = filepath.Clean(rest)
		if rest == "" {
			return ref, provider.Errorf(provider.Invalid, "%q names no path", uri)
		}
		return ref, nil
	case "http", "https":
		u, err := url.Parse(uri)
		if err != nil || u.Host == "" {
			return ref, provider.Errorf(provider.Invalid, "%s is not a URL", describe(ref))
		}
		ref.Authority, ref.Path, ref.Query = u.Host, strings.TrimPrefix(u.Path, "/"), u.RawQuery
		return ref, nil
	}
	ref.Authority, ref.Path, _ = strings.Cut(rest, "/")
	ref.Path = strings.Trim(ref.Path, "/")
	if ref.Authority == "" {
		return ref, provider.Errorf(provider.Invalid, "%q names nothing after %s://", uri, ref.Scheme)
	}
	return ref, nil
}

// describe is the URI without user, password and query, for logs, records and errors.
func describe(ref provider.Ref) string {
	uri := ref.URI
	if ref.Scheme != "http" && ref.Scheme != "https" {
		return uri
	}
	uri, _, _ = strings.Cut(uri, "?")
	if u, err := url.Parse(uri); err == nil && u.User != nil {
		u.User = nil
		return u.String()
	}
	return uri
}
