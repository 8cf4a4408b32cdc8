// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/httpserver"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, text)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestReadBody(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	cases := map[string]struct {
		body     string
		encoding string
		chunked  bool
		want     string
		status   int
		message  string
	}{
		"an empty body":                        {body: "", want: ""},
		"a short body":                         {body: "hello", want: "hello"},
		"a chunked body":                       {body: long, chunked: true, want: long},
		"a body of exactly the limit":          {body: long, want: long},
		"identity is no encoding":              {body: "hello", encoding: "Identity", want: "hello"},
		"gzip is decoded":                      {body: zipped(t, long), encoding: "gzip", want: long},
		"gzip in chunks is decoded":            {body: zipped(t, long), encoding: "GZIP", chunked: true, want: long},
		"a declared length beyond the limit":   {body: long + "x", status: 413, message: "the body has 10001 bytes: this server accepts 10000"},
		"an undeclared length beyond it":       {body: long + "x", chunked: true, status: 413, message: "the body has more than the 10000 bytes that this server accepts"},
		"a small gzip that grows beyond it":    {body: zipped(t, long+long), encoding: "gzip", status: 413, message: "the body has more than the 10000 bytes that this server accepts"},
		"another encoding":                     {body: "hello", encoding: "br", status: 415, message: `Content-Encoding "br" is not supported: send gzip or none`},
		"no gzip though it says so":            {body: "hello", encoding: "gzip", status: 400, message: "the body is not gzip, which its Content-Encoding says it is"},
		"two gzips are one":                    {body: zipped(t, long[:5000]) + zipped(t, long[5000:]), encoding: "gzip", want: long},
		"an empty gzip before another":         {body: zipped(t, "") + zipped(t, long), encoding: "gzip", want: long},
		"bytes behind a gzip":                  {body: zipped(t, long) + "hello, and more", encoding: "gzip", status: 400, message: "the body goes on behind its gzip data with bytes that are no gzip; 10000 bytes were unpacked before them"},
		"a byte behind a gzip":                 {body: zipped(t, long) + "\n", encoding: "gzip", status: 400, message: "the body goes on behind its gzip data with bytes that are no gzip; 10000 bytes were unpacked before them"},
		"a gzip with another checksum":         {body: zipped(t, long)[:len(zipped(t, long))-8] + "\x00\x00\x00\x00" + zipped(t, long)[len(zipped(t, long))-4:], encoding: "gzip", status: 400, message: "the body's gzip data is damaged: the checksum of its 10000 bytes is another"},
		"a gzip that was cut":                  {body: zipped(t, long)[:30], encoding: "gzip", status: 400, message: "the body ended after 10 bytes, before its end"},
		"a gzip with changed bytes":            {body: zipped(t, long)[:12] + "\xff\xff\xff\xff" + zipped(t, long)[16:], encoding: "gzip", status: 400, message: "the body's gzip data is damaged: 0 bytes could be read"},
		"a gzip of nothing but the first byte": {body: "\x1f", encoding: "gzip", status: 400, message: "the body is not gzip, which its Content-Encoding says it is"},
	}
	bodies := &httpserver.Bodies{MaxBytes: 10_000}
	var buffer []byte
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
			if c.chunked {
				r.ContentLength = -1
			}
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			got, err := bodies.Read(httptest.NewRecorder(), r, buffer)
			buffer = got
			if c.status != 0 {
				require.Equal(t, c.status, protocol.From(err).Code.HTTPStatus())
				if name != "a gzip that was cut" {
					require.EqualError(t, err, c.message)
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestADeclaredLengthIsNotMemoryYet(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("short"))
	r.ContentLength = 60 << 20
	got, _ := (&httpserver.Bodies{}).Read(httptest.NewRecorder(), r, nil)
	require.LessOrEqual(t, cap(got), 1<<20)
}

func TestAStalledBodyIs408(t *testing.T) {
	bodies := &httpserver.Bodies{Stall: 30 * time.Millisecond}
	s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := bodies.Read(w, r, nil)
		e := protocol.From(err)
		http.Error(w, e.Message, e.Code.HTTPStatus())
	}))
	conn, err := net.Dial("tcp", s.HTTPAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "408 Request Timeout")
	require.Contains(t, string(answer), "the body stopped after 3 bytes, or came too slowly: this server expects 64 KiB every 30ms")
}

func TestABodyThatNobodyReadsHoldsNoConnection(t *testing.T) {
	s := start(t, httpserver.Options{ReadHeaderTimeout: 30 * time.Millisecond}, http.NotFoundHandler())
	conn, err := net.Dial("tcp", s.HTTPAddr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "404 Not Found")
}

func TestTheDeadlineOfTheBodyDoesNotStrikeTheAnswer(t *testing.T) {
	bodies := &httpserver.Bodies{Stall: 20 * time.Millisecond}
	s := start(t, httpserver.Options{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := bodies.Read(w, r, nil)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request was cancelled by its own body's deadline")
		case <-time.After(80 * time.Millisecond):
		}
	}))
	resp, err := http.Post(s.url, "text/plain", strings.NewReader("abc"))
	require.NoError(t, err)
	resp.Body.Close()
}

func BenchmarkReadBody(b *testing.B) {
	bodies := &httpserver.Bodies{}
	text := strings.Repeat("x", 200)
	w := httptest.NewRecorder()
	body := strings.NewReader(text)
	r := httptest.NewRequest(http.MethodPost, "/", body)
	closer := io.NopCloser(body)
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(text)
		r.Body = closer
		var err error
		if buffer, err = bodies.Read(w, r, buffer); err != nil {
			b.Fatal(err)
		}
	}
}

func TestBodiesThatAreHeldAtOnceHaveALimit(t *testing.T) {
	const size = 3 << 20
	large, small := strings.Repeat("x", size), strings.Repeat("x", 1000)
	read := func(b *httpserver.Bodies, body string, dst []byte) ([]byte, error) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.ContentLength = -1
		return b.Read(httptest.NewRecorder(), r, dst)
	}
	b := &httpserver.Bodies{MaxBytes: size, MaxHeld: 3 * size}
	var held [][]byte
	for {
		body, err := read(b, large, nil)
		if err != nil {
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, protocol.TooMany, e.Code)
			break
		}
		held = append(held, body)
		require.Less(t, len(held), 10, "there is no limit")
	}
	require.NotEmpty(t, held)
	_, err := read(b, small, nil)
	require.NoError(t, err, "tiny bodies do not count")
	var smaller [][]byte
	for {
		body, err := read(b, large[:1<<19], nil)
		if err != nil {
			require.Equal(t, protocol.TooMany, protocol.From(err).Code)
			break
		}
		smaller = append(smaller, body)
		require.Less(t, len(smaller), 50, "there is no limit")
	}
	require.Greater(t, len(smaller), 5, "smaller ones have more room")
	_, err = read(b, small, make([]byte, 0, 1<<20))
	require.NoError(t, err, "a tiny body needs no memory that was kept")
	for _, body := range smaller {
		b.Release(body)
	}

	b.Release(held[0])
	again, err := read(b, large, held[0])
	require.NoError(t, err, "there is room again, and memory that is used again counts once")
	_, err = read(b, large, nil)
	require.Error(t, err)
	b.Release(again)
	for range 10 {
		_, err = read(b, large+"x", nil)
		var e *protocol.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, protocol.TooLarge, e.Code, "a body that is refused is not held")
	}

	one := &httpserver.Bodies{MaxBytes: size, MaxHeld: 1}
	_, err = read(one, large, nil)
	require.NoError(t, err, "one body always fits")
}
