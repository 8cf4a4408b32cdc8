// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package s3 reads models from Amazon S3 and every store that speaks its protocol.
//
// Called by: storage, through its Provider interface; storage/builtin makes it.
// Next: minio-go, over a transport guarded by storage/provider/netguard.
package s3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/kserve-go/kserve-go/pkg/apis/modelref"
	"github.com/kserve-go/kserve-go/pkg/storage/provider"
	"github.com/kserve-go/kserve-go/pkg/storage/provider/netguard"
)

// Options configure the provider.
type Options struct {
	Config Config
	// Policy says what may be reached; nil is the zero policy.
	Policy *netguard.Policy
	// Connections bounds the idle pool; 32 when zero.
	Connections int
	// MaxFiles ends a listing; 1,000,000 when zero.
	MaxFiles int
}

// Provider reads buckets.
type Provider struct {
	o      Options
	client func() (*minio.Core, error)
}

// New returns a provider; it does no I/O. Wrong settings show with the first call, so that a program which serves several schemes
// starts without S3's.
func New(o Options) *Provider {
	if o.Policy == nil {
		o.Policy = &netguard.Policy{}
	}
	if o.Connections <= 0 {
		o.Connections = 32
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 1_000_000
	}
	p := &Provider{o: o}
	p.client = sync.OnceValues(p.connect)
	return p
}

func (p *Provider) connect() (*minio.Core, error) {
	c := &p.o.Config
	host, secure, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(host, ":")
	if u, err := url.Parse("//" + host); err == nil {
		name = u.Hostname()
	}
	if err := p.o.Policy.CheckHost(name); err != nil {
		return nil, err
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	policy := *p.o.Policy
	if policy.ConnectTimeout == 0 {
		policy.ConnectTimeout = c.ConnectTimeout
	}
	region := c.Region
	if region == "" && !c.amazon() {
		// Other stores seldom have regions; with one set, the client does not ask for the bucket's before each first use.
		region = "us-east-1"
	}
	core, err := minio.NewCore(host, &minio.Options{
		Creds:        c.credentials(),
		Secure:       secure,
		Region:       region,
		BucketLookup: c.lookup(),
		Transport:    &transport{policy.Transport(tlsConfig, p.o.Connections)},
		// The engine retries, and says so.
		MaxRetries: 1,
	})
	if err != nil {
		return nil, provider.Errorf(provider.Invalid, "set up S3 client for %s: %w", host, err)
	}
	if c.Accelerate && c.amazon() {
		core.SetS3TransferAccelerate("s3-accelerate.amazonaws.com")
	}
	return core, nil
}

// List finds the object of exactly that key, else everything below it as a folder.
func (p *Provider) List(ctx context.Context, ref modelref.Ref) (provider.Listing, error) {
	client, err := p.client()
	if err != nil {
		return provider.Listing{}, err
	}
	bucket, root := ref.Authority, strings.Trim(ref.Path, "/")
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return provider.Listing{}, provider.Errorf(provider.Invalid, "%s: %q is no bucket: %w", ref.URI, bucket, err)
	}
	ctx, wait := withRetryAfter(ctx)
	if root != "" {
		info, err := exact(ctx, client, bucket, root)
		if err != nil {
			return provider.Listing{}, p.classify(err, ref.URI, wait)
		}
		if info.Key != "" {
			rel, _ := provider.Relative(root, root)
			return provider.Listing{Objects: []provider.Object{object(bucket, rel, info)}, Single: true}, nil
		}
		root += "/"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := false
	var out provider.Listing
	for info := range client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Prefix: root, Recursive: true, FetchOwner: &owner}) {
		if info.Err != nil {
			return provider.Listing{}, p.classify(info.Err, ref.URI, wait)
		}
		rel, ok := provider.Relative(info.Key, root)
		if !ok {
			continue
		}
		if len(out.Objects) >= p.o.MaxFiles {
			return provider.Listing{}, provider.Errorf(provider.Invalid, "%s holds more than %d files", ref.URI, p.o.MaxFiles)
		}
		out.Objects = append(out.Objects, object(bucket, rel, info))
	}
	if err := ctx.Err(); err != nil {
		return provider.Listing{}, context.Cause(ctx)
	}
	if len(out.Objects) == 0 {
		return provider.Listing{}, provider.Errorf(provider.NotFound, "no model found at %s: the bucket %s has no object %q and none below %q",
			ref.URI, bucket, strings.TrimSuffix(root, "/"), root)
	}
	return out, nil
}

// exact looks for the object of exactly that key; its Key is empty when there is none. Of all keys that start like it, it would be
// the first of a listing, so one entry tells. Who may not list may still know the object.
func exact(ctx context.Context, client *minio.Core, bucket, key string) (minio.ObjectInfo, error) {
	list, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := false
	for info := range client.ListObjectsIter(list, bucket, minio.ListObjectsOptions{Prefix: key, Recursive: true, MaxKeys: 1, FetchOwner: &owner}) {
		switch {
		case info.Err != nil && minio.ToErrorResponse(info.Err).StatusCode != http.StatusForbidden:
			return minio.ObjectInfo{}, info.Err
		case info.Err == nil && info.Key != key:
			return minio.ObjectInfo{}, nil
		case info.Err == nil && path.Ext(key) != "":
			return info, nil
		}
		// The listing is forbidden, or the type must tell whether this is an archive.
		stat, err := client.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		switch {
		case err == nil:
			stat.Key = key
			return stat, nil
		case info.Err != nil:
			return minio.ObjectInfo{}, info.Err
		}
		return info, nil
	}
	return minio.ObjectInfo{}, ctx.Err()
}

func object(bucket, rel string, info minio.ObjectInfo) provider.Object {
	v := info.ETag
	if v == "" && !info.LastModified.IsZero() {
		v = info.LastModified.UTC().Format(time.RFC3339Nano) + "/" + strconv.FormatInt(info.Size, 10)
	}
	return provider.Object{Path: rel, Key: bucket + "/" + info.Key, Size: info.Size, Version: v, Ranges: true, ContentType: info.ContentType}
}

// Open reads a range of the listed version.
func (p *Provider) Open(ctx context.Context, obj provider.Object, off, n int64) (io.ReadCloser, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	bucket, key, _ := strings.Cut(obj.Key, "/")
	uri := "s3://" + obj.Key
	ctx, wait := withRetryAfter(ctx)
	opts := minio.GetObjectOptions{}
	// A version that is a date is no ETag.
	byTag := obj.Version != "" && !strings.Contains(obj.Version, "/")
	if byTag {
		err = opts.SetMatchETag(obj.Version)
	}
	whole := off == 0 && (n < 0 || n == obj.Size)
	switch {
	case whole:
		n = obj.Size
	case n < 0:
		n = obj.Size - off
		err = errors.Join(err, opts.SetRange(off, 0))
	default:
		err = errors.Join(err, opts.SetRange(off, off+n-1))
	}
	if err != nil {
		return nil, provider.Errorf(provider.Other, "%s: %w", uri, err)
	}
	body, info, _, err := client.GetObject(ctx, bucket, key, opts)
	if err != nil {
		return nil, p.classify(err, uri, wait)
	}
	switch {
	case byTag && info.ETag != "" && info.ETag != obj.Version, whole && info.Size >= 0 && info.Size != n:
		err = provider.Errorf(provider.Changed, "%s changed while it was read", uri)
	case info.Size >= 0 && info.Size != n:
		err = provider.Errorf(provider.Unavailable, "%s: the store sent %d bytes where %d were asked for", uri, info.Size, n)
	}
	if err != nil {
		_ = body.Close()
		return nil, err
	}
	return body, nil
}

// hints say what the user can do.
const (
	hintKeys   = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or set awsAnonymousCredential=true for a public bucket"
	hintRegion = "check AWS_DEFAULT_REGION and AWS_ENDPOINT_URL"
)

// classify gives the store's error its kind and its hint.
func (p *Provider) classify(err error, uri string, wait *time.Duration) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	resp, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		host, _, _ := p.o.Config.endpoint()
		return netguard.Network(err, "reach S3 at "+host+" for "+uri)
	}
	e := &provider.Error{Kind: provider.Other, Cause: err}
	text := resp.Message
	if text == "" {
		text = "no explanation"
	}
	say := func(kind provider.Kind, what, hint string) {
		e.Kind, e.Message = kind, uri+": "+what
		if hint != "" {
			e.Message += "; " + hint
		}
	}
	switch resp.Code {
	case "InvalidBucketName":
		say(provider.Invalid, text, "")
	case "NoSuchBucket":
		bucket, _, _ := strings.Cut(strings.TrimPrefix(uri, "s3://"), "/")
		say(provider.NotFound, "S3 bucket "+strconv.Quote(bucket)+" does not exist", "")
	case "NoSuchKey", "NotFound", "NoSuchVersion":
		say(provider.NotFound, "not found", "")
	case "AccessDenied", "AllAccessDisabled", "AccountProblem":
		say(provider.Denied, "S3 access denied", hintKeys)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "TokenRefreshRequired", "InvalidSecurity":
		say(provider.Unauthenticated, "S3 refuses the credentials ("+resp.Code+")", hintKeys)
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "InvalidRegion":
		say(provider.Invalid, "the bucket is in another region ("+text+")", hintRegion)
	case "PreconditionFailed", "InvalidRange":
		say(provider.Changed, "changed while it was read", "")
	case "SlowDown", "SlowDownRead", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling", "ThrottlingException",
		"RequestTimeTooSkewed", "RequestLimitExceeded", "XMinioServerNotInitialized":
		say(provider.Unavailable, "S3 is busy ("+resp.Code+": "+text+")", "")
	default:
		switch code := resp.StatusCode; {
		case code == http.StatusNotFound:
			say(provider.NotFound, "not found", "")
		case code == http.StatusForbidden:
			say(provider.Denied, "S3 access denied", hintKeys)
		case code == http.StatusUnauthorized:
			say(provider.Unauthenticated, "S3 wants credentials", hintKeys)
		case code == http.StatusPreconditionFailed:
			say(provider.Changed, "changed while it was read", "")
		case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
			say(provider.Unavailable, "S3 is busy (HTTP "+strconv.Itoa(code)+")", "")
		default:
			say(provider.Other, "S3 error "+resp.Code+": "+text, "")
		}
	}
	if e.Kind == provider.Unavailable {
		e.RetryAfter = *wait
	}
	return e
}

type waitKey struct{}

// withRetryAfter gives the transport a place for the Retry-After header, which the client does not pass on.
func withRetryAfter(ctx context.Context) (context.Context, *time.Duration) {
	wait := new(time.Duration)
	return context.WithValue(ctx, waitKey{}, wait), wait
}

type transport struct{ http.RoundTripper }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode < 400 && resp.Header.Get("Last-Modified") == "" {
		// The client insists on a date, and not every store sends one; the engine does not use it.
		resp.Header.Set("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")
	}
	if err == nil && resp.StatusCode >= 400 {
		if wait, ok := req.Context().Value(waitKey{}).(*time.Duration); ok {
			*wait = netguard.RetryAfter(resp.Header, time.Now())
		}
	}
	return resp, err
}
