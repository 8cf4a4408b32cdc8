// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestARequestThatHangsIsGivenUp(t *testing.T) {
	hang := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	w := &wire{next: hang, timeout: time.Millisecond}
	for method, path := range map[string]string{http.MethodPatch: "/apis/apps/v1/namespaces/n/deployments/d", http.MethodGet: "/api/v1/namespaces/n/secrets/s"} {
		r, err := http.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		require.NoError(t, err)
		_, err = w.RoundTrip(r)
		require.ErrorIs(t, err, errSlow, method)
	}
}

func TestListsAndWatchesAreNotBounded(t *testing.T) {
	w := &wire{timeout: time.Hour, next: roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, bounded := r.Context().Deadline(); bounded {
			return nil, errors.New("bounded")
		}
		return nil, errors.New("free")
	})}
	cases := map[string]string{
		"/api/v1/pods?watch=true": "free", "/api/v1/namespaces/n/pods": "free", "/apis/apps/v1/deployments": "free", "/apis/apps/v1/namespaces/n/deployments": "free",
		"/apis/apps/v1/namespaces/n/deployments/d": "bounded", "/api/v1/namespaces/n": "bounded", "/version": "bounded", "/apis/keda.sh/v1alpha1": "bounded",
	}
	for path, want := range cases {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		require.NoError(t, err)
		_, err = w.RoundTrip(r)
		require.EqualError(t, err, want, path)
	}
}

func TestTheTimeOfARequestEndsWithItsAnswer(t *testing.T) {
	var ended <-chan struct{}
	w := &wire{timeout: time.Hour, next: roundTrip(func(r *http.Request) (*http.Response, error) {
		ended = r.Context().Done()
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"9"}}, Body: io.NopCloser(strings.NewReader("x"))}, nil
	})}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "/api/v1/namespaces/n/services/s", http.NoBody)
	require.NoError(t, err)
	resp, err := w.RoundTrip(r)
	require.NoError(t, err)
	require.Empty(t, resp.Header.Get("Retry-After"), "nobody waits in place")
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "x", string(body))
	select {
	case <-ended:
		t.Fatal("the answer was not read to its end yet")
	default:
	}
	require.NoError(t, resp.Body.Close())
	<-ended
}

// TestABusyServerSaysWhenToComeBack answers as an API server does that has too much to do: with a text, and the time in a header.
func TestABusyServerSaysWhenToComeBack(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "7")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &wire{next: next, timeout: time.Hour} })
	c, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	services := c.Resource(schema.GroupVersionResource{Version: "v1", Resource: "services"}).Namespace("n")
	_, err = services.Get(t.Context(), "s", metav1.GetOptions{})
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	seconds, says := apierrors.SuggestsClientDelay(err)
	require.True(t, says)
	require.Equal(t, 7, seconds)
	require.ErrorContains(t, err, "please try again later")
	require.Equal(t, 1, asked, "nobody waits in place")
}

func TestNothingIsWrittenPastTheFence(t *testing.T) {
	asked := 0
	w := &wire{timeout: time.Hour, fence: &fence{now: time.Now, duration: time.Hour}, next: roundTrip(func(*http.Request) (*http.Response, error) {
		asked++
		return &http.Response{Header: http.Header{}, Body: http.NoBody}, nil
	})}
	do := func(method, path string) error {
		r, err := http.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
		require.NoError(t, err)
		resp, err := w.RoundTrip(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	for _, method := range []string{http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
		require.ErrorContains(t, do(method, "/apis/apps/v1/namespaces/leases/deployments/events"), "does not hold the leader's lease")
	}
	require.Zero(t, asked)
	for method, path := range map[string]string{
		http.MethodGet: "/apis/apps/v1/namespaces/n/deployments/d", http.MethodPut: "/apis/coordination.k8s.io/v1/namespaces/n/leases/l",
		http.MethodPost: "/api/v1/namespaces/n/events", http.MethodPatch: "/api/v1/namespaces/n/events/e",
	} {
		require.NoError(t, do(method, path), path)
	}
	w.fence.renewed(time.Now())
	require.NoError(t, do(http.MethodPatch, "/apis/apps/v1/namespaces/n/deployments/d"))
}
