// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fault answers a request in the place of the server, or lets it through in part.
type Fault func(w http.ResponseWriter, r *http.Request, forward http.Handler)

// Refuse answers with an error of the API server's form.
func Refuse(code int, reason metav1.StatusReason, message string) Fault {
	return RefuseFor(code, reason, message, 0)
}

// RefuseFor asks to come back after some seconds, too.
func RefuseFor(code int, reason metav1.StatusReason, message string, seconds int32) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
		}
		if seconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
			status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(status)
	}
}

// Expire ends a watch with the words of a server that no longer has the version it is to start from.
func Expire(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version: 1 (2)",
	}})
}

// Hang never answers.
func Hang(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// Reset cuts the line.
func Reset(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// Lose lets the server do what is asked and cuts the line before the answer.
func Lose(_ http.ResponseWriter, r *http.Request, forward http.Handler) {
	forward.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// Truncate cuts the line after so many bytes of the answer.
func Truncate(bytes int) Fault {
	return func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		forward.ServeHTTP(&short{ResponseWriter: w, left: bytes}, r)
		panic(http.ErrAbortHandler)
	}
}

type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(b []byte) (int, error) {
	if len(b) < s.left {
		s.left -= len(b)
		return s.ResponseWriter.Write(b)
	}
	_, _ = s.ResponseWriter.Write(b[:s.left])
	if f, ok := s.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
	panic(http.ErrAbortHandler)
}

// Unwrap lets the answer be flushed.
func (s *short) Unwrap() http.ResponseWriter { return s.ResponseWriter }
