// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func TestIsJSON(t *testing.T) {
	for contentType, want := range map[string]bool{
		"application/json": true, "Application/JSON": true, "application/json; charset=utf-8": true, " application/json ;x": true,
		"application/ld+json": true, "application/vnd.api+JSON": true,
		"": false, "json": false, "text/json": false, "application/": false, "application/+json": false, "application/jsonx": false,
		"application/octet-stream": false, "multipart/form-data; boundary=+json": false,
	} {
		require.Equal(t, want, protocol.IsJSON(contentType), contentType)
	}
}

func TestFrom(t *testing.T) {
	own := protocol.Errorf(protocol.TooMany, "the queue of %q is full", "m")
	require.Same(t, own, protocol.From(fmt.Errorf("predict: %w", own)))
	require.Equal(t, 429, own.Code.HTTPStatus())

	other := protocol.From(io.ErrUnexpectedEOF)
	require.Equal(t, protocol.Internal, other.Code)
	require.Equal(t, "internal error", other.Error())
	require.ErrorIs(t, other, io.ErrUnexpectedEOF)

	wrapped := protocol.Wrap(io.EOF, protocol.Invalid, "input %q", "x")
	require.Equal(t, `input "x"`, wrapped.Error())
	require.True(t, errors.Is(wrapped, io.EOF))
}

func TestMessagesAreBounded(t *testing.T) {
	message := protocol.Errorf(protocol.Invalid, "input %q", strings.Repeat("é", 1<<20)).Message
	require.Less(t, len(message), 16<<10)
	require.True(t, utf8.ValidString(message))
	require.True(t, strings.HasPrefix(message, `input "éé`))
}

func TestHeadersOfOneConnection(t *testing.T) {
	h := http.Header{"Connection": {"close, X-Secret", " authorization ,"}}
	for name, want := range map[string]bool{
		"Connection": true, "Te": true, "Keep-Alive": true, "Upgrade": true, "X-Secret": true, "Authorization": true,
		"X-Request-Id": false, "X-Secre": false, "": true, "Content-Type": false,
	} {
		require.Equal(t, want, protocol.OneConnection(h, name), name)
	}
	require.False(t, protocol.OneConnection(nil, "Authorization"))
}

func TestIDsAreRandomUUIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := protocol.NewID()
		require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}
