// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/testkit/frames"
	"github.com/kserve-go/kserve-go/pkg/testkit/pki"
)

// stored is the beginning of a gzip file whose first block has 65535 bytes as they are.
const stored = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\xff\xff\x00\x00"

const patience = 20 * time.Second

// reads answers what came of reading the body.
func reads(bodies *httpserver.Bodies) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := bodies.Read(w, r, nil)
		if err != nil {
			e := protocol.From(err)
			http.Error(w, e.Message, e.Code.HTTPStatus())
			return
		}
		fmt.Fprintf(w, "%d bytes", len(body))
	})
}

// trickle writes a byte now and then until the connection is closed, and returns what came back.
func trickle(t *testing.T, c net.Conn, every time.Duration, text string) string {
	t.Helper()
	answer := make(chan string, 1)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	go func() {
		all, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			all = []byte("the connection is still open")
		}
		answer <- string(all)
	}()
	for {
		select {
		case got := <-answer:
			return got
		case <-time.After(every):
			_, _ = io.WriteString(c, text)
		}
	}
}

// A byte in each stall time is not enough: the whole body has to come at a fair speed.
func TestABodyThatTricklesIsGivenUp(t *testing.T) {
	const stall = 200 * time.Millisecond
	s := start(t, httpserver.Options{}, reads(&httpserver.Bodies{Stall: stall}))
	for name, c := range map[string]struct{ head, piece string }{
		"a declared length": {"Content-Length: 100000\r\n\r\n", "x"},
		"chunks":            {"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		"gzip":              {"Content-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n" + stored, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.HTTPAddr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\n"+c.head)
			require.NoError(t, err)
			began := time.Now()
			answer := trickle(t, conn, stall/10, c.piece)
			require.Contains(t, answer, "HTTP/1.1 408 Request Timeout")
			require.Contains(t, answer, "or came too slowly: this server expects 64 KiB every 200ms")
			require.Greater(t, time.Since(began), stall/2)
		})
	}
	t.Run("HTTP/2", func(t *testing.T) {
		c := frames.Dial(t, s.HTTPAddr().String())
		require.NoError(t, c.Send(frames.Headers, frames.EndHeaders, 1,
			frames.Block(":method", "POST", ":scheme", "http", ":authority", "x", ":path", "/", "content-length", "100000")))
		go func() {
			for range 1000 {
				if c.Send(frames.Data, 0, 1, []byte("x")) != nil {
					return
				}
				time.Sleep(stall / 10)
			}
		}()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
		for {
			f, err := c.Next()
			require.NoError(t, err)
			if f.Kind == frames.Data && f.Stream == 1 {
				require.Contains(t, string(f.Payload), "or came too slowly")
				return
			}
		}
	})
}

// A body that is slower than the stall time in all, and never too slow, is read.
func TestASlowBodyIsReadWhole(t *testing.T) {
	s := start(t, httpserver.Options{}, reads(&httpserver.Bodies{Stall: 2 * time.Second}))
	conn, err := net.Dial("tcp", s.HTTPAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	const pieces, piece = 40, 16 << 10
	_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", pieces*piece)
	require.NoError(t, err)
	for range pieces {
		_, err = conn.Write(make([]byte, piece))
		require.NoError(t, err)
		time.Sleep(75 * time.Millisecond)
	}
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), fmt.Sprintf("%d bytes", pieces*piece))
}

// A client that takes a little of its answer now and then is given up too, over TLS as without.
func TestAnAnswerThatIsTakenInCrumbsIsGivenUp(t *testing.T) {
	ca := pki.New(t, "servers")
	var o httpserver.TLS
	o.CertFile, o.KeyFile, _ = ca.Files(t, 1, time.Now().Add(time.Hour))
	for name, options := range map[string]httpserver.Options{
		"cleartext": {WriteStall: 300 * time.Millisecond},
		"TLS":       {WriteStall: 300 * time.Millisecond, TLS: o},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			s := start(t, options, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, err := w.Write(make([]byte, 64<<20))
				ended <- err
			}))
			plain, err := net.Dial("tcp", s.HTTPAddr().String())
			require.NoError(t, err)
			defer plain.Close()
			require.NoError(t, plain.(*net.TCPConn).SetReadBuffer(4096))
			conn := plain
			if options.TLS.CertFile != "" {
				conn = tls.Client(plain, &tls.Config{RootCAs: ca.Pool(), ServerName: pki.Name})
			}
			_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			crumb := make([]byte, 1024)
			for giveUp := time.Now().Add(patience); time.Now().Before(giveUp); time.Sleep(100 * time.Millisecond) {
				_, _ = conn.Read(crumb)
				select {
				case err := <-ended:
					require.Error(t, err)
					return
				default:
				}
			}
			t.Fatal("the answer is still being written")
		})
	}
}

// Headers that come a byte at a time, handshakes that stop half way and connections that say nothing have the time of a header in all.
func TestBeginningsHaveALimit(t *testing.T) {
	ca := pki.New(t, "servers")
	secured := httpserver.Options{ReadHeaderTimeout: 200 * time.Millisecond}
	secured.TLS.CertFile, secured.TLS.KeyFile, _ = ca.Files(t, 1, time.Now().Add(time.Hour))
	plain := httpserver.Options{ReadHeaderTimeout: 200 * time.Millisecond, IdleTimeout: 200 * time.Millisecond}
	for name, c := range map[string]struct {
		options      httpserver.Options
		first, piece string
	}{
		"a header in bytes":             {plain, "GET / HTTP/1.1\r\nX: ", "x"},
		"header lines without end":      {plain, "GET / HTTP/1.1\r\n", "X: y\r\n"},
		"a request line in bytes":       {plain, "GET /", "x"},
		"nothing":                       {plain, "", ""},
		"HTTP/2 without a request":      {plain, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", ""},
		"half a preface of HTTP/2":      {plain, "PRI * HTTP/2.0\r\n", ""},
		"a header of HTTP/2 in pieces":  {plain, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x01\x82", "\x00\x00\x00\x09\x00\x00\x00\x00\x01"},
		"TLS: nothing":                  {secured, "", ""},
		"TLS: half a greeting":          {secured, "\x16\x03\x01\x02\x00\x01\x00", ""},
		"TLS: a greeting in bytes":      {secured, "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03", "x"},
		"TLS: what the server says not": {secured, "GET / HTTP/1.1\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, c.options, http.NotFoundHandler())
			conn, err := net.Dial("tcp", s.HTTPAddr().String())
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, c.first)
			require.NoError(t, err)
			require.NotContains(t, trickle(t, conn, 20*time.Millisecond, c.piece), "still open")
		})
	}
}

// Streams that are begun and reset as fast as can be never run more handlers than streams are allowed, and others are answered meanwhile.
func TestStreamsThatAreResetAtOnce(t *testing.T) {
	var running, most atomic.Int64
	s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			return
		}
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(time.Millisecond)
	}))
	var attackers sync.WaitGroup
	head := frames.Block(":method", "GET", ":scheme", "http", ":authority", "x", ":path", "/")
	for range 2 {
		c := frames.Dial(t, s.HTTPAddr().String())
		attackers.Go(func() { _, _ = io.Copy(io.Discard, c) })
		attackers.Go(func() {
			defer c.Close()
			for i := range uint32(20_000) {
				if c.Send(frames.Headers, frames.EndHeaders|frames.EndStream, 2*i+1, head) != nil ||
					c.Send(frames.Reset, 0, 2*i+1, []byte{0, 0, 0, 8}) != nil {
					return
				}
			}
		})
	}
	for range 20 {
		resp, err := http.Get(s.url + "/other")
		require.NoError(t, err)
		resp.Body.Close()
	}
	attackers.Wait()
	require.Eventually(t, func() bool { return running.Load() == 0 }, patience, time.Millisecond)
	require.LessOrEqual(t, most.Load(), int64(2*300))
}

// A header that goes on and on in continuations ends the connection soon after the limit of headers.
func TestAFloodOfContinuations(t *testing.T) {
	s := start(t, httpserver.Options{}, http.NotFoundHandler())
	c := frames.Dial(t, s.HTTPAddr().String())
	go func() { _, _ = io.Copy(io.Discard, c) }()
	require.NoError(t, c.Send(frames.Headers, 0, 1, frames.Block(":method", "GET", ":scheme", "http", ":authority", "x", ":path", "/")))
	field := frames.Block("x-flood", strings.Repeat("y", 16_000))
	sent := 0
	for ; sent < 10_000; sent++ {
		if c.Send(frames.Continuation, 0, 1, field) != nil {
			break
		}
	}
	require.Less(t, sent*len(field), 32<<20, "what the server has taken")
}

// Connections without a request cost little, keep nobody out, and end.
func TestThousandsOfIdleConnections(t *testing.T) {
	s := start(t, httpserver.Options{ReadHeaderTimeout: 2 * time.Second, IdleTimeout: 2 * time.Second}, http.NotFoundHandler())
	var ended atomic.Int64
	const n = 2000
	for i := range n {
		c, err := net.Dial("tcp", s.HTTPAddr().String())
		require.NoError(t, err)
		defer c.Close()
		if i%2 == 0 {
			_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // kept alive afterwards
			require.NoError(t, err)
		}
		go func() {
			_, _ = io.Copy(io.Discard, c)
			ended.Add(1)
		}()
	}
	resp, err := http.Get(s.url)
	require.NoError(t, err)
	resp.Body.Close()
	require.Eventually(t, func() bool { return ended.Load() == n }, patience, 10*time.Millisecond)
}
