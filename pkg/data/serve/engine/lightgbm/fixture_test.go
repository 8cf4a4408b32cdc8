// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/enginetest"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func TestRecordedModels(t *testing.T) { enginetest.Recorded(t, lightgbm.New(), 224, 9) }

func TestFilesOfOthersAreRefused(t *testing.T) {
	enginetest.FilesAreBad(t, lightgbm.New(), "bad/xgboost-*", "bad/pickle-*", "bad/onnx-*", "bad/text-html", "bad/empty", "xgboost-*", "catboost-*")
}

func open(tb testing.TB, name string) engine.Model {
	tb.Helper()
	return enginetest.Open(tb, lightgbm.New(), name)
}

func predict(tb testing.TB, m engine.Model, r *tensor.Request) []float64 {
	tb.Helper()
	return enginetest.Predict[float64](tb, m, r)
}

func TestMetadata(t *testing.T) {
	m := open(t, "lightgbm-multiclass").Metadata()
	require.Equal(t, "lightgbm", m.Platform)
	require.Equal(t, "multiclass", m.Class)
	require.Equal(t, []string{"Column_0", "Column_1", "Column_2", "Column_3"}, m.Features)
	require.Equal(t, []int64{-1, 4}, m.Inputs[0].Shape)
	require.Equal(t, []int64{-1, 3}, m.Outputs[0].Shape)
}

func TestFramesGoByName(t *testing.T) {
	m := open(t, "lightgbm-multiclass")
	want := predict(t, m, enginetest.Array(2, 4, func(i int) float64 { return float64(i) }))
	for name, columns := range map[string][]*tensor.Tensor{
		"another order": {enginetest.Number("Column_2", 2, 6), enginetest.Number("Column_0", 0, 4), enginetest.Number("Column_3", 3, 7), enginetest.Number("Column_1", 1, 5)},
		"one too many": {
			enginetest.Number("Column_0", 0, 4), enginetest.Number("more", 9, 9), enginetest.Number("Column_1", 1, 5), enginetest.Number("Column_2", 2, 6), enginetest.Number("Column_3", 3, 7),
		},
		"names that the model does not know": {enginetest.Number("a", 0, 4), enginetest.Number("b", 1, 5), enginetest.Number("c", 2, 6), enginetest.Number("d", 3, 7)},
		"integers": {
			enginetest.Number("Column_0", 0, 4), tensor.From("Column_1", tensor.Int64, []int64{1, 5}, 2), enginetest.Number("Column_2", 2, 6), enginetest.Number("Column_3", 3, 7),
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want, predict(t, m, &tensor.Request{Inputs: columns, Frame: true}))
		})
	}
	missing := predict(t, m, enginetest.Array(1, 4, func(i int) float64 {
		if i == 2 {
			return math.NaN()
		}
		return float64(i)
	}))
	columns := []*tensor.Tensor{enginetest.Number("Column_0", 0), enginetest.Number("Column_1", 1), enginetest.Number("Column_3", 3)}
	require.Equal(t, missing, predict(t, m, &tensor.Request{Inputs: columns, Frame: true}))
	require.Contains(t, enginetest.Refused(t, m, &tensor.Request{Inputs: []*tensor.Tensor{enginetest.Number("a", 1)}, Frame: true}), `does not know the columns ["a"]`)
}

func TestCategoriesAreCodedAsInTraining(t *testing.T) {
	m := open(t, "lightgbm-pandas-categorical")
	frame := func(city *tensor.Tensor) *tensor.Request {
		return &tensor.Request{Frame: true, Inputs: []*tensor.Tensor{
			enginetest.Number("age", 30, 30), enginetest.Number("income", 2e4, 2e4), city, tensor.FromStrings("plan", []string{"free", "pro"}, 2),
			enginetest.Number("member", 1, 0), enginetest.Number("visits", 2, 3),
		}}
	}
	rows := enginetest.Array(2, 6, func(i int) float64 { return []float64{30, 2e4, 2, 1, 1, 2, 30, 2e4, math.NaN(), 2, 0, 3}[i] })
	require.Equal(t, predict(t, m, rows), predict(t, m, frame(tensor.FromStrings("city", []string{"Oslo", "Atlantis"}, 2))))
}

func TestRefusedRequests(t *testing.T) {
	m := open(t, "lightgbm-multiclass")
	with := func(key string, v any) *tensor.Request {
		r := enginetest.Array(1, 4, func(int) float64 { return 1 })
		r.Parameters = tensor.Parameters{key: v}
		return r
	}
	for name, c := range map[string]struct {
		request *tensor.Request
		want    string
	}{
		"no input":         {&tensor.Request{}, "the request has no input: expected rows of 4 features"},
		"too few columns":  {enginetest.Array(1, 3, func(int) float64 { return 1 }), `input "x": expected 4 features a row, got 3`},
		"too many columns": {enginetest.Array(1, 5, func(int) float64 { return 1 }), `input "x": expected 4 features a row, got 5`},
		"one dimension":    {&tensor.Request{Inputs: []*tensor.Tensor{enginetest.Number("x", 1, 2, 3, 4)}}, `input "x": expected 2 dimensions, [rows, 4], got shape [4]`},
		"flag":             {with("raw_score", 3.5), `parameter raw_score: expected true or false, got "3.5"`},
		"count":            {with("num_iteration", "all"), `parameter num_iteration: expected an integer from -1 to 16777216, got "all"`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, enginetest.Refused(t, m, c.request)) })
	}
}

func TestIterationsBeyondTheEndAreLeftOut(t *testing.T) {
	m := open(t, "lightgbm-binary")
	r := enginetest.Array(1, 10, func(i int) float64 { return float64(i) })
	all := predict(t, m, r)
	r.Parameters = tensor.Parameters{"num_iteration": int64(1000)}
	require.Equal(t, all, predict(t, m, r))
	r.Parameters = tensor.Parameters{"start_iteration": int64(1000)}
	require.Equal(t, []float64{0.5}, predict(t, m, r))
}

func TestLinearAndPlainTreesMix(t *testing.T) {
	data, err := os.ReadFile(enginetest.File(t, "lightgbm-linear-tree"))
	require.NoError(t, err)
	data = bytes.Replace(data, []byte("is_linear=1"), []byte("is_linear=0"), 1)
	b, err := lightgbm.Parse(data, engine.Options{})
	require.NoError(t, err)
	// The first tree has no features in its leaves, so that its plain values are its linear models.
	r := enginetest.Array(2, 6, func(i int) float64 { return float64(i) })
	require.Equal(t, predict(t, open(t, "lightgbm-linear-tree"), r), predict(t, lightgbm.NewModel(b), r))
}

func TestLimitOnTheFile(t *testing.T) {
	_, err := lightgbm.New().Open(context.Background(), enginetest.File(t, "lightgbm-binary"), engine.Options{MaxBytes: 1000})
	require.ErrorContains(t, err, "larger than the 1000 bytes allowed")
}

func TestLongRequestsArePredictedInPieces(t *testing.T) {
	for name, parameters := range map[string][]tensor.Parameters{
		"lightgbm-multiclass":  {nil, {"raw_score": true}, {"pred_contrib": true}},
		"lightgbm-binary":      {nil, {"pred_contrib": true}},
		"lightgbm-linear-tree": {nil},
	} {
		t.Run(name, func(t *testing.T) { enginetest.BatchesAgree[float64](t, open(t, name), parameters...) })
	}
	enginetest.BatchesAgree[int32](t, open(t, "lightgbm-multiclass"), tensor.Parameters{"pred_leaf": true})
}

func TestPredictionDoesNotAllocate(t *testing.T) {
	enginetest.PredictsInPlace(t, lightgbm.New(), "lightgbm-multiclass", "lightgbm-rf", "lightgbm-categorical", "lightgbm-missing-zero", "lightgbm-linear-tree")
}

func BenchmarkPredict(b *testing.B) { enginetest.Benchmark(b, lightgbm.New(), "lightgbm-big") }

// FuzzParse opens whatever bytes as a model, and predicts with what opens.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"single-leaf", "categorical", "linear-tree", "missing-zero", "pandas-categorical", "rf", "v231-binary", "multiclassova"} {
		data, err := os.ReadFile(enginetest.File(f, "lightgbm-"+name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := lightgbm.Parse(data, engine.Options{})
		if err != nil || b.Features > 1000 || b.Classes > 1000 {
			return
		}
		m := lightgbm.NewModel(b)
		for _, p := range []string{"raw_score", "pred_leaf", "pred_contrib"} {
			r := enginetest.Array(5, b.Features, func(i int) float64 { return []float64{0, 1, -1e300, 3, math.NaN(), math.Inf(1), 1.5}[i%7] })
			r.Parameters = tensor.Parameters{p: true}
			_ = m.Predict(context.Background(), r, &tensor.Response{})
		}
	})
}

func TestContributionsEndWithTheirCaller(t *testing.T) {
	enginetest.EndsWithItsCaller(t, open(t, "lightgbm-big"), tensor.Parameters{"pred_contrib": true})
}
