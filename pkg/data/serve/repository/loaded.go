// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Loaded is an open model on loan. It is closed when the repository has let go of it and the last request has released it.
type Loaded struct {
	engine.Model

	Name, Version string

	// Custom says that the model is a Go value of the owner's, and not of an engine.
	Custom bool
	// Proba says that the model has the method predict_proba.
	Proba bool
	// RowWise says that the rows of several requests may be predicted as one request's.
	RowWise bool
	// Attached is what Options.Attach made for the name.
	Attached any

	refs atomic.Int64 // the repository's own, and one for each request
	used atomic.Int64 // when it was lent last, in ticks of the repository
	log  *zap.Logger
}

func newLoaded(src Source, model engine.Model, log *zap.Logger) *Loaded {
	l := &Loaded{
		Model: model, Name: src.Name, Version: src.Version, log: log, Custom: src.Model != nil,
		Proba: slices.Contains(model.Metadata().Methods, "predict_proba"),
	}
	l.RowWise = !l.Custom
	if r, ok := model.(engine.RowWise); ok {
		l.RowWise = r.RowWise()
	}
	l.refs.Store(1)
	return l
}

// Predict implements engine.Model. The answer of a Go value of the owner's is looked at before others count on it.
func (l *Loaded) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if err := l.Model.Predict(ctx, in, out); err != nil || !l.Custom {
		return err
	}
	return l.Check(out)
}

// Check is the fault of an answer that the model made.
func (l *Loaded) Check(out *tensor.Response) error {
	if err := out.Check(); err != nil {
		return fmt.Errorf("the answer of model %s cannot be used: %w", l.Name, err)
	}
	return nil
}

// acquire counts one more user, unless the model has been closed.
func (l *Loaded) acquire() bool {
	for {
		n := l.refs.Load()
		if n == 0 {
			return false
		}
		if l.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Retain is one more use, which Release ends. The caller has the model.
func (l *Loaded) Retain() { l.refs.Add(1) }

// Nameless says that the name of a single array means nothing to the model: engines go by shape and type.
func (l *Loaded) Nameless() bool { return !l.Custom }

// Release ends one use. The last one closes the model.
func (l *Loaded) Release() {
	if l.refs.Add(-1) > 0 {
		return
	}
	if err := l.Close(); err != nil {
		l.log.Warn("close model", zap.String("model", l.Name), zap.String("version", l.Version), zap.Error(err))
	}
}
