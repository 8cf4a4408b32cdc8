// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestNoCopyBeginsOnceTheGatewayStops sends from many sides while it stops: what begins before is waited for, and no room stays taken.
func TestNoCopyBeginsOnceTheGatewayStops(t *testing.T) {
	t.Parallel()
	var begun, ended sync.Map
	m := newMirrors(roundTrip(func(r *http.Request) (*http.Response, error) {
		begun.Store(r, true)
		<-r.Context().Done()
		ended.Store(r, true)
		return nil, r.Context().Err()
	}))
	send := func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.test/", strings.NewReader(""))
		require.NoError(t, err)
		m.taken.Add(8)
		m.send(r, &target{}, make([]byte, 8))
	}
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() {
			for range 20 {
				send()
			}
		})
	}
	m.stop()
	count := func(of *sync.Map) (n int) {
		of.Range(func(_, _ any) bool { n++; return true })
		return n
	}
	before := count(&begun)
	require.Equal(t, before, count(&ended), "stop waits for what began")
	senders.Wait()
	send()
	require.Equal(t, before, count(&begun), "nothing begins later")
	require.Zero(t, m.taken.Load())
	require.Empty(t, m.room)
	m.stop() // again is nothing new
}
