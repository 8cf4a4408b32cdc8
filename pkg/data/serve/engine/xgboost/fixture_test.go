// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/test/models"
)

const recorded = "../../../../../test/data/models"

func TestRecordedModels(t *testing.T) {
	var out bytes.Buffer
	engines := map[string]engine.Engine{"xgboost": xgboost.New()}
	s, err := models.Run(context.Background(), models.Options{Dir: recorded, Match: "/xgboost-", Engines: engines, Out: &out})
	require.NoError(t, err)
	require.Zero(t, s.Failed, out.String())
	require.GreaterOrEqual(t, s.Equal, 258, out.String())
	require.GreaterOrEqual(t, s.Refused, 14, out.String())
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	for _, pattern := range []string{"bad/lightgbm-*", "bad/pickle-*", "bad/onnx-*", "bad/text-html", "bad/empty", "lightgbm-*", "catboost-*"} {
		files, err := filepath.Glob(filepath.Join(recorded, pattern, "model", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			m, err := xgboost.New().Open(context.Background(), file, engine.Options{})
			var bad *engine.BadModel
			require.ErrorAs(t, err, &bad, file)
			require.Nil(t, m)
		}
	}
}

func open(tb testing.TB, name string) engine.Model {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recorded, name, "model", "*"))
	require.NoError(tb, err)
	require.Len(tb, files, 1)
	m, err := xgboost.New().Open(context.Background(), files[0], engine.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

func array(rows, cols int, at func(i int) float64) *tensor.Request {
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = at(i)
	}
	return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, values, int64(rows), int64(cols))}}
}

func frame(columns ...*tensor.Tensor) *tensor.Request {
	return &tensor.Request{Inputs: columns, Frame: true}
}

func number(name string, v ...float64) *tensor.Tensor {
	return tensor.From(name, tensor.FP64, v, int64(len(v)))
}

func predict(tb testing.TB, m engine.Model, r *tensor.Request) []float32 {
	tb.Helper()
	var out tensor.Response
	require.NoError(tb, m.Predict(context.Background(), r, &out))
	require.Len(tb, out.Outputs, 1)
	require.Equal(tb, "output-0", out.Outputs[0].Name)
	return tensor.View[float32](out.Outputs[0])
}

func refused(t *testing.T, m engine.Model, r *tensor.Request) string {
	t.Helper()
	err := m.Predict(context.Background(), r, &tensor.Response{})
	var e *protocol.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, protocol.Invalid, e.Code)
	return e.Message
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
	require.Equal(t, predict(t, m, array(2, 6, nan)), predict(t, m, array(2, 3, func(int) float64 { return 0.5 })))
	for columns, absent := range map[int]int{6: 0, 5: 1, 1: 5} {
		var out tensor.Response
		require.NoError(t, m.Predict(context.Background(), array(2, columns, func(int) float64 { return 0.5 }), &out))
		require.Equal(t, absent, out.Absent, "the answer tells how many columns were missing")
	}
	require.Equal(t, `input "x": expected 6 features a row, got 7`, refused(t, m, array(1, 7, func(int) float64 { return 0 })))
}

func nanValue() float64 { return float64(tensor.Float16(0x7e00)) }

func TestFramesGoByName(t *testing.T) {
	m := open(t, "xgboost-names-types")
	names := m.Metadata().Features
	row := func(i int) float64 { return 0.01 * float64(i) }
	want := predict(t, m, array(1, 10, row))
	columns := make([]*tensor.Tensor, 10)
	for i, name := range names {
		columns[i] = number(name, row(i))
	}
	require.Equal(t, want, predict(t, m, frame(columns...)))

	// A column that is null.
	null := tensor.FromStrings(names[8], []string{""}, 1)
	null.SetNull(0, tensor.None)
	columns[8] = null
	want = predict(t, m, array(1, 10, func(i int) float64 {
		if i == 8 {
			return nanValue()
		}
		return row(i)
	}))
	require.Equal(t, want, predict(t, m, frame(columns...)))

	columns[0], columns[1] = columns[1], columns[0]
	require.Contains(t, refused(t, m, frame(columns...)), "in this order")
	require.Contains(t, refused(t, m, frame(number(names[0], 1), number("other", 2))), `does not know the columns ["other"]`)
	require.Contains(t, refused(t, m, frame(number(names[0], 1), number(names[1], 1, 2))), `expected 1 rows`)
	columns[0], columns[1] = columns[1], tensor.FromStrings(names[1], []string{"much"}, 1)
	require.Contains(t, refused(t, m, frame(columns...)), `expected numbers, got the string "much" in row 0`)
}

func TestFramesOfModelsWithoutNamesGoByPosition(t *testing.T) {
	m := open(t, "xgboost-missing")
	columns := make([]*tensor.Tensor, 6)
	for i := range columns {
		columns[i] = number(string(rune('p'+i)), float64(i))
	}
	require.Equal(t, predict(t, m, array(1, 6, func(i int) float64 { return float64(i) })), predict(t, m, frame(columns...)))
}

func TestCategoriesThatTrainingDidNotSee(t *testing.T) {
	m := open(t, "xgboost-cat-dataframe-32")
	text := func(name, v string) *tensor.Tensor { return tensor.FromStrings(name, []string{v}, 1) }
	message := refused(t, m, frame(number("age", 30), number("income", 1e4), text("city", "Atlantis"), text("plan", "free"), number("member", 1), number("visits", 2)))
	require.Equal(t, `column "city": the category "Atlantis" in row 0 was not seen in training`, message)
}

func TestRefusedRequests(t *testing.T) {
	m := open(t, "xgboost-softprob")
	ok := func() *tensor.Request { return array(1, 4, func(int) float64 { return 1 }) }
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
		"one dimension":     {frameless(number("x", 1, 2, 3, 4)), `input "x": expected 2 dimensions, [rows, 4], got shape [4]`},
		"too large":         {big, `input "x": row 0, column 2 is infinite or too large for a float32`},
		"strings":           {frameless(tensor.FromStrings("x", []string{"a", "b", "c", "d"}, 1, 4)), `input "x": expected numbers, got the string "a" in element 0`},
		"method":            {method, `method "transform": an XGBoost model has the method predict only`},
		"flag":              {with("pred_leaf", "maybe"), `parameter pred_leaf: expected true or false, got "maybe"`},
		"range":             {with("iteration_range", "3"), `parameter iteration_range: expected "first,last", got "3"`},
		"range past end":    {with("iteration_range", "0,11"), `iteration_range is [0, 11), the model has 10 iterations`},
		"range turned over": {with("iteration_range", "(5, 2)"), `iteration_range is [5, 2), the model has 10 iterations`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, refused(t, m, c.request)) })
	}
	require.Contains(t, refused(t, open(t, "xgboost-gblinear"), func() *tensor.Request {
		r := array(1, 10, func(int) float64 { return 1 })
		r.Parameters = tensor.Parameters{"pred_leaf": true}
		return r
	}()), "has no leaves")
}

func frameless(t *tensor.Tensor) *tensor.Request { return &tensor.Request{Inputs: []*tensor.Tensor{t}} }

func TestIterationsAreChosenByTwoParametersToo(t *testing.T) {
	m := open(t, "xgboost-softprob")
	r := array(3, 4, func(i int) float64 { return float64(i) })
	r.Parameters = tensor.Parameters{"iteration_range": "2, 5"}
	want := predict(t, m, r)
	r.Parameters = tensor.Parameters{"iteration_begin": int64(2), "iteration_end": int64(5)}
	require.Equal(t, want, predict(t, m, r))
}

func TestLimitOnTheFile(t *testing.T) {
	_, err := xgboost.New().Open(context.Background(), filepath.Join(recorded, "xgboost-softprob", "model", "model.json"), engine.Options{MaxBytes: 1000})
	require.ErrorContains(t, err, "larger than the 1000 bytes allowed")
}

func TestPredictionDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	for _, name := range []string{"xgboost-softprob", "xgboost-softmax", "xgboost-dart", "xgboost-cat-partition", "xgboost-multi-output"} {
		m := open(t, name)
		width := int(m.Metadata().Inputs[0].Shape[1])
		for _, rows := range []int{1, 100} {
			r := array(rows, width, func(i int) float64 { return float64(i % 3) })
			var out tensor.Response
			once := func() {
				out.Reset()
				if err := m.Predict(context.Background(), r, &out); err != nil {
					t.Fatal(err)
				}
			}
			once()
			require.Zero(t, testing.AllocsPerRun(50, once), "%s, %d rows", name, rows)
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	m := open(b, "xgboost-big")
	width := int(m.Metadata().Inputs[0].Shape[1])
	for _, rows := range []int{1, 1000} {
		r := array(rows, width, func(i int) float64 { return float64(i % 17) })
		var out tensor.Response
		b.Run(map[int]string{1: "one row", 1000: "1000 rows"}[rows], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out.Reset()
				if err := m.Predict(context.Background(), r, &out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}

// FuzzParse opens whatever bytes as a model, and predicts with what opens.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"single-leaf", "cat-partition", "gblinear", "gblinear-bst", "dart-multi", "v090-missing", "multi-output-ubj", "basescore-vector", "v176-dart-bst"} {
		files, err := filepath.Glob(filepath.Join(recorded, "xgboost-"+name, "model", "*"))
		require.NoError(f, err)
		data, err := os.ReadFile(files[0])
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
			r := array(5, b.Features, func(i int) float64 { return []float64{0, 1, -1e30, 3, nanValue(), 7, 1.5}[i%7] })
			r.Parameters = tensor.Parameters{p: true}
			_ = m.Predict(context.Background(), r, &tensor.Response{})
		}
	})
}
