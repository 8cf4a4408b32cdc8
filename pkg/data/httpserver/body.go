// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Defaults of Bodies.
const (
	DefaultMaxBody = 64 << 20
	DefaultStall   = 30 * time.Second
	DefaultMaxHeld = 1 << 30
)

const (
	// firstRead is how much memory a request gets on its word alone: a declared length above it is believed as it arrives, and any where
	// memory is short.
	firstRead = 1 << 20
	// bigBody is the size from which on a body is refused first. Smaller ones, which most are, have as much room again.
	bigBody = 1 << 20
	// tinyBody is the size up to which a body does not count: what else a request takes is more.
	tinyBody = 16 << 10
)

// Bodies reads request bodies with limits. It is safe for concurrent use; the zero value has the defaults.
type Bodies struct {
	// MaxBytes bounds a body, after decompression. Default DefaultMaxBody.
	MaxBytes int64
	// Stall is how long a client may send nothing, and how long it may take for each Fair bytes, before the request is given up. Default
	// DefaultStall.
	Stall time.Duration
	// MaxHeld bounds the memory of all bodies that are held at once, between Read and Release, for each client may send MaxBytes, and over
	// HTTP/2 many bodies at a time. Beyond it those above 1 MiB are refused, beyond twice as much all but tiny ones. Default no bound: it is
	// for callers that call Release.
	MaxHeld int64

	held  atomic.Int64
	gzips sync.Pool
}

// weight is what a body of this capacity counts for in MaxHeld.
func weight(capacity int) int64 {
	if capacity <= tinyBody {
		return 0
	}
	return int64(capacity)
}

// Release tells that a body which Read returned without an error is not used any more.
func (b *Bodies) Release(dst []byte) {
	if n := weight(cap(dst)); n > 0 && b.MaxHeld > 0 {
		b.held.Add(-n)
	}
}

// hold counts a body that grew from was; it is false, and nothing is counted, when there is no room for it.
func (b *Bodies) hold(was, is, limit int64) bool {
	if is == was || b.MaxHeld <= 0 {
		return true
	}
	most := b.most(limit)
	if is <= bigBody {
		most *= 2
	}
	if b.held.Add(is-was) > most {
		b.held.Add(was - is)
		return false
	}
	return true
}

// most is MaxHeld, or so much that one body fits, whatever the limits are.
func (b *Bodies) most(limit int64) int64 { return max(b.MaxHeld, 2*limit) }

// room makes room for n more bytes, if there is any.
func (b *Bodies) room(dst []byte, n int, limit int64) ([]byte, error) {
	if cap(dst)-len(dst) < n && !b.hold(weight(cap(dst)), weight(len(dst)+n), limit) {
		return dst, errFull
	}
	return grow(dst, n), nil
}

// Read appends the whole body to dst[:0] and returns it; the caller owns the memory and may pass it in again. Gzip is
// decompressed. Errors are *protocol.Error: TooLarge, UnsupportedType for another encoding, SlowClient, Invalid,
// TooMany when MaxHeld is reached.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, dst []byte) ([]byte, error) {
	limit := b.MaxBytes
	if limit <= 0 {
		limit = DefaultMaxBody
	}
	dst = dst[:0]
	if !b.hold(0, weight(cap(dst)), limit) {
		dst = nil // what was kept is more than there is room for; the body may be less
	}
	dst, err := b.read(w, r, dst, limit)
	if err != nil {
		b.Release(dst)
	}
	return dst, err
}

func (b *Bodies) read(w http.ResponseWriter, r *http.Request, dst []byte, limit int64) ([]byte, error) {
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
	stall := b.stall()
	body := stallReader{body: r.Body, rc: http.NewResponseController(w), patience: patience{stall: stall, left: stall}}
	var err error
	if compressed {
		dst, err = b.gunzip(&body, dst, limit)
	} else {
		dst, err = b.readAll(&body, dst, r.ContentLength, limit)
	}
	if err != nil {
		return dst, b.explain(w, err, int64(len(dst)), limit)
	}
	body.done()
	// Nothing is left to be waited for: see Server.around. net/http has the body of its own.
	r.Body = http.NoBody
	return dst, nil
}

func (b *Bodies) stall() time.Duration {
	if b.Stall > 0 {
		return b.Stall
	}
	return DefaultStall
}

func (b *Bodies) explain(w http.ResponseWriter, err error, got, limit int64) error {
	switch {
	case errors.Is(err, errFull):
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		return protocol.Errorf(protocol.TooMany, "the server holds %d bytes of request bodies already; retry later", b.held.Load())
	case errors.Is(err, errTooLarge):
		w.Header().Set("Connection", "close")
		return protocol.Errorf(protocol.TooLarge, "the body has more than the %d bytes that this server accepts", limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		return protocol.Errorf(protocol.SlowClient, "the body stopped after %d bytes, or came too slowly: this server expects %d KiB every %s", got, Fair>>10, b.stall())
	case errors.Is(err, errBehind):
		return protocol.Errorf(protocol.Invalid, "the body goes on behind its gzip data with bytes that are no gzip; %d bytes were unpacked before them", got)
	case errors.Is(err, gzip.ErrHeader):
		return protocol.Errorf(protocol.Invalid, "the body is not gzip, which its Content-Encoding says it is")
	case errors.Is(err, gzip.ErrChecksum):
		return protocol.Errorf(protocol.Invalid, "the body's gzip data is damaged: the checksum of its %d bytes is another", got)
	case errors.As(err, new(flate.CorruptInputError)):
		return protocol.Wrap(err, protocol.Invalid, "the body's gzip data is damaged: %d bytes could be read", got)
	default:
		return protocol.Wrap(err, protocol.Invalid, "the body ended after %d bytes, before its end", got)
	}
}

var (
	errTooLarge = errors.New("body too large")
	errFull     = errors.New("too many bodies")
	errBehind   = errors.New("bytes behind the gzip data")
)

// readAll reads to the end. length is what the client declared, -1 when it did not.
func (b *Bodies) readAll(body io.Reader, dst []byte, length, limit int64) ([]byte, error) {
	want := int64(512)
	if length > 0 {
		trust := int64(firstRead)
		if b.MaxHeld > 0 && b.held.Load() > b.most(limit)/2 {
			trust = tinyBody
		}
		want = min(length, trust)
	}
	dst, err := b.room(dst, int(want), limit)
	if err != nil {
		return dst, err
	}
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
			more = min(max(more, 512), limit+1-int64(len(dst)))
			if dst, err = b.room(dst, int(more), limit); err != nil {
				return dst, err
			}
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
	z, _ := b.gzips.Get().(*unzipper)
	if z == nil {
		z = &unzipper{in: bufio.NewReader(nil)}
	}
	z.in.Reset(body)
	err := z.member()
	if err == nil {
		dst, err = b.readAll(z, dst, -1, limit)
	}
	z.in.Reset(nil)
	b.gzips.Put(z)
	return dst, err
}

// unzipper reads gzip data of one member or several (RFC 1952, 2.2), and tells what is no member from one that is cut.
type unzipper struct {
	in   *bufio.Reader // of which gzip takes no byte too many
	gzip gzip.Reader
}

// member begins the next one.
func (z *unzipper) member() error {
	err := z.gzip.Reset(z.in)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return gzip.ErrHeader
	}
	z.gzip.Multistream(false)
	return err
}

// Read implements io.Reader.
func (z *unzipper) Read(p []byte) (int, error) {
	n, err := z.gzip.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	switch _, err := z.in.Peek(1); {
	case err != nil:
		return n, err
	case errors.Is(z.member(), gzip.ErrHeader):
		return n, errBehind
	default:
		return n, nil
	}
}

// stallReader gives each read of the body the time that the client has left. A deadline that is nearly new is left, as conn does.
type stallReader struct {
	body     io.Reader
	rc       *http.ResponseController
	patience patience
	until    time.Time
	set      bool
}

func (r *stallReader) Read(p []byte) (int, error) {
	began := time.Now()
	latest := began.Add(r.patience.left)
	if r.until.After(latest) || latest.Sub(r.until) > r.patience.left/8 {
		// A writer without deadlines (a test's recorder) has no client that can stall.
		r.set = r.rc.SetReadDeadline(latest) == nil
		r.until = latest
	}
	n, err := r.body.Read(p)
	r.patience.took(time.Since(began), n)
	return n, err
}

// done takes the deadline off again: it would otherwise strike while the request is being answered. After an error it stays,
// for net/http reads what is left of a body before it closes a connection.
func (r *stallReader) done() {
	if r.set {
		_ = r.rc.SetReadDeadline(time.Time{})
	}
}
