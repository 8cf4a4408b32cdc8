// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package frames is a client of HTTP/2 that writes its frames by hand, for tests of what clients must not do.
//
// Called by: tests of data/httpserver and data/serve.
// Next: data/httpserver, which has to bear what it sends.
package frames

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Types of frames (RFC 9113, 6).
const (
	Data         = 0
	Headers      = 1
	Reset        = 3
	Settings     = 4
	Ping         = 6
	GoAway       = 7
	WindowUpdate = 8
	Continuation = 9
)

// Flags of frames.
const (
	EndStream  = 1
	Ack        = 1
	EndHeaders = 4
)

// InitialWindow is the setting of how much of an answer may come unasked.
const InitialWindow = 4

// Conn is a connection after its preface.
type Conn struct {
	net.Conn
	reader *bufio.Reader
}

// Dial connects in cleartext. The settings are numbers and values in turn.
func Dial(tb testing.TB, addr string, settings ...uint32) *Conn {
	tb.Helper()
	c, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", addr)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = c.Close() })
	var payload []byte
	for i := 0; i < len(settings); i += 2 {
		payload = binary.BigEndian.AppendUint16(payload, uint16(settings[i]))
		payload = binary.BigEndian.AppendUint32(payload, settings[i+1])
	}
	_, err = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	require.NoError(tb, err)
	f := &Conn{Conn: c, reader: bufio.NewReader(c)}
	require.NoError(tb, f.Send(Settings, 0, 0, payload))
	return f
}

// Send writes one frame.
func (c *Conn) Send(kind, flags byte, stream uint32, payload []byte) error {
	n := len(payload)
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	_, err := c.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	return err
}

// Frame is one that came.
type Frame struct {
	Kind, Flags byte
	Stream      uint32
	Payload     []byte
}

// Next reads a frame.
func (c *Conn) Next() (Frame, error) {
	var head [9]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: head[3], Flags: head[4], Stream: binary.BigEndian.Uint32(head[5:]) &^ (1 << 31)}
	f.Payload = make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err := io.ReadFull(c.reader, f.Payload)
	return f, err
}

// Ended answers what the server asks and returns when it has closed the connection; it fails the test after the time given.
func (c *Conn) Ended(tb testing.TB, within time.Duration) {
	tb.Helper()
	require.NoError(tb, c.SetReadDeadline(time.Now().Add(within)))
	for {
		f, err := c.Next()
		if err != nil {
			require.NotErrorIs(tb, err, os.ErrDeadlineExceeded, "the server has not closed the connection after %s", within)
			return
		}
		if f.Kind == Ping && f.Flags&Ack == 0 {
			_ = c.Send(Ping, Ack, 0, f.Payload)
		}
	}
}

// Block is a header block (RFC 7541) of names and values in turn.
func Block(fields ...string) []byte {
	var b []byte
	for i, text := range fields {
		if i%2 == 0 {
			b = append(b, 0) // a literal that is not remembered
		}
		b = append(length(b, len(text)), text...)
	}
	return b
}

func length(b []byte, n int) []byte {
	const most = 127
	if n < most {
		return append(b, byte(n))
	}
	b = append(b, most)
	for n -= most; n >= 128; n >>= 7 {
		b = append(b, byte(n)|128)
	}
	return append(b, byte(n))
}

// Call is the header block of a gRPC call.
func Call(method string) []byte {
	return Block(":method", "POST", ":scheme", "http", ":authority", "x", ":path", method, "content-type", "application/grpc", "te", "trailers")
}

// Message is a message of gRPC, for Data frames.
func Message(text []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
}
