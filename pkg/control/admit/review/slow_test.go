// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package review_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"github.com/kserve-go/kserve-go/pkg/control/admit/review"
)

// A body that begins and does not end: whoever sends many of them is not to keep the API server's reviews out.
func TestBodiesThatDoNotEndKeepNobodyOut(t *testing.T) {
	t.Parallel()
	cases := map[string][]byte{
		"a few bytes":     []byte(`{"apiVersion"`),
		"a large portion": bytes.Repeat([]byte(" "), 200<<10),
	}
	for name, beginning := range cases {
		for _, two := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " over HTTP/1.1", true: " over HTTP/2"}[two], func(t *testing.T) {
				t.Parallel()
				e := &review.Endpoint{
					Handle: func(context.Context, *admissionv1.AdmissionRequest) review.Answer { return review.Allowed() },
					Budget: review.NewBudget(),
				}
				server := httptest.NewUnstartedServer(e)
				server.EnableHTTP2 = two
				server.StartTLS()
				ctx, cancel := context.WithCancel(t.Context())
				defer server.Close()
				defer cancel()
				for range 20 {
					reader, writer := io.Pipe()
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, reader)
					require.NoError(t, err)
					request.Header.Set("Content-Type", "application/json")
					go func() {
						if answer, err := server.Client().Do(request); err == nil {
							_ = answer.Body.Close()
						}
					}()
					_, err = writer.Write(beginning)
					require.NoError(t, err)
				}
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"?timeout=10s", strings.NewReader(rightReview))
				require.NoError(t, err)
				request.Header.Set("Content-Type", "application/json")
				answer, err := server.Client().Do(request)
				require.NoError(t, err)
				defer answer.Body.Close()
				require.Equal(t, http.StatusOK, answer.StatusCode)
			})
		}
	}
}
