// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Defaults of Bodies.
const (
	DefaultMaxBody = 64 << 20
	DefaultStall   = 30 * time.Second
)

// firstRead is how much memory a request gets on its word alone: a declared length above it is believed as it arrives.
const firstRead = 1 << 20

// Bodies reads request bodies with limits. It is safe for concurrent use; the zero value has the defaults.
type Bodies struct {
	// MaxBytes bounds a body, after decompression. Default DefaultMaxBody.
	MaxBytes int64
	// Stall is how long a client may send nothing before the request is given up. Default DefaultStall.
	Stall time.Duration

	gzips sync.Pool
}

// Read appends the whole body to dst[:0] and returns it; the caller owns the memory and may pass it in again. Gzip is
// decompressed. Errors are *protocol.Error: TooLarge, UnsupportedType for another encoding, SlowClient, Invalid.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, dst []byte) ([]byte, error) {
	limit := b.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBody
	}
	dst = dst[:0]
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return dst, nil
	}
	compressed := false
	if len(r.Header["Content-Encoding"]) > 0 {
		switch encoding := strings.ToLower(strings.Join(r.Header["Content-Encoding"], ", ")); encoding {
		case "", "identity":
		case "gzip", "x-gzip":
			compressed = true
		default:
			w.Header().Set("Accept-Encoding", "gzip")
			return dst, protocol.Errorf(protocol.UnsupportedType, "Content-Encoding %q is not supported: send gzip or none", encoding)
		}
	}
	if r.ContentLength > limit {
		// Nothing is read, so the connection cannot be used again.
		w.Header().Set("Connection", "close")
		return dst, protocol.Errorf(protocol.TooLarge, "the body has %d bytes: this server accepts %d", r.ContentLength, limit)
	}
	body := stallReader{body: r.Body, rc: http.NewResponseController(w), stall: b.Stall}
	if body.stall <= 0 {
		body.stall = DefaultStall
	}
	var err error
	if compressed {
		dst, err = b.gunzip(&body, dst, limit)
	} else {
		dst, err = readAll(&body, dst, r.ContentLength, limit)
	}
	if err != nil {
		return dst, b.explain(w, err, int64(len(dst)), limit)
	}
	body.done()
	return dst, nil
}

func (b *Bodies) explain(w http.ResponseWriter, err error, got, limit int64) error {
	switch {
	case errors.Is(err, errTooLarge):
		w.Header().Set("Connection", "close")
		return protocol.Errorf(protocol.TooLarge, "the body has more than the %d bytes that this server accepts", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		stall := b.Stall
		if stall <= 0 {
			stall = DefaultStall
		}
		return protocol.Errorf(protocol.SlowClient, "the body stopped after %d bytes: nothing came for %s", got, stall)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum):
		return protocol.Errorf(protocol.Invalid, "the body is not gzip, which its Content-Encoding says it is")
	case errors.As(err, new(flate.CorruptInputError)):
		return protocol.Wrap(err, protocol.Invalid, "the body's gzip data is damaged: %d bytes could be read", got)
	default:
		return protocol.Wrap(err, protocol.Invalid, "the body ended after %d bytes, before its end", got)
	}
}

var errTooLarge = errors.New("body too large")

// readAll reads to the end. length is what the client declared, -1 when it did not.
func readAll(body io.Reader, dst []byte, length, limit int64) ([]byte, error) {
	want := int64(512)
	if length > 0 {
		want = min(length, firstRead)
	}
	dst = grow(dst, int(want))
	for {
		if len(dst) == cap(dst) {
			if int64(len(dst)) == length {
				// One more read finds the end without more memory.
				return atEnd(body, dst)
			}
			more := int64(cap(dst))
			if length > 0 {
				more = min(more, length-int64(len(dst)))
			}
			dst = grow(dst, int(min(max(more, 512), limit+1)))
		}
		n, err := body.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)) > limit {
			return dst[:limit], errTooLarge
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

func atEnd(body io.Reader, dst []byte) ([]byte, error) {
	var one [1]byte
	_, err := body.Read(one[:])
	if err == io.EOF || err == nil {
		return dst, nil
	}
	return dst, err
}

// grow makes room for n more bytes.
func grow(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	bigger := make([]byte, len(dst), len(dst)+n)
	copy(bigger, dst)
	return bigger
}

func (b *Bodies) gunzip(body io.Reader, dst []byte, limit int64) ([]byte, error) {
	z, _ := b.gzips.Get().(*gzip.Reader)
	var err error
	if z == nil {
		z, err = gzip.NewReader(body)
	} else {
		err = z.Reset(body)
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = gzip.ErrHeader
		}
		return dst, err
	}
	dst, err = readAll(z, dst, -1, limit)
	b.gzips.Put(z)
	return dst, err
}

// stallReader gives each read of the body a fresh deadline.
type stallReader struct {
	body  io.Reader
	rc    *http.ResponseController
	stall time.Duration
	set   bool
}

func (r *stallReader) Read(p []byte) (int, error) {
	// A writer without deadlines (a test's recorder) has no client that can stall.
	r.set = r.rc.SetReadDeadline(time.Now().Add(r.stall)) == nil
	return r.body.Read(p)
}

// done takes the deadline off again: it would otherwise strike while the request is being answered. After an error it stays,
// for net/http reads what is left of a body before it closes a connection.
func (r *stallReader) done() {
	if r.set {
		_ = r.rc.SetReadDeadline(time.Time{})
	}
}
