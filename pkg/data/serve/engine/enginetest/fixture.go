// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package enginetest runs the recorded models in test/data/models through an engine and compares its answers with the library's.
//
// Called by: tests of data/serve/engine's children.
// Next: data/serve/engine.
package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Case is one recorded model.
type Case struct {
	Dir    string
	Name   string
	Files  []string
	Inputs map[string]Input
	Calls  []Call
}

// Input is one set of rows.
type Input struct {
	Kind    string
	DType   string
	Columns []string
	Dtypes  map[string]any `json:"column_dtypes"`
	Rows    [][]any
}

// Call is one recorded call.
type Call struct {
	Method, Input string
	Kwargs        map[string]any
	Output        struct {
		DType    string
		Shape    []int64
		Expected json.RawMessage
	}
	Tolerance struct{ Abs, Rel float64 }
}

// Root is the folder of the recorded models, found from a test's working directory.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	require.NoError(tb, err)
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		root := filepath.Join(dir, "test", "data", "models")
		if _, err := os.Stat(root); err == nil {
			return root
		}
	}
	tb.Fatal("test/data/models is in no parent of the working directory")
	return ""
}

// Cases reads the recorded models whose folder matches pattern.
func Cases(tb testing.TB, pattern string) []Case {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join(Root(tb), pattern))
	require.NoError(tb, err)
	require.NotEmpty(tb, dirs, pattern)
	cases := make([]Case, 0, len(dirs))
	for _, dir := range dirs {
		data, err := os.ReadFile(filepath.Join(dir, "case.json"))
		require.NoError(tb, err)
		c := Case{Dir: dir}
		require.NoError(tb, json.Unmarshal(data, &c))
		cases = append(cases, c)
	}
	return cases
}

// File is the path of the model's file.
func (c *Case) File() string { return filepath.Join(c.Dir, "model", c.Files[0]) }

// Number reads a value as the fixtures write it.
func Number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		switch v {
		case "Infinity":
			return math.Inf(1)
		case "-Infinity":
			return math.Inf(-1)
		}
	}
	return math.NaN()
}

// Request builds the request for a call.
func (c *Case) Request(tb testing.TB, call *Call) *tensor.Request {
	tb.Helper()
	in := c.Inputs[call.Input]
	r := &tensor.Request{Method: call.Method, Parameters: tensor.Parameters{}}
	for k, v := range call.Kwargs {
		switch v := v.(type) {
		case float64:
			r.Parameters[k] = int64(v)
		case []any:
			r.Parameters[k] = fmt.Sprintf("%v,%v", v[0], v[1])
		default:
			r.Parameters[k] = v
		}
	}
	if in.Kind == "dataframe" {
		r.Frame = true
		for i, name := range in.Columns {
			r.Inputs = append(r.Inputs, column(name, in.Dtypes[name], in.Rows, i))
		}
		return r
	}
	var values []float64
	for _, row := range in.Rows {
		for _, v := range row {
			values = append(values, Number(v))
		}
	}
	shape := []int64{int64(len(in.Rows)), int64(len(in.Rows[0]))}
	if in.DType == "float32" {
		single := make([]float32, len(values))
		for i, v := range values {
			single[i] = float32(v)
		}
		r.Inputs = []*tensor.Tensor{tensor.From("input-0", tensor.FP32, single, shape...)}
		return r
	}
	r.Inputs = []*tensor.Tensor{tensor.From("input-0", tensor.FP64, values, shape...)}
	return r
}

// column makes one column: strings for a categorical one, whose order of categories goes along as a parameter.
func column(name string, dtype any, rows [][]any, at int) *tensor.Tensor {
	n := int64(len(rows))
	if m, ok := dtype.(map[string]any); ok || dtype == "object" {
		t := &tensor.Tensor{}
		t.Reset(name, tensor.Bytes, n)
		for i, row := range rows {
			s, ok := row[at].(string)
			t.AppendString(s)
			if !ok {
				t.SetNull(i, tensor.NaN)
			}
		}
		if m != nil {
			list, _ := json.Marshal(m["category"])
			t.Parameters = tensor.Parameters{"categories": string(list)}
		}
		return t
	}
	values := make([]float64, n)
	for i, row := range rows {
		values[i] = Number(row[at])
	}
	return tensor.From(name, tensor.FP64, values, n)
}

func flatten(v any, dst []float64) []float64 {
	if list, ok := v.([]any); ok {
		for _, x := range list {
			dst = flatten(x, dst)
		}
		return dst
	}
	return append(dst, Number(v))
}

// Run opens the model and compares every call.
func (c *Case) Run(t *testing.T, e engine.Engine) {
	t.Helper()
	m, err := e.Open(context.Background(), c.File(), engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	for i := range c.Calls {
		call := &c.Calls[i]
		t.Run(fmt.Sprintf("%s %v", call.Method, call.Kwargs), func(t *testing.T) {
			var out tensor.Response
			require.NoError(t, m.Predict(context.Background(), c.Request(t, call), &out))
			require.Len(t, out.Outputs, 1)
			got := out.Outputs[0]
			types := map[string]tensor.Type{"float32": tensor.FP32, "float64": tensor.FP64, "int32": tensor.Int32, "int64": tensor.Int64}
			require.Equal(t, types[call.Output.DType], got.Type)
			require.Equal(t, call.Output.Shape, got.Shape)
			call.compare(t, got)
		})
	}
}

func (c *Call) compare(t *testing.T, got *tensor.Tensor) {
	t.Helper()
	var raw any
	require.NoError(t, json.Unmarshal(c.Output.Expected, &raw))
	want := flatten(raw, nil)
	require.Len(t, want, got.Len())
	worst, at := 0.0, -1
	for i, w := range want {
		g := got.Float64(i)
		if g == w || g != g && w != w {
			continue
		}
		if diff := math.Abs(g - w); !(diff <= c.Tolerance.Abs+c.Tolerance.Rel*math.Abs(w)) && !(diff <= worst) {
			worst, at = diff, i
		}
	}
	if at >= 0 {
		t.Errorf("element %d of shape %v: got %v, want %v (abs %v, rel %v)", at, got.Shape, got.Float64(at), want[at], c.Tolerance.Abs, c.Tolerance.Rel)
	}
}

// Refused checks that opening a bad model fails as it should: with an error for people and no panic.
func (c *Case) Refused(t *testing.T, e engine.Engine) {
	t.Helper()
	m, err := e.Open(context.Background(), c.File(), engine.Options{})
	require.Error(t, err)
	require.Nil(t, m)
	var bad *engine.BadModel
	var unsupported *engine.Unsupported
	require.True(t, asEither(err, &bad, &unsupported), "%T", err)
	t.Log(err)
}
