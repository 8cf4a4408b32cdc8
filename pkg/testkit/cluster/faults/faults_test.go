// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const waitFor, tick = time.Minute, time.Millisecond

// wire is a proxy before a server that answers "all is well" and counts.
func wire(t *testing.T) (p *Proxy, ask func(method, path string) (*http.Response, string, error), served *int) {
	t.Helper()
	n := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		_, _ = io.WriteString(w, "all is well")
		if r.URL.Query().Get("watch") == "true" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	p, err := New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, 1)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	client, err := rest.HTTPClientFor(p.Over(&rest.Config{}))
	require.NoError(t, err)
	token := "Bearer x." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:kserve:me"}`)) + ".y"
	return p, func(method, path string) (*http.Response, string, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, p.server.URL+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Authorization", token)
		resp, err := client.Do(req)
		if err != nil {
			return nil, "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), err
	}, &n
}

func TestARuleHoldsForWhatItChooses(t *testing.T) {
	p, ask, served := wire(t)
	mend := p.Break(Rule{
		Users: []string{"me"}, Verbs: []string{"patch"}, Resources: []string{"deployments"}, Namespace: "ns", Name: "m", Times: 1,
		Fault: RefuseFor(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "later", 7),
	})
	const path = "/apis/apps/v1/namespaces/ns/deployments/m"
	for _, other := range []string{path + "2", "/apis/apps/v1/namespaces/n/deployments/m", path + "/status", "/version"} {
		_, body, err := ask(http.MethodPatch, other)
		require.NoError(t, err)
		require.Equal(t, "all is well", body)
	}
	resp, body, err := ask(http.MethodPatch, path)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, "7", resp.Header.Get("Retry-After"))
	require.Contains(t, body, `"message":"later"`)
	_, body, err = ask(http.MethodPatch, path)
	require.NoError(t, err)
	require.Equal(t, "all is well", body, "the rule has held as often as it may")
	require.Equal(t, 1, mend())
	require.Equal(t, 5, *served)
	faulty := p.Requests(func(r Request) bool { return r.Faulty })
	require.Len(t, faulty, 1)
	require.Equal(t, "me", faulty[0].User)
}

func TestFaultsOfTheLine(t *testing.T) {
	p, ask, served := wire(t)
	const path = "/api/v1/namespaces/ns/services"
	cases := map[string]struct {
		fault  Fault
		served int
		body   string
	}{
		"reset":     {Reset, 0, ""},
		"lost":      {Lose, 1, ""},
		"truncated": {Truncate(3), 1, "all"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			*served = 0
			mend := p.Break(Rule{Verbs: []string{"list"}, Fault: c.fault})
			_, body, err := ask(http.MethodGet, path)
			require.Error(t, err)
			require.Equal(t, c.body, body)
			require.Equal(t, c.served, *served)
			mend()
			_, _, err = ask(http.MethodGet, path)
			require.NoError(t, err)
		})
	}
}

func TestWatchesAreCutAndExpire(t *testing.T) {
	p, ask, _ := wire(t)
	const path = "/api/v1/namespaces/ns/services?watch=true"
	ended := make(chan error, 1)
	go func() {
		_, _, err := ask(http.MethodGet, path)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.watches) == 1
	}, waitFor, tick)
	p.CutWatches()
	require.Error(t, <-ended)
	p.Break(Rule{Verbs: []string{"watch"}, Fault: Expire})
	_, body, err := ask(http.MethodGet, path)
	require.NoError(t, err)
	require.True(t, strings.Contains(body, `"ERROR"`) && strings.Contains(body, "410"), body)
}
