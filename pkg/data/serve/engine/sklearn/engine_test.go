// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func open(tb testing.TB, fixture string) engine.Model {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(models, fixture, "model", "model.*"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	m, err := New().Open(tb.Context(), files[0], engine.Options{})
	require.NoError(tb, err)
	return m
}

func matrixOf(rows, cols int, values ...float64) *tensor.Request {
	return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("input-0", tensor.FP64, values, int64(rows), int64(cols))}}
}

func TestMetadataSaysWhatTheModelTakes(t *testing.T) {
	m := open(t, "sklearn-logreg-strings")
	meta := m.Metadata()
	require.Equal(t, "sklearn.linear_model._logistic.LogisticRegression", meta.Class)
	require.Equal(t, []string{"predict", "predict_proba", "predict_log_proba", "decision_function"}, meta.Methods)
	require.Equal(t, []int64{-1, 4}, meta.Inputs[0].Shape)
	require.Equal(t, tensor.Bytes, meta.Outputs[0].Type)
}

func TestAResponseIsReusable(t *testing.T) {
	m := open(t, "sklearn-logreg-strings")
	var out tensor.Response
	for range 3 {
		out.Reset()
		require.NoError(t, m.Predict(t.Context(), matrixOf(2, 4, 4.6, 3.1, 1.5, 0.2, 6.9, 3.1, 4.9, 1.5), &out))
		require.Len(t, out.Outputs, 1)
		require.Equal(t, []int64{2}, out.Outputs[0].Shape)
		require.Equal(t, "setosa", string(out.Outputs[0].Bytes(0)))
		require.Equal(t, "versicolor", string(out.Outputs[0].Bytes(1)))
	}
}

func TestWhatTheCallerGotWrongIsNamed(t *testing.T) {
	m := open(t, "sklearn-logreg-strings")
	flat := matrixOf(1, 4, 1, 2, 3, 4)
	flat.Inputs[0].Shape = []int64{4}
	method := matrixOf(1, 4, 1, 2, 3, 4)
	method.Method = "transform"
	for name, c := range map[string]struct {
		in   *tensor.Request
		says string
	}{
		"a column too many":        {matrixOf(1, 5, 1, 2, 3, 4, 5), "expected 4 features in a row, got 5"},
		"one dimension":            {flat, "expected a two-dimensional array, got one of shape [4]"},
		"no rows":                  {matrixOf(0, 4), "expected at least one row"},
		"NaN":                      {matrixOf(1, 4, 1, math.NaN(), 3, 4), "does not take NaN: row 0, column 1"},
		"infinity":                 {matrixOf(1, 4, 1, 2, 3, math.Inf(-1)), "does not take infinity: row 0, column 3"},
		"no input":                 {&tensor.Request{}, "no input"},
		"a method it has not":      {method, "predict, predict_proba"},
		"a text that is no number": {&tensor.Request{Inputs: []*tensor.Tensor{tensor.FromStrings("x", []string{"1", "2", "three", "4"}, 1, 4)}}, `expected a number, got "three"`},
	} {
		t.Run(name, func(t *testing.T) {
			var out tensor.Response
			err := m.Predict(t.Context(), c.in, &out)
			var e *protocol.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, protocol.Invalid, e.Code)
			require.Contains(t, e.Message, c.says)
		})
	}
}

func TestAFrameMustHaveTheColumnsOfTheFit(t *testing.T) {
	m := open(t, "sklearn-linreg-dataframe")
	names := m.Metadata().Features
	require.NotEmpty(t, names)
	frame := &tensor.Request{Frame: true}
	for _, n := range names {
		frame.Inputs = append(frame.Inputs, tensor.From(n, tensor.FP64, []float64{0.1, 0.2}, 2))
	}
	var out tensor.Response
	require.NoError(t, m.Predict(t.Context(), frame, &out))
	frame.Inputs[0].Name = "another"
	out.Reset()
	err := m.Predict(t.Context(), frame, &out)
	require.ErrorContains(t, err, "another")
}

func TestWhatIsNoModelIsRefused(t *testing.T) {
	scaler := func() *pickle.Object {
		return &pickle.Object{
			Class: pickle.Global{Module: "sklearn.preprocessing._data", Name: "StandardScaler"},
			State: &pickle.Dict{Keys: []any{"_sklearn_version"}, Values: []any{"1.5.2"}},
		}
	}
	for name, c := range map[string]struct {
		root any
		says string
	}{
		"a dict without a model":    {&pickle.Dict{Keys: []any{"a"}, Values: []any{int64(1)}}, "no model in the file: it holds a dict"},
		"a number":                  {int64(3), "it holds an int"},
		"two models in one dict":    {&pickle.Dict{Keys: []any{"a", "b"}, Values: []any{scaler(), scaler()}}, `2 models in the file, under "a", "b"`},
		"an estimator never fitted": {scaler(), "never fitted"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := find(c.root)
			if err == nil {
				l := &loader{registry: newRegistry(), built: map[*pickle.Object]estimator{}}
				_, err = l.build(o, "model")
			}
			var bad *engine.BadModel
			require.ErrorAs(t, err, &bad)
			require.Contains(t, err.Error(), c.says)
		})
	}
}

func TestAPipelineInsideItselfIsRefused(t *testing.T) {
	steps := &pickle.List{}
	o := &pickle.Object{Class: pickle.Global{Module: "sklearn.pipeline", Name: "Pipeline"}, State: &pickle.Dict{Keys: []any{"steps"}, Values: []any{steps}}}
	steps.Items = []any{pickle.Tuple{"again", o}}
	l := &loader{registry: newRegistry(), built: map[*pickle.Object]estimator{}}
	_, err := l.build(o, "model")
	require.ErrorContains(t, err, "contains itself")
}

func TestAClassThatIsNotServedIsNamed(t *testing.T) {
	dir := filepath.Join(models, "sklearn-kmeans", "model")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	_, err = New().Open(t.Context(), filepath.Join(dir, entries[0].Name()), engine.Options{})
	var unsupported *engine.Unsupported
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, "sklearn.cluster._kmeans.KMeans", unsupported.Class)
}

func TestPredictionsOfARowAllocateLittle(t *testing.T) {
	for _, fixture := range []string{"sklearn-logreg-multinomial", "sklearn-svc-rbf", "sklearn-knn-c", "sklearn-gaussiannb", "sklearn-mlp-c"} {
		t.Run(fixture, func(t *testing.T) {
			m := open(t, fixture)
			width := int(m.Metadata().Inputs[0].Shape[1])
			in := matrixOf(64, width, make([]float64, 64*width)...)
			var out tensor.Response
			allocs := testing.AllocsPerRun(50, func() {
				out.Reset()
				require.NoError(t, m.Predict(t.Context(), in, &out))
			})
			require.Less(t, allocs, 20.0, "for 64 rows")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	for _, fixture := range []string{
		"sklearn-logreg-multinomial", "sklearn-svc-rbf", "sklearn-knn-c", "sklearn-knn-c-brute", "sklearn-gaussiannb", "sklearn-mlp-c", "sklearn-pipeline-scaler-logreg",
	} {
		b.Run(fixture, func(b *testing.B) {
			m := open(b, fixture)
			width := int(m.Metadata().Inputs[0].Shape[1])
			in := matrixOf(1, width, make([]float64, width)...)
			var out tensor.Response
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := m.Predict(b.Context(), in, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fading is a context whose deadline passes when it has been looked at some times.
type fading struct {
	context.Context //nolint:containedctx // it is one
	looks           int
}

func (c *fading) Err() error {
	if c.looks--; c.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// Each row is compared with all of training: many rows end in the middle when the deadline passes.
func TestRowsThatTakeLongEndWithTheirCaller(t *testing.T) {
	for _, name := range []string{"sklearn-knn-c", "sklearn-knn-r", "sklearn-nearest-neighbors", "sklearn-svc-rbf", "sklearn-svc-rbf-proba", "sklearn-svr", "sklearn-pipeline-scaler-svc"} {
		m := open(t, name)
		const rows = 1000
		cols := m.Metadata().Inputs[0].Shape[1]
		in := &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, make([]float64, rows*cols), rows, cols)}}
		require.ErrorIs(t, m.Predict(&fading{Context: t.Context(), looks: 3}, in, &tensor.Response{}), context.DeadlineExceeded, name)
		require.NoError(t, m.Predict(t.Context(), in, &tensor.Response{}), name)
	}
}
