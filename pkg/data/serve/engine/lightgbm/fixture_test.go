// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/test/models"
)

const recorded = "../../../../../test/data/models"

func TestRecordedModels(t *testing.T) {
	var out bytes.Buffer
	engines := map[string]engine.Engine{"lightgbm": lightgbm.New()}
	s, err := models.Run(context.Background(), models.Options{Dir: recorded, Match: "/lightgbm-", Engines: engines, Out: &out})
	require.NoError(t, err)
	require.Zero(t, s.Failed, out.String())
	require.GreaterOrEqual(t, s.Equal, 224, out.String())
	require.GreaterOrEqual(t, s.Refused, 9, out.String())
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	for _, pattern := range []string{"bad/xgboost-*", "bad/pickle-*", "bad/onnx-*", "bad/text-html", "bad/empty", "xgboost-*", "catboost-*"} {
		files, err := filepath.Glob(filepath.Join(recorded, pattern, "model", "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			m, err := lightgbm.New().Open(context.Background(), file, engine.Options{})
			var bad *engine.BadModel
			require.ErrorAs(t, err, &bad, file)
			require.Nil(t, m)
		}
	}
}

func path(tb testing.TB, name string) string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recorded, name, "model", "*"))
	require.NoError(tb, err)
	require.Len(tb, files, 1)
	return files[0]
}

func open(tb testing.TB, name string) engine.Model {
	tb.Helper()
	m, err := lightgbm.New().Open(context.Background(), path(tb, name), engine.Options{})
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

func number(name string, v ...float64) *tensor.Tensor {
	return tensor.From(name, tensor.FP64, v, int64(len(v)))
}

func predict(tb testing.TB, m engine.Model, r *tensor.Request) []float64 {
	tb.Helper()
	var out tensor.Response
	require.NoError(tb, m.Predict(context.Background(), r, &out))
	require.Len(tb, out.Outputs, 1)
	require.Equal(tb, "output-0", out.Outputs[0].Name)
	return tensor.View[float64](out.Outputs[0])
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
	m := open(t, "lightgbm-multiclass").Metadata()
	require.Equal(t, "lightgbm", m.Platform)
	require.Equal(t, "multiclass", m.Class)
	require.Equal(t, []string{"Column_0", "Column_1", "Column_2", "Column_3"}, m.Features)
	require.Equal(t, []int64{-1, 4}, m.Inputs[0].Shape)
	require.Equal(t, []int64{-1, 3}, m.Outputs[0].Shape)
}

func TestFramesGoByName(t *testing.T) {
	m := open(t, "lightgbm-multiclass")
	want := predict(t, m, array(2, 4, func(i int) float64 { return float64(i) }))
	for name, columns := range map[string][]*tensor.Tensor{
		"another order": {number("Column_2", 2, 6), number("Column_0", 0, 4), number("Column_3", 3, 7), number("Column_1", 1, 5)},
		"one too many": {
			number("Column_0", 0, 4), number("more", 9, 9), number("Column_1", 1, 5), number("Column_2", 2, 6), number("Column_3", 3, 7),
		},
		"names that the model does not know": {number("a", 0, 4), number("b", 1, 5), number("c", 2, 6), number("d", 3, 7)},
		"integers": {
			number("Column_0", 0, 4), tensor.From("Column_1", tensor.Int64, []int64{1, 5}, 2), number("Column_2", 2, 6), number("Column_3", 3, 7),
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, want, predict(t, m, &tensor.Request{Inputs: columns, Frame: true}))
		})
	}
	missing := predict(t, m, array(1, 4, func(i int) float64 {
		if i == 2 {
			return math.NaN()
		}
		return float64(i)
	}))
	columns := []*tensor.Tensor{number("Column_0", 0), number("Column_1", 1), number("Column_3", 3)}
	require.Equal(t, missing, predict(t, m, &tensor.Request{Inputs: columns, Frame: true}))
	require.Contains(t, refused(t, m, &tensor.Request{Inputs: []*tensor.Tensor{number("a", 1)}, Frame: true}), `does not know the columns ["a"]`)
}

func TestCategoriesAreCodedAsInTraining(t *testing.T) {
	m := open(t, "lightgbm-pandas-categorical")
	frame := func(city *tensor.Tensor) *tensor.Request {
		return &tensor.Request{Frame: true, Inputs: []*tensor.Tensor{
			number("age", 30, 30), number("income", 2e4, 2e4), city, tensor.FromStrings("plan", []string{"free", "pro"}, 2),
			number("member", 1, 0), number("visits", 2, 3),
		}}
	}
	rows := array(2, 6, func(i int) float64 { return []float64{30, 2e4, 2, 1, 1, 2, 30, 2e4, math.NaN(), 2, 0, 3}[i] })
	require.Equal(t, predict(t, m, rows), predict(t, m, frame(tensor.FromStrings("city", []string{"Oslo", "Atlantis"}, 2))))
}

func TestRefusedRequests(t *testing.T) {
	m := open(t, "lightgbm-multiclass")
	with := func(key string, v any) *tensor.Request {
		r := array(1, 4, func(int) float64 { return 1 })
		r.Parameters = tensor.Parameters{key: v}
		return r
	}
	for name, c := range map[string]struct {
		request *tensor.Request
		want    string
	}{
		"no input":         {&tensor.Request{}, "the request has no input: expected rows of 4 features"},
		"too few columns":  {array(1, 3, func(int) float64 { return 1 }), `input "x": expected 4 features a row, got 3`},
		"too many columns": {array(1, 5, func(int) float64 { return 1 }), `input "x": expected 4 features a row, got 5`},
		"one dimension":    {&tensor.Request{Inputs: []*tensor.Tensor{number("x", 1, 2, 3, 4)}}, `input "x": expected 2 dimensions, [rows, 4], got shape [4]`},
		"flag":             {with("raw_score", 3.5), `parameter raw_score: expected true or false, got "3.5"`},
		"count":            {with("num_iteration", "all"), `parameter num_iteration: expected an integer from -1 to 16777216, got "all"`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, refused(t, m, c.request)) })
	}
}

func TestIterationsBeyondTheEndAreLeftOut(t *testing.T) {
	m := open(t, "lightgbm-binary")
	r := array(1, 10, func(i int) float64 { return float64(i) })
	all := predict(t, m, r)
	r.Parameters = tensor.Parameters{"num_iteration": int64(1000)}
	require.Equal(t, all, predict(t, m, r))
	r.Parameters = tensor.Parameters{"start_iteration": int64(1000)}
	require.Equal(t, []float64{0.5}, predict(t, m, r))
}

func TestLinearAndPlainTreesMix(t *testing.T) {
	data, err := os.ReadFile(path(t, "lightgbm-linear-tree"))
	require.NoError(t, err)
	data = bytes.Replace(data, []byte("is_linear=1"), []byte("is_linear=0"), 1)
	b, err := lightgbm.Parse(data, engine.Options{})
	require.NoError(t, err)
	// The first tree has no features in its leaves, so that its plain values are its linear models.
	r := array(2, 6, func(i int) float64 { return float64(i) })
	require.Equal(t, predict(t, open(t, "lightgbm-linear-tree"), r), predict(t, lightgbm.NewModel(b), r))
}

func TestLimitOnTheFile(t *testing.T) {
	_, err := lightgbm.New().Open(context.Background(), path(t, "lightgbm-binary"), engine.Options{MaxBytes: 1000})
	require.ErrorContains(t, err, "larger than the 1000 bytes allowed")
}

func TestPredictionDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	for _, name := range []string{"lightgbm-multiclass", "lightgbm-rf", "lightgbm-categorical", "lightgbm-missing-zero", "lightgbm-linear-tree"} {
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
	m := open(b, "lightgbm-big")
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
	for _, name := range []string{"single-leaf", "categorical", "linear-tree", "missing-zero", "pandas-categorical", "rf", "v231-binary", "multiclassova"} {
		data, err := os.ReadFile(path(f, "lightgbm-"+name))
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
			r := array(5, b.Features, func(i int) float64 { return []float64{0, 1, -1e300, 3, math.NaN(), math.Inf(1), 1.5}[i%7] })
			r.Parameters = tensor.Parameters{p: true}
			_ = m.Predict(context.Background(), r, &tensor.Response{})
		}
	})
}
