// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/kserve-go/kserve-go/pkg/apis/handoff"
	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
)

// Config is what the environment says about the store.
type Config struct {
	// Endpoint is a URL; empty means Amazon's.
	Endpoint string
	Region   string
	// AccessKey and SecretKey, with an optional SessionToken, win over every other source of credentials.
	AccessKey, SecretKey, SessionToken string
	// Anonymous sends no signature.
	Anonymous bool
	// VirtualHost puts the bucket into the host name; otherwise only Amazon's endpoints do.
	VirtualHost bool
	Accelerate  bool
	// Insecure accepts any certificate.
	Insecure bool
	// CABundle is a PEM file of roots, used besides the system's.
	CABundle string
	// ConnectTimeout and ReadTimeout are 15 and 30 s unless told.
	ConnectTimeout, ReadTimeout time.Duration
	// Attempts is 0 unless told.
	Attempts int
	// Concurrency is 0 unless told.
	Concurrency int
	// NoMetadata never asks the machine's metadata service for credentials.
	NoMetadata bool
}

// FromEnv reads the variables that pods get. getenv is os.Getenv, or a map's lookup.
func FromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Endpoint:     first(getenv, "AWS_ENDPOINT_URL_S3", handoff.EnvAWSEndpointURL),
		Region:       first(getenv, handoff.EnvAWSDefaultRegion, handoff.EnvAWSRegion),
		AccessKey:    getenv(handoff.EnvAWSAccessKeyID),
		SecretKey:    getenv(handoff.EnvAWSSecretAccessKey),
		SessionToken: getenv(handoff.EnvAWSSessionToken),
		Anonymous:    truth(getenv(handoff.EnvAWSAnonymous)),
		VirtualHost:  truth(getenv(handoff.EnvS3VirtualBucket)),
		Accelerate:   truth(getenv(handoff.EnvS3UseAccelerate)),
		NoMetadata:   truth(getenv("AWS_EC2_METADATA_DISABLED")),
	}
	if host := getenv(handoff.EnvS3Endpoint); c.Endpoint == "" && host != "" {
		scheme := "https://"
		if v := getenv(handoff.EnvS3UseHTTPS); v == "0" || strings.EqualFold(v, "false") {
			scheme = "http://"
		}
		if strings.Contains(host, "://") {
			scheme = ""
		}
		c.Endpoint = scheme + host
	}
	switch strings.ToLower(getenv(handoff.EnvS3VerifySSL)) {
	case "0", "false":
		c.Insecure = true
	default:
		c.CABundle = getenv(handoff.EnvAWSCABundle)
		if c.CABundle == "" && getenv(handoff.EnvCABundleConfigMap) != "" {
			c.CABundle = filepath.Join(cmp.Or(getenv(handoff.EnvCABundleMountPoint), handoff.CABundleDir), handoff.CABundleFile)
		}
	}
	var err error
	number := func(name string, def int) int {
		v := getenv(name)
		if v == "" {
			return def
		}
		n, perr := strconv.Atoi(v)
		if perr != nil || n <= 0 || n > 86400 {
			err = provider.Errorf(provider.Invalid, "%s is %q, not a positive number", name, v)
		}
		return n
	}
	c.ConnectTimeout = time.Duration(number(handoff.EnvS3ConnectTimeout, 15)) * time.Second
	c.ReadTimeout = time.Duration(number(handoff.EnvS3ReadTimeout, 30)) * time.Second
	c.Attempts = number(handoff.EnvS3MaxAttempts, 0)
	c.Concurrency = number(handoff.EnvS3MaxFileConcurrency, 0)
	return c, err
}

func first(getenv func(string) string, names ...string) string {
	for _, n := range names {
		if v := getenv(n); v != "" {
			return v
		}
	}
	return ""
}

func truth(v string) bool { return strings.EqualFold(v, "true") || v == "1" }

// endpoint splits the endpoint into what the client wants.
func (c *Config) endpoint() (host string, secure bool, err error) {
	if c.Endpoint == "" {
		if c.Region == "" {
			return "s3.amazonaws.com", true, nil
		}
		suffix := ".amazonaws.com"
		if strings.HasPrefix(c.Region, "cn-") {
			suffix += ".cn"
		}
		return "s3." + c.Region + suffix, true, nil
	}
	raw := c.Endpoint
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", false, provider.Errorf(provider.Invalid, "the S3 endpoint %q is not an http or https URL", modelref.Redact(c.Endpoint))
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", false, provider.Errorf(provider.Invalid, "the S3 endpoint %q has a path; it must be scheme and host only", modelref.Redact(c.Endpoint))
	}
	return u.Host, u.Scheme == "https", nil
}

// amazon says that the endpoint is Amazon's own.
func (c *Config) amazon() bool {
	host, _, err := c.endpoint()
	return err == nil && (strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn"))
}

func (c *Config) tls() (*tls.Config, error) {
	if c.Insecure {
		return &tls.Config{InsecureSkipVerify: true}, nil //nolint:gosec // the user asked for it
	}
	if c.CABundle == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(c.CABundle)
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "read the CA bundle: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, provider.Errorf(provider.Invalid, "the CA bundle %s holds no PEM certificate", c.CABundle)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

func (c *Config) credentials() *credentials.Credentials {
	switch {
	case c.Anonymous:
		return credentials.NewStaticV4("", "", "")
	case c.AccessKey != "" && c.SecretKey != "":
		return credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.SessionToken)
	}
	// The client looks for an identity in the process's own environment, wherever the other settings come from.
	chain := []credentials.Provider{&credentials.FileAWSCredentials{}}
	identity := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" ||
		os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	if identity || c.amazon() && !c.NoMetadata {
		// The credentials service is the platform's, not the user's: the fetch policy does not apply to it.
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}, Region: c.Region})
	}
	return credentials.NewChainCredentials(chain)
}

func (c *Config) lookup() minio.BucketLookupType {
	switch {
	case c.VirtualHost:
		return minio.BucketLookupDNS
	case c.amazon():
		return minio.BucketLookupAuto
	}
	return minio.BucketLookupPath
}
