// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// explained is an explanation as clients get it.
type explained struct {
	algorithm, unit string
	outputs         int
	features        int
	values, base    []float64
}

func explain(t *testing.T, m engine.Explainer, in *tensor.Request) (*explained, error) {
	t.Helper()
	var out tensor.Response
	if err := m.Explain(t.Context(), in, &out); err != nil {
		return nil, err
	}
	parts := map[string]*tensor.Tensor{}
	for _, part := range out.Outputs {
		parts[part.Name] = part
	}
	shape := parts["shap_values"].Shape
	e := &explained{
		algorithm: string(parts["algorithm"].Bytes(0)), unit: string(parts["unit"].Bytes(0)), outputs: 1, features: int(shape[len(shape)-1]),
		values: tensor.View[float64](parts["shap_values"]), base: tensor.View[float64](parts["base_values"]),
	}
	if len(shape) == 3 {
		e.outputs = int(shape[1])
	}
	require.Len(t, e.base, e.outputs)
	if names := parts["feature_names"]; names != nil {
		require.Equal(t, e.features, names.Len())
	}
	if names := parts["outputs"]; names != nil {
		require.Equal(t, e.outputs, names.Len())
	}
	return e, nil
}

// sum is what an explanation of a row and output adds up to.
func (e *explained) sum(row, output int) float64 {
	sum := e.base[output]
	at := (row*e.outputs + output) * e.features
	for _, v := range e.values[at : at+e.features] {
		sum += v
	}
	return sum
}

// asked is what must be asked of a model for the sum itself, and what makes the sum of the answer.
func asked(format, unit string, methods []string) (method string, params tensor.Parameters, of func(float64) float64) {
	same := func(v float64) float64 { return v }
	switch {
	case format == "xgboost":
		return "", tensor.Parameters{"output_margin": true}, same
	case format == "lightgbm":
		return "", tensor.Parameters{"raw_score": true}, same
	case unit == "probability":
		return "predict_proba", nil, same
	case unit == "prediction":
		return "predict", nil, same
	case unit == "log_prediction":
		return "predict", nil, math.Log
	case slices.Contains(methods, unit):
		return unit, nil, same
	default:
		return "", nil, nil // boosters inside pickles have no method for their margins
	}
}

// TestExplanationsAddUp explains the recorded inputs of every model that has explanations: the contributions and the base are what the model
// gives.
func TestExplanationsAddUp(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "data", "models", "*", "case.json"))
	require.NoError(t, err)
	added, unexplained := map[string]int{}, map[string]int{}
	for _, path := range paths {
		c, err := readCase(path)
		require.NoError(t, err)
		m := opened(t, c)
		if m == nil {
			continue
		}
		for name := range c.Inputs {
			in, err := c.request(&call{Input: name})
			if err != nil {
				continue
			}
			e, err := explain(t, m.(engine.Explainer), in)
			var refused *protocol.Error
			if errors.As(err, &refused) {
				require.Contains(t, []protocol.Code{protocol.Invalid, protocol.Unsupported}, refused.Code, "%s: %s", c.Name, err)
				if refused.Code == protocol.Unsupported {
					unexplained[c.Format]++
				}
				continue
			}
			require.NoError(t, err, c.Name)
			method, params, of := asked(c.Format, e.unit, m.Metadata().Methods)
			if of == nil {
				continue
			}
			in.Method, in.Parameters = method, params
			var out tensor.Response
			require.NoError(t, m.Predict(t.Context(), in, &out), c.Name)
			got := out.Outputs[0]
			require.Equal(t, len(e.values)/e.features, got.Len(), "%s, input %s: %v", c.Name, name, got.Shape)
			for i := range got.Len() {
				want, sum := of(got.Float64(i)), e.sum(i/e.outputs, i%e.outputs)
				largest := 1 + math.Abs(want)
				for _, v := range e.values[i*e.features : (i+1)*e.features] {
					largest = max(largest, math.Abs(v))
				}
				if math.IsNaN(want) || math.IsInf(want, 0) || math.IsInf(largest, 0) {
					continue
				}
				tolerance := 1e-9
				if got.Type == tensor.FP32 || strings.Contains(c.Name, "float32") {
					tolerance = 2e-6 // sums of float32s
				}
				require.InDelta(t, want, sum, tolerance*largest, "%s, input %s, number %d (%s)", c.Name, name, i, e.unit)
			}
			added[c.Format]++
		}
	}
	t.Logf("add up: %v; without explanation: %v", added, unexplained)
	for format, least := range map[string]int{"sklearn": 100, "xgboost": 60, "lightgbm": 40} {
		require.GreaterOrEqual(t, added[format], least, format)
	}
}

// opened is a recorded model that is served; nil for another.
func opened(t *testing.T, c *testCase) engine.Model {
	t.Helper()
	e := Engines()[c.Format]
	if e == nil || c.Expect == "refused" {
		return nil
	}
	at := slices.IndexFunc(c.Files, func(f string) bool { return slices.Contains(e.Extensions(), filepath.Ext(f)) })
	if at < 0 {
		return nil
	}
	m, err := e.Open(t.Context(), filepath.Join(c.dir, "model", c.Files[at]), engine.Options{})
	if err != nil {
		return nil // other tests know which of them must open
	}
	return m
}

// golden is what the library for explanations gave for a recorded model: see explanations.py.
type golden struct {
	Model     string
	Rows      [][]float64
	Values    [][][]float64 // by row and output
	Base      []float64
	Tolerance float64
}

// TestExplanationsAreThoseOfTheLibrary compares with recorded explanations.
func TestExplanationsAreThoseOfTheLibrary(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "data", "explanations", "*.json"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 20)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var want golden
		require.NoError(t, json.Unmarshal(text, &want))
		t.Run(want.Model, func(t *testing.T) {
			c, err := readCase(filepath.Join("..", "data", "models", want.Model, "case.json"))
			require.NoError(t, err)
			m := opened(t, c)
			require.NotNil(t, m)
			var data []float64
			for _, row := range want.Rows {
				data = append(data, row...)
			}
			in := &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("input-0", tensor.FP64, data, int64(len(want.Rows)), int64(len(want.Rows[0])))}}
			got, err := explain(t, m.(engine.Explainer), in)
			require.NoError(t, err)
			require.Equal(t, len(want.Base), got.outputs)
			for k, base := range want.Base {
				require.InDelta(t, base, got.base[k], want.Tolerance*(1+math.Abs(base)), "base of output %d", k)
			}
			for i, row := range want.Values {
				for k, output := range row {
					at := (i*got.outputs + k) * got.features
					require.Len(t, output, got.features)
					for j, v := range output {
						require.InDelta(t, v, got.values[at+j], want.Tolerance*(1+math.Abs(v)), "row %d, output %d, feature %d", i, k, j)
					}
				}
			}
		})
	}
}
