// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storagetest runs real servers in process for tests: a web server that can be told to fail, and an S3 store.
//
// Called by: the tests of storage, of its providers and of the programs that fetch.
// Next: storage, which fetches from them.
package storagetest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// File is what the web server serves under one path.
type File struct {
	Data []byte
	// ETag is made from the data when empty; "-" sends none and no date either.
	ETag        string
	ContentType string
	// NoRanges ignores range requests.
	NoRanges bool
	// Chunked hides the length.
	Chunked bool
	// Handler, when set, answers instead.
	Handler http.Handler
}

// Fault decides what goes wrong with a request for data; the zero value is nothing.
type Fault struct {
	// Status, when not zero, is answered instead of data.
	Status int
	// RetryAfter is sent with Status.
	RetryAfter string
	// CutAfter closes the connection after so many bytes of the body; -1 means at once.
	CutAfter int
	// StallAfter stops sending after so many bytes, until the client goes away; -1 means at once.
	StallAfter int
	// Delay is spread over the body: it is slept before each 64 KiB.
	Delay time.Duration
}

// Request is what a test may look at afterwards.
type Request struct {
	Path   string
	Range  string
	Header http.Header
	// Sent is how many body bytes went out.
	Sent int64
}

// Web is a web server with faults on demand.
type Web struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string]File
	fault    func(n int, r *http.Request) Fault
	requests []*Request
}

// NewWeb starts a server that ends with the test.
func NewWeb(tb testing.TB, files map[string]File) *Web {
	tb.Helper()
	w := &Web{files: files}
	w.Server = httptest.NewServer(w)
	tb.Cleanup(w.Close)
	return w
}

// Set replaces a file.
func (w *Web) Set(path string, f File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.files[path] = f
}

// Fail sets the function that decides about faults, before the file is looked up; n counts all requests from 1. It may call Set.
func (w *Web) Fail(fault func(n int, r *http.Request) Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// Reset forgets faults and requests.
func (w *Web) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault, w.requests = nil, nil
}

// Requests returns copies of what was asked so far.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Request, len(w.requests))
	for i, r := range w.requests {
		out[i] = *r
	}
	return out
}

// Sent is the number of body bytes sent so far.
func (w *Web) Sent() (n int64) {
	for _, r := range w.Requests() {
		n += r.Sent
	}
	return n
}

// ServeHTTP answers.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rec := &Request{Path: r.URL.Path, Range: r.Header.Get("Range"), Header: r.Header.Clone()}
	w.mu.Lock()
	w.requests = append(w.requests, rec)
	n, decide := len(w.requests), w.fault
	w.mu.Unlock()
	var fault Fault
	if decide != nil {
		fault = decide(n, r)
	}
	w.mu.Lock()
	f, ok := w.files[r.URL.Path]
	w.mu.Unlock()
	switch {
	case fault.Status != 0:
		if fault.RetryAfter != "" {
			rw.Header().Set("Retry-After", fault.RetryAfter)
		}
		rw.WriteHeader(fault.Status)
	case !ok:
		http.NotFound(rw, r)
	case f.Handler != nil:
		f.Handler.ServeHTTP(rw, r)
	default:
		w.serve(&faulty{ResponseWriter: rw, r: r, w: w, rec: rec, fault: fault}, r, f)
	}
}

func (w *Web) serve(rw http.ResponseWriter, r *http.Request, f File) {
	if f.ContentType == "" {
		f.ContentType = "application/octet-stream"
	}
	rw.Header().Set("Content-Type", f.ContentType)
	switch f.ETag {
	case "-":
	case "":
		h := fnv.New64a()
		_, _ = h.Write(f.Data)
		rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, h.Sum64()))
	default:
		rw.Header().Set("ETag", f.ETag)
	}
	if !f.NoRanges && !f.Chunked {
		http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(f.Data))
		return
	}
	if !f.Chunked {
		rw.Header().Set("Content-Length", strconv.Itoa(len(f.Data)))
	}
	rw.WriteHeader(http.StatusOK)
	_, _ = io.Copy(rw, bytes.NewReader(f.Data))
}

// faulty counts the body and breaks it as told.
type faulty struct {
	http.ResponseWriter
	r     *http.Request
	w     *Web
	rec   *Request
	fault Fault
	n     int
}

func (f *faulty) Write(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n := min(len(p), 64<<10)
		limit := f.fault.CutAfter
		if limit == 0 {
			limit = f.fault.StallAfter
		}
		if limit != 0 && f.n+n >= max(limit, 0) {
			n = max(limit-f.n, 0)
			m, _ := f.send(p[:n])
			f.flush()
			if f.fault.CutAfter != 0 {
				panic(http.ErrAbortHandler)
			}
			<-f.r.Context().Done()
			return total + m, f.r.Context().Err()
		}
		if f.fault.Delay > 0 {
			f.flush()
			select {
			case <-time.After(f.fault.Delay):
			case <-f.r.Context().Done():
				return total, f.r.Context().Err()
			}
		}
		m, err := f.send(p[:n])
		total += m
		if err != nil {
			return total, err
		}
		p = p[n:]
	}
	return total, nil
}

func (f *faulty) flush() {
	if fl, ok := f.ResponseWriter.(http.Flusher); ok {
		fl.Flush()
	}
}

// send counts before it writes, so that who has read the bytes finds them counted.
func (f *faulty) send(p []byte) (int, error) {
	f.count(len(p))
	n, err := f.ResponseWriter.Write(p)
	f.n += n
	f.count(n - len(p))
	return n, err
}

func (f *faulty) count(n int) {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.rec.Sent += int64(n)
}

// Bytes makes n bytes that do not compress and differ everywhere; seed makes other ones.
func Bytes(n int, seed uint64) []byte {
	out := make([]byte, n)
	x := seed*2862933555777941757 + 3037000493
	for i := 0; i < n; i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		for j := i; j < min(i+8, n); j++ {
			out[j] = byte(x >> (8 * (j - i)))
		}
	}
	return out
}

// Probe says whether a request is the engine's one-byte look at a file.
func Probe(r *http.Request) bool { return strings.TrimSpace(r.Header.Get("Range")) == "bytes=0-0" }
