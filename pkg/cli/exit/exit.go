// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package exit gives every way a command can end its own code and turns an error into that code.
//
// Called by: cli and its commands.
// Next: cmd/kserve, which ends the process with the code.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes of kserve. They are part of its contract: scripts test them.
const (
	OK          = 0 // everything asked for was done
	Failed      = 1 // the work was tried and failed: a service did not become ready, a prediction was refused
	Usage       = 2 // wrong command, flag or argument
	Invalid     = 3 // an input file cannot be read, is malformed, or holds an object with faults
	Busy        = 4 // an address to listen on is taken
	Unreachable = 5 // the server that was asked cannot be reached or did not answer in time
)

// Table tells the codes to a person, for --help and the documentation.
const Table = `Exit codes:
  0  everything asked for was done
  1  the work was tried and failed: a service did not become ready, a prediction was refused
  2  wrong command, flag or argument
  3  an input file cannot be read, is malformed, or holds an object with faults
  4  an address to listen on is taken
  5  the server that was asked cannot be reached or did not answer in time`

// Error is an error that knows how the process ends.
type Error struct {
	Code int
	Err  error // nil when everything was said already
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a formatted message; %w keeps a cause.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Silent ends the process with a code when the command has already said why.
func Silent(code int) *Error { return &Error{Code: code} }

// Code is how the process ends because of err; an error that does not say so is a failure.
func Code(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	default:
		return Failed
	}
}

// Message is what is still to be said about err; empty when nothing is.
func Message(err error) string {
	var e *Error
	if err == nil || (errors.As(err, &e) && e.Err == nil) {
		return ""
	}
	return err.Error()
}
