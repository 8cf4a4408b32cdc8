// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Error is a read that the API server did not answer.
type Error struct {
	// Doing is what was read, such as "read secret s".
	Doing string
	Err   error
}

func (e *Error) Error() string { return e.Doing + ": " + Words(e.Err) }

// Unwrap gives the error itself.
func (e *Error) Unwrap() error { return e.Err }

// Words are what a status says of an error of the API server: its own words where it gave any, and of a line that broke nothing that is
// different at the next attempt, such as ports. A status that repeats itself is written once.
func Words(err error) string {
	var answer apierrors.APIStatus
	var slow net.Error
	var number syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.As(err, &answer):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout():
		return "the API server has not answered in time"
	case errors.As(err, &number):
		return "the API server cannot be reached: " + number.Error()
	case onTheLine(err):
		return "the line to the API server broke before its answer was whole"
	}
	return err.Error()
}

// onTheLine tells errors of the transport from those of the client.
func onTheLine(err error) bool {
	var line *url.Error
	return errors.As(err, &line) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "reading response body")
}
