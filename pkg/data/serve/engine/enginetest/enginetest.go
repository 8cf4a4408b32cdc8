// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest is what the tests of the engines share: recorded models, requests, and checks that every engine passes.
//
// Called by: the tests of data/serve/engine/{xgboost,lightgbm}.
// Next: test/models, which compares predictions with what the libraries predicted.
package enginetest

import (
	"bytes"
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/test/models"
)

// recorded is where the models are, seen from the package of an engine.
const recorded = "../../../../../test/data/models"

// Recorded predicts with every model of e's library and compares with what the library gave; equal and refused are how many there are
// at least.
func Recorded(t *testing.T, e engine.Engine, equal, refused int) {
	t.Helper()
	var out bytes.Buffer
	s, err := models.Run(t.Context(), models.Options{
		Dir: recorded, Match: "/" + e.Name() + "-", Engines: map[string]engine.Engine{e.Name(): e}, Out: &out,
	})
	require.NoError(t, err)
	require.Zero(t, s.Failed, out.String())
	require.GreaterOrEqual(t, s.Equal, equal, out.String())
	require.GreaterOrEqual(t, s.Refused, refused, out.String())
}

// FilesAreBad checks that e refuses the files of the models that patterns match, as no model of its library.
func FilesAreBad(t *testing.T, e engine.Engine, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(recorded, pattern, "model", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			m, err := e.Open(t.Context(), file, engine.Options{})
			var bad *engine.BadModel
			require.ErrorAs(t, err, &bad, file)
			require.Nil(t, m)
		}
	}
}

// File is the one file of a recorded model.
func File(tb testing.TB, name string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recorded, name, "model", "*"))
	require.NoError(tb, err)
	require.Len(tb, files, 1)
	return files[0]
}

// Open opens a recorded model for the time of a test.
func Open(tb testing.TB, e engine.Engine, name string) engine.Model {
	tb.Helper()
	m, err := e.Open(tb.Context(), File(tb, name), engine.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

// Array is a request of one array, whose elements at gives by their position.
func Array(rows, cols int, at func(i int) float64) *tensor.Request {
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = at(i)
	}
	return Input(tensor.From("x", tensor.FP64, values, int64(rows), int64(cols)))
}

// Input is a request of one tensor.
func Input(t *tensor.Tensor) *tensor.Request { return &tensor.Request{Inputs: []*tensor.Tensor{t}} }

// Frame is a request of columns.
func Frame(columns ...*tensor.Tensor) *tensor.Request {
	return &tensor.Request{Inputs: columns, Frame: true}
}

// Number is a column of numbers.
func Number(name string, v ...float64) *tensor.Tensor {
	return tensor.From(name, tensor.FP64, v, int64(len(v)))
}

// Predict is what a model answers, which must be one output.
func Predict[E tensor.Element](tb testing.TB, m engine.Model, r *tensor.Request) []E {
	tb.Helper()
	var out tensor.Response
	require.NoError(tb, m.Predict(tb.Context(), r, &out))
	require.Len(tb, out.Outputs, 1)
	require.Equal(tb, "output-0", out.Outputs[0].Name)
	return tensor.View[E](out.Outputs[0])
}

// Refused is the message with which a model refuses a request as the caller's mistake.
func Refused(tb testing.TB, m engine.Model, r *tensor.Request) string {
	tb.Helper()
	err := m.Predict(tb.Context(), r, &tensor.Response{})
	var e *protocol.Error
	require.ErrorAs(tb, err, &e)
	require.Equal(tb, protocol.Invalid, e.Code)
	return e.Message
}

// BatchesAgree checks that rows of a request of many are predicted as they are in a request of few: engines work on long requests in pieces.
// Each of parameters is a request's; nil is none.
func BatchesAgree[E tensor.Element](t *testing.T, m engine.Model, parameters ...tensor.Parameters) {
	t.Helper()
	const few, many = 3, 10_000
	width := int(m.Metadata().Inputs[0].Shape[1])
	for _, p := range parameters {
		// The rows repeat, and so must the answers.
		at := func(i int) float64 { return float64(i%(few*width)) / 2 }
		short, long := Array(few, width, at), Array(many, width, at)
		short.Parameters, long.Parameters = p, p
		want, got := Predict[E](t, m, short), Predict[E](t, m, long)
		require.Len(t, got, len(want)/few*many)
		for i, v := range got {
			if v != want[i%len(want)] {
				require.Equal(t, want[i%len(want)], v, "%v: number %d", p, i)
			}
		}
	}
}

// PredictsInPlace checks that recorded models predict one row and many without taking memory, once they have it.
func PredictsInPlace(t *testing.T, e engine.Engine, names ...string) {
	t.Helper()
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	for _, name := range names {
		m := Open(t, e, name)
		width := int(m.Metadata().Inputs[0].Shape[1])
		for _, rows := range []int{1, 100} {
			once := again(t, m, Array(rows, width, func(i int) float64 { return float64(i % 3) }))
			once()
			require.Zero(t, testing.AllocsPerRun(50, once), "%s, %d rows", name, rows)
		}
	}
}

// again predicts with the same memory each time.
func again(tb testing.TB, m engine.Model, r *tensor.Request) func() {
	tb.Helper()
	ctx := context.Background()
	var out tensor.Response
	return func() {
		out.Reset()
		if err := m.Predict(ctx, r, &out); err != nil {
			tb.Fatal(err)
		}
	}
}

// Benchmark measures the predictions of a recorded model, for one row and for many.
func Benchmark(b *testing.B, e engine.Engine, name string) {
	b.Helper()
	m := Open(b, e, name)
	width := int(m.Metadata().Inputs[0].Shape[1])
	for _, rows := range []int{1, 1000} {
		once := again(b, m, Array(rows, width, func(i int) float64 { return float64(i % 17) }))
		b.Run(map[int]string{1: "one row", 1000: "1000 rows"}[rows], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				once()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// fading is a context whose deadline passes when it has been looked at some times.
type fading struct {
	context.Context //nolint:containedctx // it is one
	looks           atomic.Int64
}

func (c *fading) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// EndsWithItsCaller tests that a long request, which is not many rows for a prediction, ends in the middle when its deadline passes.
func EndsWithItsCaller(t *testing.T, m engine.Model, parameters tensor.Parameters) {
	t.Helper()
	in := Array(2000, int(m.Metadata().Inputs[0].Shape[1]), func(i int) float64 { return float64(i%17) / 10 })
	in.Parameters = parameters
	ctx := &fading{Context: t.Context()}
	ctx.looks.Store(3)
	require.ErrorIs(t, m.Predict(ctx, in, &tensor.Response{}), context.DeadlineExceeded)
}
