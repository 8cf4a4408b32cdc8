// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol holds what every wire format shares: the error model and the limits of a request body.
// Its children v1 and v2 are codecs, one wire format each.
//
// Called by: data/serve, data/route, data/sidecar.
// Next: data/serve, which mounts the codecs on one predict path.
package protocol

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code says whose mistake an error is and what a client may do about it. Each wire maps it once.
type Code uint8

// The codes, with the HTTP status and gRPC code they map to.
const (
	Internal        Code = iota // 500, INTERNAL: our own failure
	Invalid                     // 400, INVALID_ARGUMENT: the request is wrong
	NotFound                    // 404, NOT_FOUND
	Conflict                    // 409, ABORTED
	TooLarge                    // 413, RESOURCE_EXHAUSTED
	TooMany                     // 429, RESOURCE_EXHAUSTED: a queue is full; retry later
	Unsupported                 // 501, UNIMPLEMENTED
	UnsupportedType             // 415, INVALID_ARGUMENT: media type or encoding
	Unavailable                 // 503, UNAVAILABLE: not ready, draining
	Deadline                    // 504, DEADLINE_EXCEEDED
	SlowClient                  // 408, DEADLINE_EXCEEDED: the request stopped arriving
	Failed                      // 500, INVALID_ARGUMENT: a model says why it cannot predict; the text is for the client
	Canceled                    // 499, CANCELLED: the client went away, and nobody reads this
)

// names are of the codes, in their order.
//
//nolint:gochecknoglobals // a constant table; Go has no constant arrays
var names = [...]string{
	"internal", "invalid", "not found", "conflict", "too large", "too many", "unsupported", "unsupported type", "unavailable", "deadline",
	"slow client", "failed",
}

// Codes are all codes.
func Codes() []Code {
	all := make([]Code, len(names))
	for i := range all {
		all[i] = Code(i)
	}
	return all
}

// String is the code's name.
func (c Code) String() string {
	if int(c) < len(names) {
		return names[c]
	}
	return names[Internal]
}

// Error is the one error of the data plane. Message is for the client: it names the input, what was expected and what came.
// Cause is for the log only.
type Error struct {
	Code    Code
	Message string
	Cause   error

	// Status is the HTTP status of another server's answer that is handed on; 0 means Code's.
	Status int
	// RetryAfter is when there may be room, or the server may be ready, of TooMany and Unavailable; 0 leaves that to whoever answers.
	RetryAfter time.Duration
}

// maxMessage bounds a message: names from a request are quoted in it, and a request may consist of a name.
const maxMessage = 8 << 10

// Errorf makes an Error with a formatted message, which is cut off where it gets too long.
func Errorf(code Code, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return &Error{Code: code, Message: message}
}

// Wrap makes an Error that keeps cause for the log.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Cause = cause
	return e
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// From finds the Error in err's chain; any other error is Internal, its text kept from the client.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: Internal, Message: "internal error", Cause: err}
}

// HTTPStatus is the status code that a client gets.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	return e.Code.HTTPStatus()
}

// HTTPStatus is the HTTP status code of c.
func (c Code) HTTPStatus() int {
	switch c {
	case Invalid:
		return 400
	case NotFound:
		return 404
	case Conflict:
		return 409
	case TooLarge:
		return 413
	case TooMany:
		return 429
	case Unsupported:
		return 501
	case UnsupportedType:
		return 415
	case Unavailable:
		return 503
	case Deadline:
		return 504
	case SlowClient:
		return 408
	case Canceled:
		return 499
	default:
		return 500
	}
}
