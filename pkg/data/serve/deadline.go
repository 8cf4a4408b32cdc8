// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// Headers with which an HTTP client tells how long it waits for the answer, in the order in which they are looked at after
// protocol.HeaderTimeout.
const (
	// headerGRPCTimeout is gRPC's own form, up to eight digits and a unit of one letter: 250m, 2S.
	headerGRPCTimeout = "Grpc-Timeout"
	// headerEnvoyTimeout is set by Envoy, and so by gateways made of it: milliseconds.
	headerEnvoyTimeout = "X-Envoy-Expected-Rq-Timeout-Ms"
)

// longestTimeout is the longest that is kept: what is longer is as good as none.
const longestTimeout = 24 * time.Hour

// withDeadline is r with the deadline that its header has, where it is for a model. done must be called when it is answered; it is nil
// without a deadline.
func withDeadline(r *http.Request, to route) (with *http.Request, done context.CancelFunc, err error) {
	if to != routeV1Predict && to != routeV1Explain && to != routeV2Infer {
		return r, nil, nil
	}
	for _, header := range [...]struct {
		name string
		read func(string) (time.Duration, bool)
		want string
	}{
		{protocol.HeaderTimeout, readTimeout, "a number of seconds such as 0.5, or with a unit such as 500ms"},
		{headerGRPCTimeout, readGRPCTimeout, "up to eight digits and one of H, M, S, m, u, n"},
		{headerEnvoyTimeout, readMilliseconds, "a number of milliseconds"},
	} {
		values := r.Header[header.name]
		if len(values) == 0 {
			continue
		}
		timeout, ok := header.read(values[0])
		if !ok {
			return nil, nil, protocol.Errorf(protocol.Invalid, "header %s: expected %s, got %.40q", header.name, header.want, values[0])
		}
		if timeout >= longestTimeout || timeout == 0 && header.name == headerEnvoyTimeout { // Envoy's 0 is none
			return r, nil, nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		return r.WithContext(ctx), cancel, nil
	}
	return r, nil, nil
}

func readTimeout(text string) (time.Duration, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0) {
			return 0, false
		}
		return time.Duration(min(seconds, longestTimeout.Seconds()) * float64(time.Second)), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

func readGRPCTimeout(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}
	if len(text) < 2 || len(text) > 9 {
		return 0, false
	}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !known || err != nil {
		return 0, false
	}
	return time.Duration(min(n, uint64(longestTimeout/unit)) * uint64(unit)), true
}

func readMilliseconds(text string) (time.Duration, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	return time.Duration(min(n, uint64(longestTimeout/time.Millisecond))) * time.Millisecond, err == nil
}
