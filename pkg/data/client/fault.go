// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// refusal is an error of a call that the server did no work for, so that it may be made again.
type refusal struct{ err *protocol.Error }

func (r *refusal) Error() string { return r.err.Error() }

// Unwrap returns what the caller gets.
func (r *refusal) Unwrap() error { return r.err }

const firstPause, longestPause, longestAsked = 100 * time.Millisecond, time.Second, 10 * time.Second

// pause waits before a call is made again; false when there is no time for that, or the server asked for more than a caller is kept waiting.
func pause(ctx context.Context, again int, asked time.Duration) bool {
	if asked > longestAsked {
		return false
	}
	wait := min(firstPause<<min(again, 10), longestPause)
	wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // G404: a wait is no secret
	wait = max(wait, asked)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// unanswered is the error of a call that got no answer.
func unanswered(ctx context.Context, where string, err error) error {
	var dial *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return protocol.Wrap(err, protocol.Deadline, "%s did not answer in time", where)
	case ctx.Err() != nil:
		return protocol.Wrap(err, protocol.Unavailable, "the caller went away before %s answered", where)
	case errors.As(err, &dial) && dial.Op == "dial":
		return &refusal{err: protocol.Wrap(err, protocol.Unavailable, "%s cannot be reached: %s", where, reason(err))}
	default:
		return protocol.Wrap(err, protocol.Unavailable, "%s gave no answer: %s", where, reason(err))
	}
}

// reason is what an error says without the request, which the message names itself.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// unusable is the error for an answer that says success and cannot be read.
func unusable(where string, err error) error {
	e := protocol.Wrap(err, protocol.Internal, "the answer of %s cannot be used: %s", where, err)
	e.Status = http.StatusBadGateway
	return e
}

// fault is the error that a REST server answered with: its status and its text.
func (a *answer) fault(where string) error {
	code, ok := codeOfStatus(a.code)
	if !ok {
		return unusable(where, fmt.Errorf("it has the status %s", a.status))
	}
	text := textOf(a.body, a.header.Get("Content-Type"))
	if text == "" {
		text = fmt.Sprintf("%s answered %s", where, a.status)
	}
	e := protocol.Errorf(code, "%s", text)
	e.Status = a.code
	if a.code == http.StatusTooManyRequests || a.code == http.StatusServiceUnavailable {
		e.RetryAfter = after(a.header.Values("Retry-After"))
		return &refusal{err: e}
	}
	return e
}

// after reads the header Retry-After: a number of seconds, or a date. What is neither says nothing; more than an hour is an hour.
func after(values []string) time.Duration {
	if len(values) == 0 {
		return 0
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(values[0]), 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(max(n, 0), 3600)) * time.Second // of a number out of range n is the nearest that there is
	}
	date, err := http.ParseTime(values[0])
	if err != nil {
		return 0
	}
	return min(max(time.Until(date), 0), time.Hour)
}

// codeOfStatus is whose mistake a status tells of; ok is false for one that is no error.
func codeOfStatus(status int) (code protocol.Code, ok bool) {
	switch status {
	case http.StatusNotFound:
		return protocol.NotFound, true
	case http.StatusConflict:
		return protocol.Conflict, true
	case http.StatusRequestEntityTooLarge:
		return protocol.TooLarge, true
	case http.StatusTooManyRequests:
		return protocol.TooMany, true
	case http.StatusUnsupportedMediaType:
		return protocol.UnsupportedType, true
	case http.StatusNotImplemented:
		return protocol.Unsupported, true
	case http.StatusServiceUnavailable:
		return protocol.Unavailable, true
	case http.StatusGatewayTimeout, http.StatusRequestTimeout:
		return protocol.Deadline, true
	}
	switch {
	case status >= 500:
		return protocol.Internal, true
	case status >= 400:
		return protocol.Invalid, true
	default:
		return 0, false
	}
}

// textOf is what the body of an error says: the protocols have it under "error" or "detail", other servers may answer plain text.
func textOf(body []byte, contentType string) string {
	var known struct {
		Error  json.RawMessage
		Detail json.RawMessage
	}
	if json.Unmarshal(body, &known) == nil {
		for _, part := range []json.RawMessage{known.Error, known.Detail} {
			if text := textIn(part); text != "" {
				return text
			}
		}
	}
	if strings.Contains(contentType, "html") {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd")
}

// textIn is a text, or the first message in a list of faults of the form.
func textIn(part json.RawMessage) string {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return text
	}
	var list []struct {
		Loc []any
		Msg string
	}
	if json.Unmarshal(part, &list) == nil && len(list) > 0 && list[0].Msg != "" {
		var path []string
		for _, step := range list[0].Loc {
			path = append(path, fmt.Sprint(step))
		}
		if len(path) == 0 {
			return list[0].Msg
		}
		return strings.Join(path, ".") + ": " + list[0].Msg
	}
	var object struct{ Message string }
	if json.Unmarshal(part, &object) == nil {
		return object.Message
	}
	return ""
}

// called is the error of a gRPC call: its code and its text. retry is what its trailer says of when to come again.
func called(ctx context.Context, where string, err error, retry []string) error {
	s := status.Convert(err)
	e := protocol.Wrap(err, protocol.Internal, "%s", s.Message())
	switch s.Code() {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		e.Code = protocol.Invalid
	case codes.NotFound:
		e.Code = protocol.NotFound
	case codes.AlreadyExists, codes.Aborted:
		e.Code = protocol.Conflict
	case codes.ResourceExhausted:
		e.Code = protocol.TooMany
		if strings.Contains(s.Message(), "larger than max") {
			e.Code = protocol.TooLarge
			return e
		}
		e.RetryAfter = asked(s, retry)
		return &refusal{err: e}
	case codes.Unimplemented:
		e.Code = protocol.Unsupported
	case codes.Unauthenticated:
		e.Code, e.Status = protocol.Invalid, http.StatusUnauthorized
	case codes.PermissionDenied:
		e.Code, e.Status = protocol.Invalid, http.StatusForbidden
	case codes.Unavailable:
		e.Code = protocol.Unavailable
		if ctx.Err() != nil {
			return unanswered(ctx, where, err)
		}
		e.RetryAfter = asked(s, retry)
		return &refusal{err: e}
	case codes.DeadlineExceeded, codes.Canceled:
		if ctx.Err() != nil {
			return unanswered(ctx, where, err)
		}
		e.Code = protocol.Deadline
	default:
	}
	return e
}

// asked is when a refused call may come again: what the details of the status say, or else the trailer.
func asked(s *status.Status, trailer []string) time.Duration {
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return min(max(info.GetRetryDelay().AsDuration(), 0), time.Hour)
		}
	}
	return after(trailer)
}
