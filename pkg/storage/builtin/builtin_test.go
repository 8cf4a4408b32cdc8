// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/kserve-go/kserve-go/pkg/storage"
	"github.com/kserve-go/kserve-go/pkg/storage/builtin"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
	"github.com/kserve-go/kserve-go/pkg/storage/sampleserver"
	"github.com/kserve-go/kserve-go/pkg/storage/storagetest"
)

type env map[string]string

func (e env) get(name string) string { return e[name] }

// fetcher waits for nothing and may reach this machine.
func fetcher(tb testing.TB, e env, change ...func(*builtin.Options)) (*storage.Fetcher, error) {
	tb.Helper()
	o := builtin.Options{Getenv: e.get, Policy: netguard.Policy{AllowLoopback: true}, Log: zaptest.NewLogger(tb)}
	for _, c := range change {
		c(&o)
	}
	so, err := builtin.New(o)
	so.BackoffMin, so.BackoffMax = time.Millisecond, time.Millisecond
	so.Retries = 1
	return storage.New(so), err
}

func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	require.NoError(tb, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".kserve-fetched" {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		out[rel] = string(data)
		return err
	}))
	return out
}

var objects = map[string]string{
	"bkt/t/churn":                        "exact",
	"bkt/t/churn-logs":                   "sibling",
	"bkt/t/churn-report":                 "sibling",
	"bkt/model/checkpoints/model.ckpt":   "ckpt",
	"bkt/model/sec.yaml":                 "sec",
	"bkt/model2/other.bin":               "other",
	"bkt/run/MLmodel":                    "ml",
	"bkt/run/model.pkl":                  "pkl",
	"bkt/m/model/MLmodel":                "ml",
	"bkt/py/model.py":                    "0123456789",
	"bkt/py/__init__.py":                 "",
	"bkt/py/sub/":                        "",
	"bkt/marker/":                        "",
	"bkt/w/a.safetensors":                "a",
	"bkt/w/b.bin":                        "b",
	"bkt/w/deep/c.json":                  "c",
	"bkt/w/.hidden":                      "h",
	"bkt/odd/a b+c%25ü.bin":              "odd",
	"whole/x":                            "x",
	"whole/y/z":                          "z",
	"clash/m/a":                          "file",
	"clash/m/a/b":                        "below",
	"escape/m/../../etc/passwd":          "no",
	"foo/bar/models/weights.pt":          "w",
	"foo/bar/0002.h5":                    "h5",
	"foo/bar/a/very/long/path/conf.json": "{}",
}

func TestS3PathRule(t *testing.T) {
	endpoint := storagetest.NewS3(t, objects)
	for name, tc := range map[string]struct {
		uri  string
		want map[string]string
		kind provider.Kind
		says string
	}{
		"an exact object, not its siblings":      {uri: "s3://bkt/t/churn", want: env{"churn": "exact"}},
		"half a segment is nothing":              {uri: "s3://bkt/t/chu", kind: provider.NotFound, says: "no model found at s3://bkt/t/chu"},
		"inner file with the folder's name":      {uri: "s3://bkt/model", want: env{"checkpoints/model.ckpt": "ckpt", "sec.yaml": "sec"}},
		"a trailing slash changes nothing":       {uri: "s3://bkt/model/", want: env{"checkpoints/model.ckpt": "ckpt", "sec.yaml": "sec"}},
		"no invented folder":                     {uri: "s3://bkt/run", want: env{"MLmodel": "ml", "model.pkl": "pkl"}},
		"no renaming":                            {uri: "s3://bkt/m/model", want: env{"MLmodel": "ml"}},
		"empty files are content, markers not":   {uri: "s3://bkt/py", want: env{"model.py": "0123456789", "__init__.py": ""}},
		"a folder of nothing but its marker":     {uri: "s3://bkt/marker", kind: provider.NotFound},
		"a whole bucket":                         {uri: "s3://whole", want: env{"x": "x", "y/z": "z"}},
		"a whole bucket with a slash":            {uri: "s3://whole/", want: env{"x": "x", "y/z": "z"}},
		"a deep tree":                            {uri: "s3://foo/bar", want: env{"models/weights.pt": "w", "0002.h5": "h5", "a/very/long/path/conf.json": "{}"}},
		"keys that need escaping":                {uri: "s3://bkt/odd", want: env{"a b+c%25ü.bin": "odd"}},
		"no such bucket":                         {uri: "s3://nothing/x", kind: provider.NotFound, says: `bucket "nothing" does not exist`},
		"what no bucket can be called":           {uri: "s3://b/x", kind: provider.Invalid, says: `"b" is no bucket: Bucket name cannot be shorter than 3 characters`},
		"one name as a file and a folder":        {uri: "s3://clash/m", kind: provider.Invalid, says: "cannot be a file and a folder"},
		"a key that climbs out of its folder":    {uri: "s3://escape/m", kind: provider.Invalid, says: "no path within a folder"},
		"one object of a tree":                   {uri: "s3://foo/bar/models/weights.pt", want: env{"weights.pt": "w"}},
		"hidden files of a folder are files too": {uri: "s3://bkt/w", want: env{"a.safetensors": "a", "b.bin": "b", "deep/c.json": "c", ".hidden": "h"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetcher(t, env{"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"})
			require.NoError(t, err)
			dir := filepath.Join(t.TempDir(), "m")
			_, err = f.Fetch(t.Context(), tc.uri, dir)
			if tc.want == nil {
				require.Error(t, err)
				require.Equal(t, tc.kind, provider.KindOf(err), err)
				require.ErrorContains(t, err, tc.says)
				require.NoDirExists(t, dir)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, tree(t, dir))
		})
	}
}

func TestPatterns(t *testing.T) {
	endpoint := storagetest.NewS3(t, objects)
	for name, tc := range map[string]struct {
		allow, ignore string
		uri           string
		want          []string
	}{
		"a comma list":               {allow: "*.safetensors,*.json", want: []string{"a.safetensors", "deep/c.json"}},
		"a JSON array":               {allow: `["*.safetensors", "*.bin"]`, ignore: `["*.bin"]`, want: []string{"a.safetensors"}},
		"a JSON string":              {ignore: `"*.bin"`, want: []string{".hidden", "a.safetensors", "deep/c.json"}},
		"an empty list is no filter": {allow: "[]", want: []string{".hidden", "a.safetensors", "b.bin", "deep/c.json"}},
		"a star crosses slashes":     {allow: "d*.json", want: []string{"deep/c.json"}},
		"an exact object ignores it": {allow: "*.json", uri: "s3://bkt/w/b.bin", want: []string{"b.bin"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetcher(t, env{
				"AWS_ENDPOINT_URL": endpoint, "awsAnonymousCredential": "true",
				"STORAGE_ALLOW_PATTERNS": tc.allow, "STORAGE_IGNORE_PATTERNS": tc.ignore,
			})
			require.NoError(t, err)
			dir := filepath.Join(t.TempDir(), "m")
			if tc.uri == "" {
				tc.uri = "s3://bkt/w"
			}
			_, err = f.Fetch(t.Context(), tc.uri, dir)
			require.NoError(t, err)
			got := tree(t, dir)
			require.Len(t, got, len(tc.want))
			for _, w := range tc.want {
				require.Contains(t, got, w)
			}
		})
	}
	_, err := fetcher(t, env{"STORAGE_ALLOW_PATTERNS": `[1]`})
	require.ErrorContains(t, err, "STORAGE_ALLOW_PATTERNS")
}

func TestStorageSpec(t *testing.T) {
	var auth atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth.Store(r.Header.Get("Authorization"))
		http.Error(w, "", http.StatusForbidden)
	}))
	defer srv.Close()
	spec := `{"type":"s3","access_key_id":"SPECID","secret_access_key":"s","endpoint_url":"http://127.0.0.1:1","region":"eu-x","bucket":"bkt"}`
	for name, tc := range map[string]struct {
		env  env
		auth string
		says string
	}{
		"the entry wins over the environment": {
			env:  env{"STORAGE_CONFIG": strings.ReplaceAll(spec, "http://127.0.0.1:1", srv.URL), "AWS_ACCESS_KEY_ID": "other"},
			auth: "Credential=SPECID/", says: "access denied",
		},
		"parameters win over the entry": {
			env:  env{"STORAGE_CONFIG": spec, "STORAGE_OVERRIDE_CONFIG": `{"endpoint_url":"` + srv.URL + `"}`},
			auth: "/eu-x/s3/", says: "access denied",
		},
		"anonymous sends no signature": {
			env:  env{"STORAGE_CONFIG": spec, "STORAGE_OVERRIDE_CONFIG": `{"anonymous":"True","endpoint_url":"` + srv.URL + `"}`},
			says: "access denied",
		},
		"another type sets nothing": {
			env:  env{"STORAGE_CONFIG": strings.Replace(spec, `"s3"`, `"hdfs"`, 1), "AWS_ENDPOINT_URL": srv.URL, "AWS_ACCESS_KEY_ID": "ENVID", "AWS_SECRET_ACCESS_KEY": "s"},
			auth: "Credential=ENVID/", says: "access denied",
		},
		"broken JSON does not show its keys": {env: env{"STORAGE_CONFIG": `{"secret_access_key":"hunter2"`}, says: "STORAGE_CONFIG is not a JSON object"},
		"a value that is no string":          {env: env{"STORAGE_CONFIG": `{"verify_ssl":false}`}, says: "all strings"},
	} {
		t.Run(name, func(t *testing.T) {
			auth.Store("")
			f, err := fetcher(t, tc.env)
			if err == nil {
				_, err = f.Fetch(t.Context(), "s3://bkt/m", filepath.Join(t.TempDir(), "m"))
			}
			require.ErrorContains(t, err, tc.says)
			require.NotContains(t, err.Error(), "hunter2")
			require.Contains(t, auth.Load(), tc.auth)
			if tc.auth == "" {
				require.Empty(t, auth.Load())
			}
		})
	}
}

func TestS3Certificates(t *testing.T) {
	srv := httptest.NewTLSServer(sampleserver.New(map[string]fs.FS{"bkt": fstest.MapFS{"m/a.bin": {Data: []byte("a")}}}))
	defer srv.Close()
	dir := t.TempDir()
	bundle := filepath.Join(dir, "cabundle.crt")
	require.NoError(t, os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	empty := filepath.Join(dir, "empty.crt")
	require.NoError(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for name, tc := range map[string]struct {
		env  env
		says string
	}{
		"not verified":                     {env: env{"S3_VERIFY_SSL": "0"}},
		"not verified, without the bundle": {env: env{"S3_VERIFY_SSL": "False", "AWS_CA_BUNDLE": "/nowhere"}},
		"verified, with the bundle":        {env: env{"S3_VERIFY_SSL": "1", "AWS_CA_BUNDLE": bundle}},
		"the bundle of a mounted volume":   {env: env{"CA_BUNDLE_CONFIGMAP_NAME": "x", "CA_BUNDLE_VOLUME_MOUNT_POINT": dir}},
		"verified, without a bundle":       {env: env{"S3_VERIFY_SSL": "1"}, says: "certificate"},
		"a missing bundle":                 {env: env{"AWS_CA_BUNDLE": "/nowhere/ca.crt"}, says: "/nowhere/ca.crt"},
		"a bundle without certificates":    {env: env{"AWS_CA_BUNDLE": empty}, says: "no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.env["AWS_ENDPOINT_URL"], tc.env["awsAnonymousCredential"] = srv.URL, "true"
			f, err := fetcher(t, tc.env)
			require.NoError(t, err)
			_, err = f.Fetch(t.Context(), "s3://bkt/m", filepath.Join(t.TempDir(), "m"))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
		})
	}
}

func TestS3Throttling(t *testing.T) {
	inner := sampleserver.New(map[string]fs.FS{"bkt": fstest.MapFS{"m/a.bin": {Data: []byte("a")}}})
	var n atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`<Error><Code>SlowDown</Code><Message>reduce your request rate</Message></Error>`))
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	o, err := builtin.New(builtin.Options{
		Getenv: env{"AWS_ENDPOINT_URL": srv.URL, "awsAnonymousCredential": "true"}.get,
		Policy: netguard.Policy{AllowLoopback: true}, Log: zaptest.NewLogger(t),
	})
	require.NoError(t, err)
	o.MaxRetryAfter = 500 * time.Millisecond
	_, err = storage.New(o).Fetch(t.Context(), "s3://bkt/m/a.bin", filepath.Join(t.TempDir(), "m"))
	require.ErrorContains(t, err, "S3 is busy")
	require.ErrorContains(t, err, "asks to wait 1s")
}

func TestPolicy(t *testing.T) {
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: []byte("m")}})
	srv.Set("/meta.bin", storagetest.File{Handler: http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound)})
	srv.Set("/loop.bin", storagetest.File{Handler: http.RedirectHandler("/loop.bin", http.StatusFound)})
	srv.Set("/file.bin", storagetest.File{Handler: http.RedirectHandler("file:///etc/passwd", http.StatusFound)})
	local := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	for name, tc := range map[string]struct {
		uri    string
		policy netguard.Policy
		env    env
		says   string
	}{
		"loopback by address":          {uri: srv.URL + "/m.bin", says: "127.0.0.1 is a loopback address"},
		"loopback by name":             {uri: local + "/m.bin", says: "is a loopback address"},
		"metadata":                     {uri: "http://169.254.169.254/latest/x", says: "link-local"},
		"metadata by another spelling": {uri: "http://[::ffff:169.254.169.254]/x", says: "link-local"},
		"an S3 endpoint on loopback":   {uri: "s3://bkt/m", env: env{"AWS_ENDPOINT_URL": srv.URL}, says: "loopback"},
		"a redirect to metadata":       {uri: srv.URL + "/meta.bin", policy: netguard.Policy{AllowLoopback: true}, says: "link-local"},
		"a redirect without end":       {uri: srv.URL + "/loop.bin", policy: netguard.Policy{AllowLoopback: true}, says: "redirects"},
		"a redirect to a file":         {uri: srv.URL + "/file.bin", policy: netguard.Policy{AllowLoopback: true}, says: `"file" is not http`},
		"a host that is not listed":    {uri: srv.URL + "/m.bin", policy: netguard.Policy{AllowLoopback: true, Hosts: []string{".example.com"}}, says: "not allowed here"},
		"a scheme that is not listed":  {uri: srv.URL + "/m.bin", policy: netguard.Policy{AllowLoopback: true, Schemes: []string{"s3"}}, says: `scheme "http" is not allowed`},
		"the API server":               {uri: srv.URL + "/m.bin", policy: netguard.Policy{AllowLoopback: true}, env: env{"KUBERNETES_SERVICE_HOST": "127.0.0.1"}, says: "denied"},
		"allowed":                      {uri: local + "/m.bin", policy: netguard.Policy{AllowLoopback: true}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetcher(t, tc.env, func(o *builtin.Options) { o.Policy = tc.policy })
			require.NoError(t, err)
			_, err = f.Fetch(t.Context(), tc.uri, filepath.Join(t.TempDir(), "m"))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
			require.Equal(t, provider.Refused, provider.KindOf(err))
		})
	}
}

func TestHeadersStayWithTheirHost(t *testing.T) {
	other := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Data: []byte("m")}})
	there := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	srv := storagetest.NewWeb(t, map[string]storagetest.File{"/m.bin": {Handler: http.RedirectHandler(there+"/m.bin", http.StatusFound)}})
	f, err := fetcher(t, env{"127.0.0.1-headers": `{"x-token":"secret"}`})
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "m")
	_, err = f.Fetch(t.Context(), srv.URL+"/m.bin?sig=hidden", dir)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"m.bin": "m"}, tree(t, dir))
	for _, r := range srv.Requests() {
		require.Equal(t, "secret", r.Header.Get("X-Token"))
	}
	for _, r := range other.Requests() {
		require.Empty(t, r.Header.Get("X-Token"))
		require.Empty(t, r.Header.Get("Referer"))
	}

	f, err = fetcher(t, env{"127.0.0.1-headers": `{"x-token":`})
	require.NoError(t, err)
	_, err = f.Fetch(t.Context(), srv.URL+"/m.bin", dir)
	require.ErrorContains(t, err, "127.0.0.1-headers is not a JSON object")
}

func TestClaims(t *testing.T) {
	mounts := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(mounts, "claim", "m", "snap"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(mounts, "claim", "m", "blob"), []byte("b"), 0o600))
	require.NoError(t, os.Symlink("../blob", filepath.Join(mounts, "claim", "m", "snap", "model.bin")))
	require.NoError(t, os.MkdirAll(filepath.Join(mounts, "claim", "bad"), 0o755))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(mounts, "claim", "bad", "p")))
	require.NoError(t, os.MkdirAll(filepath.Join(mounts, "claim", "round"), 0o755))
	require.NoError(t, os.Symlink(".", filepath.Join(mounts, "claim", "round", "again")))
	require.NoError(t, os.MkdirAll(filepath.Join(mounts, "claim", "empty"), 0o755))
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "a b"), []byte("b"), 0o600))
	for name, tc := range map[string]struct {
		uri  string
		want map[string]string
		says string
	}{
		"a link within the claim":      {uri: "pvc://claim/m/snap", want: env{"model.bin": "b"}},
		"by its mount path":            {uri: mounts + "/claim/m", want: env{"blob": "b", "snap/model.bin": "b"}},
		"a file URI":                   {uri: "file://" + mounts + "/claim/m/blob", want: env{"blob": "b"}},
		"a link out of the claim":      {uri: "pvc://claim/bad", says: "outside its volume"},
		"a link to itself":             {uri: "pvc://claim/round", says: "links to a folder above itself"},
		"nothing there":                {uri: "pvc://claim/none", says: "nothing at pvc://claim/none"},
		"a path with escapes":          {uri: "file://" + elsewhere + "/a%20b", says: "a path is taken as it is written; write " + elsewhere + "/a b"},
		"an empty folder":              {uri: "pvc://claim/empty", says: "without any file"},
		"a path that leaves the claim": {uri: "pvc://claim/../x", says: "not a plain one"},
		"a name that leaves the mount": {uri: "pvc://../x", says: "cannot be the name"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetcher(t, nil, func(o *builtin.Options) { o.ClaimsDir = mounts })
			require.NoError(t, err)
			dir := filepath.Join(t.TempDir(), "m")
			_, err = f.Fetch(t.Context(), tc.uri, dir)
			if tc.says != "" {
				require.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, tree(t, dir))
			_, err = f.Fetch(t.Context(), tc.uri, dir)
			require.NoError(t, err, "a second run is fine")
		})
	}
}

func TestSampleServer(t *testing.T) {
	fsys := fstest.MapFS{
		"iris/model.joblib": {Data: bytes.Repeat([]byte("m"), 100_000)},
		"iris/meta.json":    {Data: []byte("{}")},
		"iris/.git/config":  {Data: []byte("no")},
	}
	for i := range 2100 {
		fsys["many/"+string(rune('a'+i%26))+"/"+strings.Repeat("x", 1+i/26)] = &fstest.MapFile{Data: []byte{byte(i)}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	base, wait, err := sampleserver.New(map[string]fs.FS{"samples": fsys}).Start(ctx, "127.0.0.1:0")
	require.NoError(t, err)
	f, err := fetcher(t, env{"AWS_ENDPOINT_URL": base, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"})
	require.NoError(t, err)
	for uri, files := range map[string]int{
		"s3://samples/iris":                 2,
		"s3://samples/iris/meta.json":       1,
		base + "/samples/iris/model.joblib": 1,
		"s3://samples/many":                 2100,
		"s3://samples":                      2102,
	} {
		res, err := f.Fetch(ctx, uri, filepath.Join(t.TempDir(), "m"))
		require.NoError(t, err, uri)
		require.Equal(t, files, res.Files, uri)
	}
	_, err = f.Fetch(ctx, "s3://samples/iri", filepath.Join(t.TempDir(), "m"))
	require.Equal(t, provider.NotFound, provider.KindOf(err))
	_, err = f.Fetch(ctx, base+"/samples/iris/.git/config", filepath.Join(t.TempDir(), "m"))
	require.Equal(t, provider.NotFound, provider.KindOf(err))
	cancel()
	require.NoError(t, wait())
	_, err = f.Fetch(t.Context(), base+"/samples/iris/meta.json", filepath.Join(t.TempDir(), "m"))
	require.Error(t, err)
	require.False(t, errors.Is(err, context.Canceled))
}

func TestWebCertificates(t *testing.T) {
	srv := httptest.NewTLSServer(sampleserver.New(map[string]fs.FS{"bkt": fstest.MapFS{"a.bin": {Data: []byte("a")}}}))
	defer srv.Close()
	dir, broken := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cabundle.crt"),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(broken, "cabundle.crt"), []byte("nothing"), 0o600))
	for name, tc := range map[string]struct {
		env  env
		says string
	}{
		"the operator's bundle":  {env{"CA_BUNDLE_CONFIGMAP_NAME": "x", "CA_BUNDLE_VOLUME_MOUNT_POINT": dir}, ""},
		"no bundle":              {env{}, "certificate"},
		"a broken bundle":        {env{"CA_BUNDLE_CONFIGMAP_NAME": "x", "CA_BUNDLE_VOLUME_MOUNT_POINT": broken}, "certificate"},
		"a mount that is absent": {env{"CA_BUNDLE_CONFIGMAP_NAME": "x", "CA_BUNDLE_VOLUME_MOUNT_POINT": "/nowhere"}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fetcher(t, tc.env)
			require.NoError(t, err)
			res, err := f.Fetch(t.Context(), srv.URL+"/bkt/a.bin", filepath.Join(t.TempDir(), "m"))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
			require.Zero(t, res.Retries, "no attempt mends a certificate")
			require.Equal(t, provider.Other, provider.KindOf(err))
		})
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.bin"), []byte("m"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	f, err := fetcher(t, nil, func(o *builtin.Options) { o.Claims = map[string]string{"claim": dir} })
	require.NoError(t, err)
	for uri, want := range map[string]string{
		dir: dir, "file://" + dir: dir, "pvc://claim": dir,
		dir + "/m.bin": "", dir + "/none": "", dir + "/empty": "", "s3://bkt/m": "", "ftp://x/y": "", "": "",
	} {
		got, ok := f.Locate(t.Context(), uri)
		require.Equal(t, want != "", ok, uri)
		if ok {
			require.Equal(t, want, got)
		}
	}
}
