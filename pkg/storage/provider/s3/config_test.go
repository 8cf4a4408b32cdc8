// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"
)

func TestConfigFromEnvironment(t *testing.T) {
	type env = map[string]string
	for name, tc := range map[string]struct {
		env    env
		host   string
		secure bool
		lookup minio.BucketLookupType
		check  func(*testing.T, Config)
	}{
		"nothing is Amazon": {env{}, "s3.amazonaws.com", true, minio.BucketLookupAuto, func(t *testing.T, c Config) {
			t.Helper()
			require.Equal(t, 15*time.Second, c.ConnectTimeout)
			require.Equal(t, 30*time.Second, c.ReadTimeout)
			require.Zero(t, c.Attempts)
			require.False(t, c.Anonymous || c.Accelerate || c.Insecure)
		}},
		"a region":           {env{"AWS_DEFAULT_REGION": "eu-west-1"}, "s3.eu-west-1.amazonaws.com", true, minio.BucketLookupAuto, nil},
		"a region in China":  {env{"AWS_REGION": "cn-north-1"}, "s3.cn-north-1.amazonaws.com.cn", true, minio.BucketLookupAuto, nil},
		"another store":      {env{"AWS_ENDPOINT_URL": "http://minio:9000"}, "minio:9000", false, minio.BucketLookupPath, nil},
		"no scheme":          {env{"AWS_ENDPOINT_URL": "minio:9000"}, "minio:9000", true, minio.BucketLookupPath, nil},
		"the older variable": {env{"S3_ENDPOINT": "minio:9000", "S3_USE_HTTPS": "0"}, "minio:9000", false, minio.BucketLookupPath, nil},
		"the newer one wins": {env{"S3_ENDPOINT": "old:9000", "AWS_ENDPOINT_URL": "https://new"}, "new", true, minio.BucketLookupPath, nil},
		"virtual hosts":      {env{"AWS_ENDPOINT_URL": "https://store", "S3_USER_VIRTUAL_BUCKET": "True"}, "store", true, minio.BucketLookupDNS, nil},
		"the old endpoint of Amazon with a region": {
			env{"AWS_ENDPOINT_URL": "https://s3.amazonaws.com", "AWS_DEFAULT_REGION": "eu-west-1"}, "s3.amazonaws.com", true, minio.BucketLookupAuto, nil,
		},
		"numbers and switches": {
			env{
				"S3_CONNECT_TIMEOUT": "5", "S3_READ_TIMEOUT": "10", "S3_MAX_ATTEMPTS": "5", "S3_MAX_FILE_CONCURRENCY": "2", "S3_USE_ACCELERATE": "true",
				"awsAnonymousCredential": "True", "S3_VERIFY_SSL": "false", "AWS_CA_BUNDLE": "/x",
			},
			"s3.amazonaws.com", true, minio.BucketLookupAuto, func(t *testing.T, c Config) {
				t.Helper()
				require.Equal(t, Config{
					ConnectTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, Attempts: 5, Concurrency: 2, Accelerate: true, Anonymous: true, Insecure: true,
				}, c)
			},
		},
		"the bundle of the operator": {
			env{"AWS_CA_BUNDLE": "", "CA_BUNDLE_CONFIGMAP_NAME": "x", "CA_BUNDLE_VOLUME_MOUNT_POINT": "/ca"},
			"s3.amazonaws.com", true, minio.BucketLookupAuto,
			func(t *testing.T, c Config) { t.Helper(); require.Equal(t, "/ca/cabundle.crt", c.CABundle) },
		},
		"the bundle of the operator where pods mount it by default": {
			env{"CA_BUNDLE_CONFIGMAP_NAME": "x"},
			"s3.amazonaws.com", true, minio.BucketLookupAuto,
			func(t *testing.T, c Config) {
				t.Helper()
				require.Equal(t, "/etc/ssl/custom-certs/cabundle.crt", c.CABundle)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := FromEnv(func(k string) string { return tc.env[k] })
			require.NoError(t, err)
			host, secure, err := c.endpoint()
			require.NoError(t, err)
			require.Equal(t, tc.host, host)
			require.Equal(t, tc.secure, secure)
			require.Equal(t, tc.lookup, c.lookup())
			if tc.check != nil {
				tc.check(t, c)
			}
		})
	}
	for _, bad := range []string{"ftp://x", "http://", "http://x/path", "http://x?y"} {
		_, _, err := (&Config{Endpoint: bad}).endpoint()
		require.Error(t, err, bad)
	}
	_, _, err := (&Config{Endpoint: "http://me:hidden@x/path"}).endpoint()
	require.ErrorContains(t, err, "http://x/path")
	require.NotContains(t, err.Error(), "hidden")
	_, err = FromEnv(func(k string) string { return map[string]string{"S3_READ_TIMEOUT": "-3"}[k] })
	require.ErrorContains(t, err, "S3_READ_TIMEOUT")
}
