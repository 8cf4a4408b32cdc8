// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kserve-go/kserve-go/pkg/control/admit/certificates"
	"github.com/kserve-go/kserve-go/pkg/control/probe"
	"github.com/kserve-go/kserve-go/pkg/telemetry"
)

// Options are the webhook's flags.
type Options struct {
	Probe probe.Options
	Log   telemetry.LogOptions
	// Host and Port are where admission reviews are taken; port 0 takes a free one.
	Host string
	Port int
	// Namespace is the webhook's own: of its Secret, its Service and the operator's ConfigMap.
	Namespace string
	// ClusterDomain is the DNS suffix of the cluster.
	ClusterDomain string
	// Secret holds the certificate, Service is what the API server calls.
	Secret, Service string
	// Hosts are further names of the certificate.
	Hosts []string
	// URLBase is set where the webhook runs outside the cluster: the configurations are changed to call it there.
	URLBase string
	// TLSMinVersion and TLSCipherSuites as the Kubernetes components call them.
	TLSMinVersion   string
	TLSCipherSuites []string
	// ShutdownDelay is how long reviews are still taken after the order to stop, while the API servers learn that this replica goes.
	ShutdownDelay time.Duration
	// Certificates are the lifetimes and pauses of the certificate; for tests.
	Certificates certificates.Options
}

// configuration is the name of the mutating and of the first validating configuration, which tools and manifests know.
const configuration = "inferenceservice.serving.kserve.io"

func validatingConfigurations() []string {
	return []string{
		configuration, "trainedmodel.serving.kserve.io", "inferencegraph.serving.kserve.io",
		"clusterservingruntime.serving.kserve.io", "servingruntime.serving.kserve.io", "clusterstoragecontainer.serving.kserve.io",
	}
}

// NewOptions returns the defaults. As in the reference, the environment may name the namespace and the Secret.
func NewOptions() Options {
	return Options{
		Probe: probe.Options{MetricsAddr: ":8080", HealthAddr: ":8081"}, Port: 9443,
		Namespace: probe.Environment("POD_NAMESPACE", "kserve"), ClusterDomain: "cluster.local",
		Secret: probe.Environment("SECRET_NAME", "kserve-webhook-server-cert"), Service: "kserve-webhook-server-service",
		TLSMinVersion: "VersionTLS12", ShutdownDelay: 5 * time.Second,
	}
}

// BindFlags adds every flag.
func (o *Options) BindFlags(fs *pflag.FlagSet) {
	o.Probe.BindFlags(fs)
	o.Log.BindFlags(fs)
	fs.StringVar(&o.Host, "webhook-host", o.Host, "address to take admission reviews on; empty: every one")
	fs.IntVar(&o.Port, "webhook-port", o.Port, "port to take admission reviews on")
	fs.StringVar(&o.Namespace, "namespace", o.Namespace, "the webhook's own namespace; default: $POD_NAMESPACE, or kserve")
	fs.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "DNS suffix of the cluster")
	fs.StringVar(&o.Secret, "certificate-secret", o.Secret, "Secret of that namespace with the certificate; made when missing; default: $SECRET_NAME, or kserve-webhook-server-cert")
	fs.StringVar(&o.Service, "webhook-service", o.Service, "Service of that namespace by which the API server calls the webhook")
	fs.StringSliceVar(&o.Hosts, "certificate-hosts", o.Hosts, "further host names and addresses that the certificate is for")
	fs.StringVar(&o.URLBase, "webhook-url-base", o.URLBase, "where the API server finds a webhook outside the cluster, such as https://127.0.0.1:9443; the webhook configurations are changed to call it")
	fs.StringVar(&o.TLSMinVersion, "tls-min-version", o.TLSMinVersion, "least TLS version: VersionTLS12 or VersionTLS13")
	fs.StringSliceVar(&o.TLSCipherSuites, "tls-cipher-suites", o.TLSCipherSuites, "cipher suites of TLS 1.2, by their names of the TLS registry; empty: Go's own choice")
	fs.DurationVar(&o.ShutdownDelay, "shutdown-delay", o.ShutdownDelay, "how long reviews are still taken after SIGTERM")
}

// tlsConfig turns the flags into a configuration without a certificate.
func (o *Options) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	switch o.TLSMinVersion {
	case "", "VersionTLS12":
	case "VersionTLS13":
		config.MinVersion = tls.VersionTLS13
	default:
		return nil, fmt.Errorf("--tls-min-version %q: expected VersionTLS12 or VersionTLS13", o.TLSMinVersion)
	}
	for _, name := range o.TLSCipherSuites {
		index := slices.IndexFunc(tls.CipherSuites(), func(s *tls.CipherSuite) bool { return s.Name == name })
		if index < 0 {
			return nil, fmt.Errorf("--tls-cipher-suites: %q is not known or not safe; possible are %s", name, strings.Join(cipherNames(), ", "))
		}
		config.CipherSuites = append(config.CipherSuites, tls.CipherSuites()[index].ID)
	}
	return config, nil
}

// cipherNames are the suites that can be chosen; those of TLS 1.3 cannot.
func cipherNames() []string {
	var all []string
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) {
			all = append(all, suite.Name)
		}
	}
	return all
}

// certificateOptions completes those of the tests.
func (o *Options) certificateOptions() (certificates.Options, error) {
	c := o.Certificates
	c.Namespace, c.Secret, c.Service, c.URLBase = o.Namespace, o.Secret, o.Service, o.URLBase
	c.Mutating, c.Validating = []string{configuration}, validatingConfigurations()
	c.Hosts = slices.Clone(o.Hosts)
	if c.Settle == 0 {
		c.Settle = 10 * time.Second
	}
	if o.URLBase != "" {
		u, err := url.Parse(o.URLBase)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
			return c, fmt.Errorf("--webhook-url-base %q: expected https://host:port", o.URLBase)
		}
		c.Hosts = append(c.Hosts, u.Hostname())
	}
	return c, nil
}
