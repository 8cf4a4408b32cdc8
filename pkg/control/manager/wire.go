// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// answerTimeout bounds one write, or one read of one object. Without it a request that hangs would take all the time that a pass has,
// and none would be left to say so in the status. It is longer than what the API server gives a webhook unless told otherwise, so that it can
// say which one did not answer. Lists may be long and watches are: they have bounds of their own.
const answerTimeout = 15 * time.Second

// errSlow is why a request was given up.
var errSlow = errors.New("the API server has not answered in time")

// wire is how the process talks to the API server: no longer than it has patience, and no write past the fence.
type wire struct {
	next    http.RoundTripper
	fence   *fence // nil where nobody else may lead
	timeout time.Duration
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	writes := r.Method != http.MethodGet && r.Method != http.MethodHead
	resource, one := target(r.URL.Path)
	if writes && w.fence != nil && !unfenced(resource) {
		if why := w.fence.closed(); why != "" {
			if r.Body != nil {
				_ = r.Body.Close()
			}
			return nil, errors.New(why)
		}
	}
	if !writes && !one {
		return w.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), w.timeout, errSlow)
	resp, err := w.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		slow := errors.Is(context.Cause(ctx), errSlow) && r.Context().Err() == nil
		cancel()
		if slow {
			return nil, fmt.Errorf("%w: %w", errSlow, err)
		}
		return nil, err
	}
	resp.Body = &bounded{resp.Body, cancel}
	comeBack(resp)
	return resp, nil
}

// longestExcuse bounds what is read of the text of a server that has too much to do.
const longestExcuse = 4 << 10

// comeBack takes away the header that says when to come back: the client would wait in the place of its caller, ten times over, and hold up
// whoever is next. A server that has too much to do says the time there alone, beside a text: that answer becomes one that has both.
func comeBack(resp *http.Response) {
	seconds, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32)
	resp.Header.Del("Retry-After")
	if err != nil || resp.StatusCode != http.StatusTooManyRequests || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/") {
		return
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, longestExcuse))
	if err != nil {
		text = nil // the time counts
	}
	status := apierrors.NewTooManyRequests(strings.TrimSpace(string(text)), int(seconds)).Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	raw, err := json.Marshal(status)
	if err != nil {
		raw = text // impossible: it is made of texts and numbers
	}
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Del("Content-Length")
	resp.ContentLength = int64(len(raw))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(raw), resp.Body}
}

// bounded ends the time of a request with its answer.
type bounded struct {
	io.ReadCloser
	done context.CancelFunc
}

func (b *bounded) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// target is the kind that a path leads to, empty for what is no resource, and whether it leads to one object: after the version, and the
// namespace if there is one, comes a kind and a name.
func target(path string) (resource string, one bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return "", true // discovery, the version
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return parts[0], len(parts) > 1
}

// unfenced are the writes of processes that do not lead: the lease itself, events, and questions about their own rights.
func unfenced(resource string) bool {
	return resource == "leases" || resource == "events" || resource == "selfsubjectaccessreviews"
}
