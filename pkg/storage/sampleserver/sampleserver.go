// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sampleserver serves folders read-only as S3 buckets and as plain HTTP files on the same URLs, so that samples work offline.
//
// Called by: pkg/cli, which serves the sample models with it; tests.
// Next: storage/provider/{s3,web} are its clients.
package sampleserver

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // an ETag, not a signature
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxKeys is the longest page of a listing, as in S3.
const maxKeys = 1000

// Server is an http.Handler over buckets. Paths are /<bucket>/<key>. Names that begin with a dot are not served. Signatures are not
// checked: everything served is public.
type Server struct {
	buckets map[string]fs.FS
	// born stands in for the time of files that have none, as embedded ones.
	born time.Time
	mu   sync.Mutex
	tags map[string]tag
}

// tag caches a file's ETag until the file changes.
type tag struct {
	size int64
	mod  time.Time
	etag string
}

// New returns a server of the buckets, by name.
func New(buckets map[string]fs.FS) *Server {
	return &Server{buckets: buckets, tags: map[string]tag{}, born: time.Now()}
}

// Start listens on addr ("127.0.0.1:0" for any free port) and serves until ctx ends. It returns the base URL, which is the S3 endpoint
// too, and a function that waits for the end.
func (s *Server) Start(ctx context.Context, addr string) (base string, wait func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen for the sample server: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	return "http://" + l.Addr().String(), func() error {
		defer stop()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// ServeHTTP answers GET and HEAD.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		fail(w, r, http.StatusMethodNotAllowed, "MethodNotAllowed", "this server is read-only")
		return
	}
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	bucket, ok := s.buckets[name]
	if !ok {
		fail(w, r, http.StatusNotFound, "NoSuchBucket", "no bucket of this name")
		return
	}
	if key != "" {
		s.object(w, r, name, key)
		return
	}
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	case q.Has("location"):
		answer(w, http.StatusOK, struct {
			XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		}{})
	default:
		s.list(w, r, name, bucket, q)
	}
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, bucket, key string) {
	if !fs.ValidPath(key) || hidden(key) {
		fail(w, r, http.StatusNotFound, "NoSuchKey", "no object of this name")
		return
	}
	f, err := s.buckets[bucket].Open(key)
	if err != nil {
		fail(w, r, http.StatusNotFound, "NoSuchKey", "no object of this name")
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		fail(w, r, http.StatusNotFound, "NoSuchKey", "no object of this name")
		return
	}
	etag, err := s.etag(bucket, key, info)
	if err != nil {
		fail(w, r, http.StatusInternalServerError, "InternalError", "the file cannot be read")
		return
	}
	content, ok := f.(io.ReadSeeker)
	if !ok {
		data, err := io.ReadAll(f)
		if err != nil {
			fail(w, r, http.StatusInternalServerError, "InternalError", "the file cannot be read")
			return
		}
		content = bytes.NewReader(data)
	}
	w.Header().Set("Etag", `"`+etag+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", s.modified(info), content)
}

func (s *Server) modified(info fs.FileInfo) time.Time {
	if t := info.ModTime(); !t.IsZero() {
		return t
	}
	return s.born
}

// etag is the content's MD5 for small files, as S3 has it; big ones are told apart by size and time.
func (s *Server) etag(bucket, key string, info fs.FileInfo) (string, error) {
	id := bucket + "/" + key
	s.mu.Lock()
	t, ok := s.tags[id]
	s.mu.Unlock()
	if ok && t.size == info.Size() && t.mod.Equal(info.ModTime()) {
		return t.etag, nil
	}
	h := md5.New() //nolint:gosec // an ETag, not a signature
	if info.Size() <= 8<<20 || info.ModTime().IsZero() {
		f, err := s.buckets[bucket].Open(key)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if _, err := io.Copy(h, f); err != nil {
			return "", err
		}
	} else {
		_, _ = fmt.Fprint(h, info.Size(), info.ModTime().UnixNano())
	}
	t = tag{info.Size(), info.ModTime(), hex.EncodeToString(h.Sum(nil))}
	s.mu.Lock()
	s.tags[id] = t
	s.mu.Unlock()
	return t.etag, nil
}

type listed struct {
	Key          string
	LastModified string
	ETag         string
	Size         int64
	StorageClass string
}

type commonPrefix struct{ Prefix string }

type listing struct {
	XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
	Name                  string
	Prefix                string
	Delimiter             string `xml:",omitempty"`
	Marker                string `xml:",omitempty"`
	NextMarker            string `xml:",omitempty"`
	StartAfter            string `xml:",omitempty"`
	ContinuationToken     string `xml:",omitempty"`
	NextContinuationToken string `xml:",omitempty"`
	EncodingType          string `xml:",omitempty"`
	KeyCount              int
	MaxKeys               int
	IsTruncated           bool
	Contents              []listed
	CommonPrefixes        []commonPrefix
}

// list answers both versions of ListObjects. Tokens are the last key of a page.
func (s *Server) list(w http.ResponseWriter, r *http.Request, name string, bucket fs.FS, q url.Values) {
	keys, err := walk(bucket, q.Get("prefix"))
	if err != nil {
		fail(w, r, http.StatusInternalServerError, "InternalError", "the folder cannot be read")
		return
	}
	out := listing{
		Name: name, Prefix: q.Get("prefix"), Delimiter: q.Get("delimiter"), Marker: q.Get("marker"), StartAfter: q.Get("start-after"),
		ContinuationToken: q.Get("continuation-token"), EncodingType: q.Get("encoding-type"), MaxKeys: maxKeys,
	}
	if v := q.Get("max-keys"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			fail(w, r, http.StatusBadRequest, "InvalidArgument", "max-keys is not a number")
			return
		}
		out.MaxKeys = min(n, maxKeys)
	}
	encode := func(s string) string { return s }
	if out.EncodingType == "url" {
		encode = func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }
	}
	after, last, lastPrefix := max(out.Marker, out.StartAfter, out.ContinuationToken), "", ""
	for _, key := range keys {
		if key <= after || after != "" && out.Delimiter != "" && strings.HasSuffix(after, out.Delimiter) && strings.HasPrefix(key, after) {
			continue
		}
		folder := ""
		if out.Delimiter != "" {
			if i := strings.Index(key[len(out.Prefix):], out.Delimiter); i >= 0 {
				folder = key[:len(out.Prefix)+i+len(out.Delimiter)]
			}
		}
		if folder != "" && folder == lastPrefix {
			continue
		}
		if out.KeyCount == out.MaxKeys {
			out.IsTruncated = true
			out.NextMarker, out.NextContinuationToken = last, last
			break
		}
		out.KeyCount++
		if folder != "" {
			lastPrefix, last = folder, folder
			out.CommonPrefixes = append(out.CommonPrefixes, commonPrefix{encode(folder)})
			continue
		}
		last = key
		if item, ok := s.item(name, bucket, key); ok {
			item.Key = encode(item.Key)
			out.Contents = append(out.Contents, item)
		}
	}
	answer(w, http.StatusOK, out)
}

func (s *Server) item(name string, bucket fs.FS, key string) (listed, bool) {
	info, err := fs.Stat(bucket, key)
	if err != nil {
		return listed{}, false
	}
	etag, err := s.etag(name, key, info)
	if err != nil {
		return listed{}, false
	}
	return listed{key, s.modified(info).UTC().Format("2006-01-02T15:04:05.000Z"), `"` + etag + `"`, info.Size(), "STANDARD"}, true
}

// walk returns the keys with the prefix, in S3's order (by bytes), reading only the folder that the prefix names.
func walk(bucket fs.FS, prefix string) ([]string, error) {
	start := "."
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		start = prefix[:i]
		if !fs.ValidPath(start) {
			return nil, nil
		}
	}
	var keys []string
	err := fs.WalkDir(bucket, start, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case name != "." && hidden(path.Base(name)) && d.IsDir():
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasPrefix(name, prefix) && !hidden(name):
			keys = append(keys, name)
		}
		return nil
	})
	slices.Sort(keys)
	return keys, err
}

func hidden(name string) bool {
	return strings.HasPrefix(name, ".") && name != "." || strings.Contains(name, "/.")
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	answer(w, status, struct {
		XMLName  xml.Name `xml:"Error"`
		Code     string
		Message  string
		Resource string
	}{Code: code, Message: message, Resource: r.URL.Path})
}
