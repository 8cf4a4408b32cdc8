// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	v2 "github.com/kserve-go/kserve-go/pkg/data/protocol/v2"
)

type (
	headerKey struct{}
	answerKey struct{}
	timedKey  struct{}
)

// WithHeader is a context for calls that are sent with these headers: HTTP's, or as metadata of gRPC. Those of OwnHeader are left out, and
// those that Connection names, but for Host, which names the virtual host of a call over HTTP. A name or a value that the protocol cannot carry is an error of the call, of
// code Invalid.
func WithHeader(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headerKey{}, h)
}

// WithAnswerHeader is a context for one call at a time: into gets the header of its answer, or the metadata of a gRPC call, refused calls'
// too.
func WithAnswerHeader(ctx context.Context, into *http.Header) context.Context {
	return context.WithValue(ctx, answerKey{}, into)
}

// OwnHeader says whether a header belongs to one connection or one body, so that it is never another call's.
func OwnHeader(name string) bool {
	switch name = http.CanonicalHeaderKey(name); name {
	case "Accept-Encoding", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", protocol.HeaderTimeout, v2.HeaderLength:
		return true
	default:
		return strings.HasPrefix(name, "Grpc-") || protocol.OneConnection(nil, name)
	}
}

// addTo writes the headers of ctx into a request over HTTP.
func addTo(ctx context.Context, req *http.Request) error {
	h, _ := ctx.Value(headerKey{}).(http.Header)
	for name, values := range h {
		switch name = http.CanonicalHeaderKey(name); {
		case name == "Host" && len(values) > 0:
			req.Host = values[0]
		case OwnHeader(name), protocol.OneConnection(h, name):
		default:
			if err := carried(name, values, isToken, isText); err != nil {
				return err
			}
			req.Header[name] = values
		}
	}
	if timed, _ := ctx.Value(timedKey{}).(bool); timed {
		if deadline, ok := ctx.Deadline(); ok {
			left := max(time.Until(deadline), 0)
			req.Header[protocol.HeaderTimeout] = []string{strconv.FormatFloat(left.Seconds(), 'f', 3, 64)}
		}
	}
	return nil
}

// outgoing is ctx with its headers as metadata.
func outgoing(ctx context.Context) (context.Context, error) {
	md := metadata.Pairs("request_type", "grpc_v2", "response_type", "grpc_v2")
	h, _ := ctx.Value(headerKey{}).(http.Header)
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		if OwnHeader(name) || protocol.OneConnection(h, name) || name == "User-Agent" {
			continue
		}
		name = strings.ToLower(name)
		if err := carried(name, values, isMetadata, metadataValue(name)); err != nil {
			return nil, err
		}
		md.Append(name, values...)
	}
	return metadata.NewOutgoingContext(ctx, md), nil
}

// answered is where the header of an answer goes; nil where nobody asked for it.
func answered(ctx context.Context) *http.Header {
	into, _ := ctx.Value(answerKey{}).(*http.Header)
	return into
}

// Carried says whether HTTP, or gRPC, can carry a header.
func Carried(name, value string, grpc bool) bool {
	if grpc {
		name = strings.ToLower(name)
		return isMetadata(name) && metadataValue(name)(value)
	}
	return isToken(name) && isText(value)
}

// metadataValue is what values of gRPC's metadata have to be.
func metadataValue(name string) func(string) bool {
	if strings.HasSuffix(name, "-bin") { // any bytes: gRPC writes them in base64
		return func(string) bool { return true }
	}
	return isPrintable
}

// carried is the error for a header that a protocol cannot carry.
func carried(name string, values []string, nameFits, valueFits func(string) bool) error {
	if !nameFits(name) {
		return protocol.Errorf(protocol.Invalid, "header %.100q cannot be sent on: its name has other characters than this protocol's", name)
	}
	for _, v := range values {
		if !valueFits(v) {
			return protocol.Errorf(protocol.Invalid, "header %s cannot be sent on: its value has other characters than this protocol's: %.100q", name, v)
		}
	}
	return nil
}

// isToken holds for names of HTTP's headers.
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}) < 0
}

// isText holds for values of HTTP's headers: no control characters but tabs.
func isText(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) < 0
}

// isMetadata holds for names of gRPC's metadata, in lower case.
func isMetadata(s string) bool {
	return s != "" && strings.IndexFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && !strings.ContainsRune("-_.", c)
	}) < 0
}

// isPrintable holds for values of gRPC's metadata.
func isPrintable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) < 0
}
