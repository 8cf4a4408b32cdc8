// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package engine is the contract between the model server and what computes predictions, one back end a child package.
//
// Called by: data/serve/repository, which opens and closes models.
// Next: data/serve/engine/{sklearn,xgboost,lightgbm}.
package engine

import (
	"context"
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Engine opens model files of one framework.
type Engine interface {
	// Name is the model format's name as a ServingRuntime spells it: sklearn, xgboost, lightgbm.
	Name() string
	// Extensions are the file name endings, with the dot, that belong to this engine in a model directory.
	Extensions() []string
	// Open reads the model in file completely, checks it, and compiles it for prediction. It runs nothing that the file says.
	// It returns an *Unsupported for a class or feature it does not serve and a *BadModel for a file that is damaged or hostile.
	// file is a path to one regular file; files beside it that belong to it (joblib 0.9's .npy) may be read too.
	Open(ctx context.Context, file string, options Options) (Model, error)
}

// Options are what a caller may set when a model is opened.
type Options struct {
	// Threads is the number of cores one prediction may use; 0 means 1.
	Threads int
	// MaxBytes bounds what a file may ask to allocate while it is read; 0 means a multiple of the file's own size.
	MaxBytes int64
}

// Model is one loaded model.
//
// Predict may be called from many goroutines at once. It reads in (never keeping a reference to its memory) and writes its outputs
// into out, which the caller has Reset and owns. Errors that are the caller's mistake are *protocol.Error with code
// Invalid and name the input, the expected and the actual shape or type.
// Close waits for nothing: the repository calls it when no Predict runs.
type Model interface {
	Metadata() Metadata
	Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error
	Close() error
}

// Explainer is a Model that can tell what each part of an input contributed to its prediction. Explain has the contract of Predict. An
// answer that is one output is the explanation, or one for each row; of several outputs each is a part of it, under its name.
//
// A model whose class has explanations, but not for what was asked or loaded, answers a *protocol.Error of code Unsupported.
type Explainer interface {
	Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error
}

// RowWise is a Model that says whether a row's answer depends on that row, the method and the parameters alone: not on the other rows, and
// not on who asks. Then requests that wait for the model may be joined into one. Models that engines open are so unless they say otherwise;
// those written in Go are not unless they say so.
type RowWise interface {
	RowWise() bool
}

// Sized is a Model that knows how much memory it takes. Of one that does not, the server measures what its value refers to.
type Sized interface {
	SizeBytes() int64
}

// Metadata is what the artefact tells about itself.
type Metadata struct {
	// Platform is the library's name: "sklearn", "xgboost", "lightgbm".
	Platform string
	// Class is the estimator's class or the objective, for logs and `explain`.
	Class string
	// Methods are the values of tensor.Request.Method that Predict accepts, the default first.
	Methods         []string
	Inputs, Outputs []TensorMetadata
	// Features are the column names seen in training, if the artefact has them.
	Features []string
}

// TensorMetadata describes one input or output; a dimension of -1 is free.
type TensorMetadata struct {
	Name  string
	Type  tensor.Type
	Shape []int64
}

// Unsupported is returned by Open for a well-formed file that holds something this server does not serve.
type Unsupported struct { //nolint:errname // engine.Unsupported says it
	// Class is the full name of the class, objective or feature.
	Class string
	// Reason says more, for a person; may be empty.
	Reason string
}

func (e *Unsupported) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("%s is not served by this engine", e.Class)
	}
	return fmt.Sprintf("%s is not served by this engine: %s", e.Class, e.Reason)
}

// BadModel is returned by Open for a file that is damaged, inconsistent, hostile or no model at all.
type BadModel struct { //nolint:errname // engine.BadModel says it
	// Where is the position: a byte offset, an attribute path, a line.
	Where string
	// Reason says what is wrong and what was expected.
	Reason string
	Cause  error
}

func (e *BadModel) Error() string {
	if e.Where == "" {
		return e.Reason
	}
	return e.Where + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *BadModel) Unwrap() error { return e.Cause }
