// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builtin puts together what a program needs to fetch models: every provider of this build, configured by the environment
// that pods get.
//
// Called by: storage/initializer, pkg/cli.
// Next: storage, whose Options it returns.
package builtin

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/s3"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/volume"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/web"
)

// Options say where settings come from and what may be reached.
type Options struct {
	// Getenv is os.Getenv when nil. A map's lookup gives one model other credentials than the next.
	Getenv func(string) string
	// Policy guards every connection.
	Policy netguard.Policy
	// ClaimsDir is where claims are mounted; Claims maps single ones to directories.
	ClaimsDir string
	Claims    map[string]string
	// Log gets warnings about settings and all that the engine says.
	Log *zap.Logger
	// UserAgent is sent to web servers.
	UserAgent string
}

// New returns the engine's options; the caller adds Progress and whatever else it wants, and calls storage.New.
func New(o Options) (storage.Options, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	getenv, err := overlay(o.Getenv)
	if err != nil {
		return storage.Options{}, err
	}
	out := storage.Options{Log: o.Log}
	if out.Allow, err = patterns(getenv(handoff.EnvStorageAllowPatterns)); err != nil {
		return out, provider.Errorf(provider.Invalid, handoff.EnvStorageAllowPatterns+": %w", err)
	}
	if out.Ignore, err = patterns(getenv(handoff.EnvStorageIgnorePatterns)); err != nil {
		return out, provider.Errorf(provider.Invalid, handoff.EnvStorageIgnorePatterns+": %w", err)
	}
	config, err := s3.FromEnv(getenv)
	if err != nil {
		return out, err
	}
	if addr, err := netip.ParseAddr(getenv("KUBERNETES_SERVICE_HOST")); err == nil {
		o.Policy.Deny = append(o.Policy.Deny, netip.PrefixFrom(addr, addr.BitLen()))
	}
	out.Stall, out.Parallel = config.ReadTimeout, config.Concurrency
	if config.Attempts > 0 {
		out.Retries = config.Attempts
	}
	files := volume.New(volume.Options{ClaimsDir: o.ClaimsDir, Claims: o.Claims})
	pages := web.New(web.Options{Policy: &o.Policy, TLS: roots(getenv, o.Log), Headers: headers(getenv), UserAgent: o.UserAgent})
	out.Providers = map[modelref.Store]storage.Provider{
		modelref.File: files, modelref.PVC: files, modelref.HTTP: pages,
		modelref.S3: s3.New(s3.Options{Config: config, Policy: &o.Policy}),
	}
	out.CheckScheme = o.Policy.CheckScheme
	return out, nil
}

// headers reads "<host>-headers", a JSON object of names and values, for each host that is asked.
func headers(getenv func(string) string) func(string) (http.Header, error) {
	return func(host string) (http.Header, error) {
		text := getenv(host + handoff.EnvHTTPHeadersSuffix)
		if text == "" {
			return nil, nil
		}
		var values map[string]string
		if json.Unmarshal([]byte(text), &values) != nil {
			// The text may hold a token, so it is not shown.
			return nil, provider.Errorf(provider.Invalid, "the variable %s%s is not a JSON object of strings", host, handoff.EnvHTTPHeadersSuffix)
		}
		out := http.Header{}
		for k, v := range values {
			out.Set(k, v)
		}
		return out, nil
	}
}

// roots adds the operator's CA bundle to the system's. A missing or broken bundle is a warning: the system's roots may do.
func roots(getenv func(string) string, log *zap.Logger) *tls.Config {
	if getenv(handoff.EnvCABundleConfigMap) == "" {
		return nil
	}
	dir := getenv(handoff.EnvCABundleMountPoint)
	if dir == "" {
		dir = handoff.CABundleDir
	}
	name := filepath.Join(dir, handoff.CABundleFile)
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pem, err := os.ReadFile(name)
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		log.Warn("the CA bundle cannot be used: going on with the system's roots", zap.String("file", name), zap.Error(err))
		return nil
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}
