// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// hopsHeader counts the graphs of this process that a request has come through. Graphs that call each other by URL can go round
	// for ever, and here, unlike in a cluster, in one process.
	hopsHeader = "X-Kserve-Graph-Hops"
	maxHops    = 16
)

type hopsKey struct{}

// bounded ends a request that has come through too many graphs.
func bounded(graph http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hops, _ := strconv.Atoi(r.Header.Get(hopsHeader)) // none is 0
		if hops >= maxHops {
			answer(w, http.StatusLoopDetected, fmt.Sprintf("the request has come through %d graphs: do they call each other? look at their serviceUrl", hops))
			return
		}
		graph.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), hopsKey{}, hops+1)))
	})
}

// counting tells the next graph how many a request has come through.
type counting struct{ next http.RoundTripper }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if hops, ok := r.Context().Value(hopsKey{}).(int); ok {
		r = r.Clone(r.Context())
		r.Header.Set(hopsHeader, strconv.Itoa(hops))
	}
	return c.next.RoundTrip(r)
}

// loopback is a transport for which the names of the table's services mean this process's own port.
func (e *executor) loopback(address func() string) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return counting{&http.Transport{
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		DialContext: func(ctx context.Context, network, target string) (net.Conn, error) {
			host := hostOf(target)
			if table := e.routes.Load(); table != nil {
				if _, ok := table.hosts[host]; ok {
					return dialer.DialContext(ctx, "tcp", address())
				}
			}
			if service, _, ok := strings.Cut(host, ".svc"); ok && strings.HasPrefix(host[len(service):]+".", ".svc.") {
				return nil, fmt.Errorf("%s is not served here now; the status lines of kserve run say why", service)
			}
			return dialer.DialContext(ctx, network, target)
		},
	}}
}
