// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/test/models"
)

const recordedTrees = "../../../../../test/data/models"

func TestRecordedTrees(t *testing.T) {
	engines := map[string]engine.Engine{"sklearn": sklearn.New()}
	for match, least := range map[string]int{
		"/sklearn-decision-tree": 20, "/sklearn-extra": 8, "/sklearn-random-forest": 21, "/sklearn-gradient-boosting": 24,
		"/sklearn-v020-": 28, "/sklearn-py27-": 8, "/sklearn-hist-gb": 15, "/sklearn-isolation": 6, "/sklearn-adaboost": 13,
		"/sklearn-bagging": 6, "/sklearn-wrap-": 52, "/bad/tree-": 0, "/sklearn-random-trees": 1,
	} {
		t.Run(match[1:], func(t *testing.T) {
			var out bytes.Buffer
			s, err := models.Run(context.Background(), models.Options{Dir: recordedTrees, Match: match, Engines: engines, Out: &out})
			require.NoError(t, err)
			require.Zero(t, s.Failed, out.String())
			require.GreaterOrEqual(t, s.Equal, least, out.String())
		})
	}
}

func openTrees(tb testing.TB, name string) engine.Model {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(recordedTrees, name, "model", "*"))
	require.NoError(tb, err)
	require.Len(tb, files, 1)
	m, err := sklearn.New().Open(context.Background(), files[0], engine.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

func treeRows(m engine.Model, rows int) *tensor.Request {
	width := int(m.Metadata().Inputs[0].Shape[1])
	values := make([]float64, rows*width)
	for i := range values {
		values[i] = float64(i%7) / 3
	}
	return &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, values, int64(rows), int64(width))}}
}

func TestTreesDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	for name, methods := range map[string][]string{
		"sklearn-decision-tree-c":         {"predict", "predict_proba"},
		"sklearn-random-forest-c":         {"predict", "predict_proba"},
		"sklearn-random-forest-r":         {"predict"},
		"sklearn-gradient-boosting-c":     {"predict", "decision_function"},
		"sklearn-hist-gb-c":               {"predict", "predict_proba"},
		"sklearn-isolation-forest":        {"predict"},
		"sklearn-wrap-xgbregressor-early": {"predict"},
		"sklearn-wrap-lgbm-v470-c":        {"predict_proba"},
	} {
		m := openTrees(t, name)
		for _, method := range methods {
			for _, rows := range []int{1, 100} {
				r := treeRows(m, rows)
				r.Method = method
				var out tensor.Response
				once := func() {
					out.Reset()
					if err := m.Predict(context.Background(), r, &out); err != nil {
						t.Fatal(err)
					}
				}
				once()
				once()
				require.Zero(t, testing.AllocsPerRun(50, once), "%s, %s, %d rows", name, method, rows)
			}
		}
	}
}

// TestSpoiledTreesAreRefused changes bytes of a forest's file one after another: whatever becomes of it, nothing may panic or hang.
func TestSpoiledTreesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"sklearn-v191-tree", "sklearn-hist-gb-c-categorical", "sklearn-isolation-forest-contamination"} {
		files, err := filepath.Glob(filepath.Join(recordedTrees, name, "model", "*"))
		require.NoError(t, err)
		good, err := os.ReadFile(files[0])
		require.NoError(t, err)
		file := filepath.Join(dir, filepath.Base(files[0]))
		for i := range 400 {
			spoiled := bytes.Clone(good)
			spoiled[(i*7919+13)%len(good)] ^= byte(1 << (i % 8))
			require.NoError(t, os.WriteFile(file, spoiled, 0o600))
			m, err := sklearn.New().Open(context.Background(), file, engine.Options{MaxBytes: 1 << 24})
			if err == nil && m.Metadata().Inputs[0].Shape[1] > 0 && m.Metadata().Inputs[0].Shape[1] < 100 {
				_ = m.Predict(context.Background(), treeRows(m, 5), &tensor.Response{})
			}
		}
	}
}

func BenchmarkForest(b *testing.B) {
	m := openTrees(b, "sklearn-random-forest-c-big")
	for _, rows := range []int{1, 1000} {
		r := treeRows(m, rows)
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
