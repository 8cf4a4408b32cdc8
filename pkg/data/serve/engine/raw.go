// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"iter"
)

// Raw is a Model written in Go that reads V1 bodies itself, whatever they hold: JSON of any form, or a picture. Its Predict is for V2
// and gRPC. The queue, the limits and the metrics are the same.
type Raw interface {
	Model
	// V1 answers one request; in and its memory are not kept. An error that is the caller's mistake is a *protocol.Error.
	V1(ctx context.Context, in *RawRequest) (*RawAnswer, error)
}

// RawRequest is one V1 request.
type RawRequest struct {
	// Verb is predict or explain.
	Verb string
	// Body is the request's body, or the data of the CloudEvent that it is.
	Body []byte
	// JSON says that Body has been checked to be JSON; its "instances" or "inputs", if it is an object with one, are a list.
	JSON bool
}

// RawAnswer is the answer to a V1 request.
type RawAnswer struct {
	// ContentType of Body; empty means application/json.
	ContentType string
	Body        []byte
	// Chunks are sent one by one as they come, in the place of Body. An error ends the connection: the client sees that the answer is not
	// whole.
	Chunks iter.Seq2[[]byte, error]
}
