// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDatagramsFindTheirWayBack(t *testing.T) {
	echo, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer echo.Close()
	go func() {
		b := make([]byte, 100)
		for {
			n, from, err := echo.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = echo.WriteTo(append([]byte("echo "), b[:n]...), from)
		}
	}()
	l, err := open(t.Context(), place{"udp", "127.0.0.1:0"}, want{[]string{echo.LocalAddr().String()}, true})
	require.NoError(t, err)
	defer l.Close()
	conn, ok := l.Closer.(net.PacketConn)
	require.True(t, ok)
	for _, text := range []string{"a", "b"} {
		c, err := net.Dial("udp", conn.LocalAddr().String())
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		for range 2 {
			_, err = c.Write([]byte(text))
			require.NoError(t, err)
			b := make([]byte, 100)
			n, err := c.Read(b)
			require.NoError(t, err)
			require.Equal(t, "echo "+text, string(b[:n]))
		}
	}
}
