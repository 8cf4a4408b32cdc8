// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider holds the words that the fetch engine and the providers of each scheme share: objects and kinds of failure.
//
// Called by: storage (the engine) and storage/provider/{volume,web,s3}.
// Next: storage/provider/volume, the simplest provider.
package provider

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Object is one file at the source.
type Object struct {
	// Path is where the file goes below the target: relative, slash-separated, clean.
	Path string
	// Key is the provider's own name for the object; the engine only hands it back.
	Key string
	// Size is -1 when the source does not tell.
	Size int64
	// Version changes when the content does (an ETag, a generation, a modification time). Empty when the source has none:
	// such an object is never resumed.
	Version string
	// Ranges says that Open may start past zero.
	Ranges bool
	// ContentType is a hint, used to recognise archives that have no telling name.
	ContentType string
}

// Listing is what a reference stands for.
type Listing struct {
	// Objects are in a stable order.
	Objects []Object
	// Single says that the reference names one file, not a folder that happens to hold one.
	Single bool
}

// Kind says what a failure means for the caller.
type Kind uint8

// The kinds of failure. Only Unavailable is worth another attempt; Changed asks for a new listing.
const (
	Other Kind = iota
	NotFound
	Unauthenticated
	Denied
	Changed
	Unavailable
	Invalid
	Refused
)

//nolint:gochecknoglobals // a constant table
var kindNames = [...]string{"other", "not found", "unauthenticated", "denied", "changed", "unavailable", "invalid", "refused"}

// String names the kind for logs and reports.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is a failure that the provider understood.
type Error struct {
	Kind    Kind
	Message string
	// RetryAfter is how long the source asked to wait; zero when it did not.
	RetryAfter time.Duration
	// Cause is the error below, if any. Its text is part of Message only where that helps the user.
	Cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf builds an Error; a %w verb sets its cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// KindOf returns the kind of the first Error in the chain; Other when there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

// Relative applies the one path rule of every scheme to a flat listing: an object whose key is root itself is that file (by its base
// name); an object below root, cut at a whole path segment, keeps the rest of its key. ok is false for everything else and for folder
// markers (keys that end in a slash).
func Relative(key, root string) (rel string, ok bool) {
	root = strings.Trim(root, "/")
	switch {
	case key == "" || strings.HasSuffix(key, "/"):
		return "", false
	case root == "":
		return strings.TrimPrefix(key, "/"), true
	case key == root:
		return path.Base(key), true
	}
	rel, ok = strings.CutPrefix(key, root+"/")
	return rel, ok && rel != ""
}
