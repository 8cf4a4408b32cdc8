// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/enginetest"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func TestRecordedModels(t *testing.T) { enginetest.Recorded(t, xgboost.New(), 258, 14) }

func TestFilesOfOthersAreRefused(t *testing.T) {
	enginetest.FilesAreBad(t, xgboost.New(), "bad/lightgbm-*", "bad/pickle-*", "bad/onnx-*", "bad/text-html", "bad/empty", "lightgbm-*", "catboost-*")
}

func open(tb testing.TB, name string) engine.Model {
	tb.Helper()
	return enginetest.Open(tb, xgboost.New(), name)
}

func predict(tb testing.TB, m engine.Model, r *tensor.Request) []float32 {
	tb.Helper()
	return enginetest.Predict[float32](tb, m, r)
}

func TestMetadata(t *testing.T) {
	m := open(t, "xgboost-names-types").Metadata()
	require.Equal(t, "xgboost", m.Platform)
	require.Equal(t, "reg:squarederror", m.Class)
	require.Len(t, m.Features, 10)
	require.Equal(t, []int64{-1, 10}, m.Inputs[0].Shape)
	require.Equal(t, []int64{-1}, m.Outputs[0].Shape)
	require.Equal(t, []int64{-1, 3}, open(t, "xgboost-softprob").Metadata().Outputs[0].Shape)
}

func TestRowsWithFewerColumnsHaveMissingValues(t *testing.T) {
	m := open(t, "xgboost-missing")
	nan := func(i int) float64 {
		if i%6 < 3 {
			return 0.5
		}
		return nanValue()
	}
	require.Equal(t, predict(t, m, enginetest.Array(2, 6, nan)), predict(t, m, enginetest.Array(2, 3, func(int) float64 { return 0.5 })))
	for columns, absent := range map[int]int{6: 0, 5: 1, 1: 5} {
		var out tensor.Response
		require.NoError(t, m.Predict(context.Background(), enginetest.Array(2, columns, func(int) float64 { return 0.5 }), &out))
		require.Equal(t, absent, out.Absent, "the answer tells how many columns were missing")
	}
	require.Equal(t, `input "x": expected 6 features a row, got 7`, enginetest.Refused(t, m, enginetest.Array(1, 7, func(int) float64 { return 0 })))
}

func nanValue() float64 { return float64(tensor.Float16(0x7e00)) }

func TestFramesGoByName(t *testing.T) {
	m := open(t, "xgboost-names-types")
	names := m.Metadata().Features
	row := func(i int) float64 { return 0.01 * float64(i) }
	want := predict(t, m, enginetest.Array(1, 10, row))
	columns := make([]*tensor.Tensor, 10)
	for i, name := range names {
		columns[i] = enginetest.Number(name, row(i))
	}
	require.Equal(t, want, predict(t, m, enginetest.Frame(columns...)))

	// A column that is null.
	null := tensor.FromStrings(names[8], []string{""}, 1)
	null.SetNull(0, tensor.None)
	columns[8] = null
	want = predict(t, m, enginetest.Array(1, 10, func(i int) float64 {
		if i == 8 {
			return nanValue()
		}
		return row(i)
	}))
	require.Equal(t, want, predict(t, m, enginetest.Frame(columns...)))

	columns[0], columns[1] = columns[1], columns[0]
	require.Contains(t, enginetest.Refused(t, m, enginetest.Frame(columns...)), "in this order")
	require.Contains(t, enginetest.Refused(t, m, enginetest.Frame(enginetest.Number(names[0], 1), enginetest.Number("other", 2))), `does not know the columns ["other"]`)
	require.Contains(t, enginetest.Refused(t, m, enginetest.Frame(enginetest.Number(names[0], 1), enginetest.Number(names[1], 1, 2))), `expected 1 rows`)
	columns[0], columns[1] = columns[1], tensor.FromStrings(names[1], []string{"much"}, 1)
	require.Contains(t, enginetest.Refused(t, m, enginetest.Frame(columns...)), `expected numbers, got the string "much" in row 0`)
}

func TestFramesOfModelsWithoutNamesGoByPosition(t *testing.T) {
	m := open(t, "xgboost-missing")
	columns := make([]*tensor.Tensor, 6)
	for i := range columns {
		columns[i] = enginetest.Number(string(rune('p'+i)), float64(i))
	}
	require.Equal(t, predict(t, m, enginetest.Array(1, 6, func(i int) float64 { return float64(i) })), predict(t, m, enginetest.Frame(columns...)))
}

func TestCategoriesThatTrainingDidNotSee(t *testing.T) {
	m := open(t, "xgboost-cat-dataframe-32")
	text := func(name, v string) *tensor.Tensor { return tensor.FromStrings(name, []string{v}, 1) }
	message := enginetest.Refused(t, m, enginetest.Frame(enginetest.Number("age", 30), enginetest.Number("income", 1e4), text("city", "Atlantis"), text("plan", "free"), enginetest.Number("member", 1), enginetest.Number("visits", 2)))
	require.Equal(t, `column "city": the category "Atlantis" in row 0 was not seen in training`, message)
}

func TestRefusedRequests(t *testing.T) {
	m := open(t, "xgboost-softprob")
	ok := func() *tensor.Request { return enginetest.Array(1, 4, func(int) float64 { return 1 }) }
	with := func(key string, v any) *tensor.Request {
		r := ok()
		r.Parameters = tensor.Parameters{key: v}
		return r
	}
	big := ok()
	tensor.View[float64](big.Inputs[0])[2] = 1e39
	method := ok()
	method.Method = "transform"
	for name, c := range map[string]struct {
		request *tensor.Request
		want    string
	}{
		"no input":          {&tensor.Request{}, "the request has no input: expected rows of 4 features"},
		"one dimension":     {enginetest.Input(enginetest.Number("x", 1, 2, 3, 4)), `input "x": expected 2 dimensions, [rows, 4], got shape [4]`},
		"too large":         {big, `input "x": row 0, column 2 is infinite or too large for a float32`},
		"strings":           {enginetest.Input(tensor.FromStrings("x", []string{"a", "b", "c", "d"}, 1, 4)), `input "x": expected numbers, got the string "a" in element 0`},
		"method":            {method, `method "transform": an XGBoost model has the method predict only`},
		"flag":              {with("pred_leaf", "maybe"), `parameter pred_leaf: expected true or false, got "maybe"`},
		"range":             {with("iteration_range", "3"), `parameter iteration_range: expected "first,last", got "3"`},
		"range past end":    {with("iteration_range", "0,11"), `iteration_range is [0, 11), the model has 10 iterations`},
		"range turned over": {with("iteration_range", "(5, 2)"), `iteration_range is [5, 2), the model has 10 iterations`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, enginetest.Refused(t, m, c.request)) })
	}
	require.Contains(t, enginetest.Refused(t, open(t, "xgboost-gblinear"), func() *tensor.Request {
		r := enginetest.Array(1, 10, func(int) float64 { return 1 })
		r.Parameters = tensor.Parameters{"pred_leaf": true}
		return r
	}()), "has no leaves")
}

func TestIterationsAreChosenByTwoParametersToo(t *testing.T) {
	m := open(t, "xgboost-softprob")
	r := enginetest.Array(3, 4, func(i int) float64 { return float64(i) })
	r.Parameters = tensor.Parameters{"iteration_range": "2, 5"}
	want := predict(t, m, r)
	r.Parameters = tensor.Parameters{"iteration_begin": int64(2), "iteration_end": int64(5)}
	require.Equal(t, want, predict(t, m, r))
}

func TestLimitOnTheFile(t *testing.T) {
	_, err := xgboost.New().Open(context.Background(), enginetest.File(t, "xgboost-softprob"), engine.Options{MaxBytes: 1000})
	require.ErrorContains(t, err, "larger than the 1000 bytes allowed")
}

func TestLongRequestsArePredictedInPieces(t *testing.T) {
	contributions := tensor.Parameters{"pred_contribs": true}
	for name, parameters := range map[string][]tensor.Parameters{
		"xgboost-softprob": {nil, {"pred_leaf": true}, contributions},
		"xgboost-softmax":  {nil, {"output_margin": true}},
		"xgboost-gblinear": {nil, contributions},
		"xgboost-missing":  {nil},
	} {
		t.Run(name, func(t *testing.T) { enginetest.BatchesAgree[float32](t, open(t, name), parameters...) })
	}
	enginetest.BatchesAgree[int32](t, open(t, "xgboost-v090-missing"), tensor.Parameters{"pred_leaf": true})
}

func TestPredictionDoesNotAllocate(t *testing.T) {
	enginetest.PredictsInPlace(t, xgboost.New(), "xgboost-softprob", "xgboost-softmax", "xgboost-dart", "xgboost-cat-partition", "xgboost-multi-output")
}

func BenchmarkPredict(b *testing.B) { enginetest.Benchmark(b, xgboost.New(), "xgboost-big") }

// FuzzParse opens whatever bytes as a model, and predicts with what opens.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"single-leaf", "cat-partition", "gblinear", "gblinear-bst", "dart-multi", "v090-missing", "multi-output-ubj", "basescore-vector", "v176-dart-bst"} {
		data, err := os.ReadFile(enginetest.File(f, "xgboost-"+name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := xgboost.Parse(data, engine.Options{})
		if err != nil {
			return
		}
		if b.Features < 1 || b.Features > 1000 || b.Groups > 1000 {
			return
		}
		m := xgboost.NewModel(b)
		for _, p := range []string{"output_margin", "pred_leaf", "pred_contribs"} {
			r := enginetest.Array(5, b.Features, func(i int) float64 { return []float64{0, 1, -1e30, 3, nanValue(), 7, 1.5}[i%7] })
			r.Parameters = tensor.Parameters{p: true}
			_ = m.Predict(context.Background(), r, &tensor.Response{})
		}
	})
}

func TestContributionsEndWithTheirCaller(t *testing.T) {
	enginetest.EndsWithItsCaller(t, open(t, "xgboost-big"), tensor.Parameters{"pred_contribs": true})
}
