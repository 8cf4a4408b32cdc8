// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package modelref_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
)

func TestParse(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0", 64)
	tests := map[string]modelref.Ref{
		"/mnt/models":                  {Store: modelref.File, Path: "/mnt/models"},
		"./model":                      {Store: modelref.File, Path: "model"},
		"model/a":                      {Store: modelref.File, Path: "model/a"},
		"/odd://path":                  {Store: modelref.File, Path: "/odd:/path"},
		"file:///a/b/":                 {Scheme: "file", Store: modelref.File, Path: "/a/b"},
		"file://localhost/a":           {Scheme: "file", Store: modelref.File, Path: "/a"},
		"file://a/b":                   {Scheme: "file", Store: modelref.File, Path: "a/b"},
		"pvc://claim":                  {Scheme: "pvc", Store: modelref.PVC, Authority: "claim"},
		"pvc://claim/a/b/":             {Scheme: "pvc", Store: modelref.PVC, Authority: "claim", Path: "a/b"},
		"s3://bucket/a/b":              {Scheme: "s3", Store: modelref.S3, Authority: "bucket", Path: "a/b"},
		"S3://bucket/a?b#c d":          {Scheme: "s3", Store: modelref.S3, Authority: "bucket", Path: "a?b#c d"},
		"s3://bucket":                  {Scheme: "s3", Store: modelref.S3, Authority: "bucket"},
		"gs://bucket/a":                {Scheme: "gs", Store: modelref.GS, Authority: "bucket", Path: "a"},
		"hf://owner/model":             {Scheme: "hf", Store: modelref.HF, Authority: "owner", Path: "model"},
		"hf://owner/model:abc":         {Scheme: "hf", Store: modelref.HF, Authority: "owner", Path: "model", Revision: "abc"},
		"hf://owner/model:refs/pr/1":   {Scheme: "hf", Store: modelref.HF, Authority: "owner", Path: "model", Revision: "refs/pr/1"},
		"modelscope://owner/model:v1":  {Scheme: "modelscope", Store: modelref.ModelScope, Authority: "owner", Path: "model", Revision: "v1"},
		"hdfs://a/b":                   {Scheme: "hdfs", Store: modelref.HDFS, Path: "a/b"},
		"webhdfs:///a/b":               {Scheme: "webhdfs", Store: modelref.WebHDFS, Path: "a/b"},
		"http://host:8000/a/m.zip?x=y": {Scheme: "http", Store: modelref.HTTP, Authority: "host:8000", Path: "a/m.zip", Query: "x=y"},
		"https://host?path=/m.zip":     {Scheme: "https", Store: modelref.HTTP, Authority: "host", Query: "path=/m.zip"},
		"https://raw.githubusercontent.com/a/b/m.bin":       {Scheme: "https", Store: modelref.HTTP, Authority: "raw.githubusercontent.com", Path: "a/b/m.bin"},
		"https://user.github.io/m.bin":                      {Scheme: "https", Store: modelref.HTTP, Authority: "user.github.io", Path: "m.bin"},
		"https://github.com/owner/repo.git":                 {Scheme: "https", Store: modelref.Git, Authority: "github.com", Path: "owner/repo.git"},
		"http://host/repo.git":                              {Scheme: "http", Store: modelref.HTTP, Authority: "host", Path: "repo.git"},
		"https://acct.blob.core.windows.net/c/p":            {Scheme: "https", Store: modelref.AzureBlob, Authority: "acct.blob.core.windows.net", Path: "c/p"},
		"https://acct.z12.blob.storage.azure.net/c/p?sig=x": {Scheme: "https", Store: modelref.AzureBlob, Authority: "acct.z12.blob.storage.azure.net", Path: "c/p", Query: "sig=x"},
		"https://acct.file.core.windows.net/share/p":        {Scheme: "https", Store: modelref.AzureFile, Authority: "acct.file.core.windows.net", Path: "share/p"},
		"https://a.b.blob.core.windows.net/c/p":             {Scheme: "https", Store: modelref.HTTP, Authority: "a.b.blob.core.windows.net", Path: "c/p"},
		"abfs://c@acct.dfs.core.windows.net/p":              {Scheme: "abfs", Store: modelref.AzureBlob, Authority: "acct.blob.core.windows.net", Path: "c/p"},
		"abfss://c@acct.dfs.core.windows.net":               {Scheme: "abfss", Store: modelref.AzureBlob, Authority: "acct.blob.core.windows.net", Path: "c"},
		"oci://reg.test/a/b:v1":                             {Scheme: "oci", Store: modelref.OCI, Authority: "reg.test", Path: "a/b", Revision: "v1"},
		"oci+native://localhost:5000/a":                     {Scheme: "oci+native", Store: modelref.OCI, Authority: "localhost:5000", Path: "a", Mode: modelref.OCINative},
		"oci+fetch://reg.test/a@" + digest:                  {Scheme: "oci+fetch", Store: modelref.OCI, Authority: "reg.test", Path: "a", Revision: digest, Mode: modelref.OCIFetch},
		"oci+modelcar://a/b:v1@" + digest:                   {Scheme: "oci+modelcar", Store: modelref.OCI, Path: "a/b", Revision: digest, Mode: modelref.OCIModelcar},
		"foo://a/b":                                         {Scheme: "foo", Store: modelref.Other, Authority: "a", Path: "b"},
		"git+https://host/owner/repo":                       {Scheme: "git+https", Store: modelref.Git, Authority: "host", Path: "owner/repo"},
		"git+ssh://host/a":                                  {Scheme: "git+ssh", Store: modelref.Other, Authority: "host", Path: "a"},
		"oci+typo://a/b":                                    {Scheme: "oci+typo", Store: modelref.Other, Authority: "a", Path: "b"},
	}
	for uri, want := range tests {
		t.Run(uri, func(t *testing.T) {
			t.Parallel()
			got, err := modelref.Parse(uri)
			require.NoError(t, err)
			want.URI = uri
			require.Equal(t, want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ uri, says string }{
		"nothing":                            {"", "is empty"},
		"a control character":                {"s3://a/\n", "control character"},
		"a space at the end":                 {"s3://a/b ", "space"},
		"no scheme before ://":               {"://a", "not a scheme"},
		"a scheme with a space":              {"s 3://a", "not a scheme"},
		"a file without a path":              {"file://", "file:///path"},
		"a claim without a name":             {"pvc://", "pvc://claim"},
		"a claim with capital letters":       {"pvc://Claim/a", "cannot be the name"},
		"a claim's path that climbs":         {"pvc://claim/a/../b", "plain"},
		"a bucket without a name":            {"s3:///a", "s3://bucket/path"},
		"a bucket with a port":               {"gs://a:80/b", "gs://bucket/path"},
		"a hub's model without an owner":     {"hf:///m", "names no owner"},
		"a hub's owner without a model":      {"hf://o/", "hf://owner/model"},
		"a hub's owner alone":                {"hf://o", "names no model"},
		"a hub's model with a further part":  {"hf://o/m/x", "more parts"},
		"a hub's model with empty revision":  {"hf://o/m:", "without a revision"},
		"a web address without a host":       {"https:///a", "names no host"},
		"a web address without a file":       {"https://host", "names no file"},
		"a web address that is none":         {"http://[::1/a", "not a web address"},
		"an azure account without container": {"https://acct.blob.core.windows.net/", "container"},
		"an abfs without a container":        {"abfs://acct.dfs.core.windows.net/p", "container and account"},
		"a git address without a path":       {"git+https://host/", "names no repository"},
		"an image without a name":            {"oci://", "oci://registry/repository:tag"},
		"an image with an empty tag":         {"oci://reg.test/a:", "without a tag"},
		"an image with half a digest":        {"oci://reg.test/a@sha256:1", "not one"},
		"an hdfs without a path":             {"hdfs://", "hdfs://path"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modelref.Parse(test.uri)
			var fault *modelref.Error
			require.True(t, errors.As(err, &fault), "%v", err)
			require.Contains(t, err.Error(), test.says)
		})
	}
}

func TestStringHidesSecrets(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://me:secret@host/a":                                 "https://host/a",
		"https://acct.blob.core.windows.net/c/p?sig=secret#secret": "https://acct.blob.core.windows.net/c/p",
		"https://secret-token@host/a":                              "https://host/a",
		"git+https://secret-token@host/a/b.git":                    "git+https://host/a/b.git",
		"HTTPS://me:secret@host/a?secret":                          "HTTPS://host/a",
		"s3://bucket/a?b":                                          "s3://bucket/a?b",
		"abfs://c@acct.dfs.core.windows.net/p":                     "abfs://c@acct.dfs.core.windows.net/p",
		"oci://reg.test/a:v1":                                      "oci://reg.test/a:v1",
		"/plain/path":                                              "/plain/path",
	}
	for uri, want := range tests {
		r, err := modelref.Parse(uri)
		require.NoError(t, err)
		require.Equal(t, want, r.String())
	}
	_, err := modelref.Parse("https://me:secret@host?\x01")
	require.NotContains(t, err.Error(), "secret")
	_, err = modelref.Parse("https://me:secret@ho st/")
	require.NotContains(t, err.Error(), "secret")
}

func TestImage(t *testing.T) {
	t.Parallel()
	r, err := modelref.Parse("oci+native://reg.test/a:v1")
	require.NoError(t, err)
	require.Equal(t, "reg.test/a:v1", r.Image())
	r, err = modelref.Parse("s3://a/b")
	require.NoError(t, err)
	require.Empty(t, r.Image())
}

func TestIsRelative(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]bool{"a/b": true, "file://a": true, "/a": false, "file:///a": false, "s3://a": false} {
		r, err := modelref.Parse(uri)
		require.NoError(t, err)
		require.Equal(t, want, r.IsRelative(), uri)
	}
}

// FuzzParse holds for every text: no panic, a second reading gives the same, and what is printed can be read again as the same place.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "/a", "a", "file:///a", "file://localhost/a", "pvc://c/p", "s3://b/k", "gs://b", "hf://o/m:r", "modelscope://o/m",
		"hdfs://a/b", "webhdfs:///a", "http://h/p?q", "https://u:p@h/p#f", "https://h/o/r.git", "git+https://u:p@h/r?x", "https://a.blob.core.windows.net/c/p?sig=1",
		"https://a.z1.file.storage.azure.net/s", "abfs://c@a.dfs.core.windows.net/p", "oci://r.test/a:v@sha256:0", "oci+fetch://a", "foo://b", "://", "s3://\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		r, err := modelref.Parse(uri)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := modelref.Parse(r.URI)
		require.NoError(t, err)
		require.Equal(t, r, again)
		require.NotEmpty(t, r.Store)
		printed, err := modelref.Parse(r.String())
		if err != nil {
			require.NotEmpty(t, r.Query, "%q was printed as %q: %v", uri, r.String(), err)
			return
		}
		if r.Store != modelref.Other {
			require.Equal(t, r.Path, printed.Path)
		}
	})
}
