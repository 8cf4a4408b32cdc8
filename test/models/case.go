// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// testCase is one case.json.
type testCase struct {
	dir string

	Name, Format, Class  string
	Expect, Why, Message string
	Files                []string
	Optional             any
	Inputs               map[string]input
	Calls                []call
	FeatureTypes         []string `json:"feature_types"`
}

// input is a named set of rows.
type input struct {
	Kind        string
	DType       string `json:"dtype"`
	Ndim        int
	Rows        []any
	Columns     []string
	ColumnTypes map[string]any `json:"column_dtypes"`
	NullMeans   string         `json:"null_means"`
}

// call is one call and what it must answer.
type call struct {
	Method, Input string
	Kwargs        map[string]any
	Raises        string
	Output        *output
	Tolerance     struct{ Abs, Rel float64 }
}

func (c *call) String() string {
	if len(c.Kwargs) == 0 {
		return c.Method + "(" + c.Input + ")"
	}
	kwargs, _ := json.Marshal(c.Kwargs)
	return c.Method + "(" + c.Input + ", " + string(kwargs) + ")"
}

// output is an expected answer of any kind.
type output struct {
	Kind     string
	DType    string `json:"dtype"`
	Shape    []int64
	Columns  []string
	Expected any
}

func readCase(path string) (*testCase, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // 64-bit integers stay exact
	c := &testCase{dir: filepath.Dir(path)}
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(c.Files) == 0 {
		return nil, fmt.Errorf("read %s: it names no file", path)
	}
	return c, nil
}

// number reads a float as the cases write it; null is NaN.
func number(v any) (float64, error) {
	switch n := v.(type) {
	case nil:
		return math.NaN(), nil
	case bool:
		if n {
			return 1, nil
		}
		return 0, nil
	case json.Number:
		return strconv.ParseFloat(n.String(), 64)
	case string:
		switch n {
		case "NaN":
			return math.NaN(), nil
		case "Infinity":
			return math.Inf(1), nil
		case "-Infinity":
			return math.Inf(-1), nil
		}
	}
	return 0, fmt.Errorf("%v is no number", v)
}

// request builds the request of a call.
func (c *testCase) request(call *call) (*tensor.Request, error) {
	in, ok := c.Inputs[call.Input]
	if !ok {
		return nil, fmt.Errorf("the case has no input %q", call.Input)
	}
	r := &tensor.Request{Method: call.Method, Parameters: parameters(call.Kwargs)}
	var err error
	switch in.Kind {
	case "dataframe":
		r.Frame = true
		for i, name := range in.Columns {
			t, colErr := in.column(name, i)
			if colErr != nil {
				return nil, fmt.Errorf("column %q: %w", name, colErr)
			}
			r.Inputs = append(r.Inputs, t)
		}
	case "array", "list":
		var t *tensor.Tensor
		t, err = in.array()
		r.Inputs = []*tensor.Tensor{t}
	default:
		err = fmt.Errorf("input of kind %q", in.Kind)
	}
	return r, err
}

// parameters are keyword arguments as a client would send them.
func parameters(kwargs map[string]any) tensor.Parameters {
	p := tensor.Parameters{}
	for k, v := range kwargs {
		switch v := v.(type) {
		case json.Number:
			if n, err := v.Int64(); err == nil {
				p[k] = n
			} else {
				p[k], _ = v.Float64()
			}
		case []any:
			p[k] = fmt.Sprintf("%v,%v", v[0], v[1])
		default:
			p[k] = v
		}
	}
	return p
}

func (in *input) array() (*tensor.Tensor, error) {
	shape := []int64{int64(len(in.Rows))}
	cells := in.Rows
	if in.Ndim == 2 {
		cells = nil
		width := 0
		for _, row := range in.Rows {
			list, ok := row.([]any)
			if !ok {
				return nil, fmt.Errorf("a row is %T", row)
			}
			width = len(list)
			cells = append(cells, list...)
		}
		shape = append(shape, int64(width))
	}
	return in.tensor("input-0", in.DType, cells, shape)
}

func (in *input) column(name string, at int) (*tensor.Tensor, error) {
	cells := make([]any, len(in.Rows))
	for i, row := range in.Rows {
		list, ok := row.([]any)
		if !ok || at >= len(list) {
			return nil, fmt.Errorf("row %d has no such column", i)
		}
		cells[i] = list[at]
	}
	dtype, _ := in.ColumnTypes[name].(string)
	categories, ok := in.ColumnTypes[name].(map[string]any)
	if ok {
		dtype = "object"
	}
	t, err := in.tensor(name, dtype, cells, []int64{int64(len(cells))})
	if err != nil || !ok {
		return t, err
	}
	list, err := json.Marshal(categories["category"])
	t.Parameters = tensor.Parameters{"categories": string(list)}
	return t, err
}

// tensorTypes are the tensor types of NumPy's dtypes.
var tensorTypes = map[string]tensor.Type{
	"float64": tensor.FP64, "float32": tensor.FP32, "float16": tensor.FP16, "bool": tensor.Bool, "str": tensor.Bytes, "object": tensor.Bytes,
	"int64": tensor.Int64, "int32": tensor.Int32, "int16": tensor.Int16, "int8": tensor.Int8,
	"uint64": tensor.Uint64, "uint32": tensor.Uint32, "uint16": tensor.Uint16, "uint8": tensor.Uint8,
}

func (in *input) tensor(name, dtype string, cells []any, shape []int64) (*tensor.Tensor, error) {
	typ := tensorTypes[dtype]
	t := &tensor.Tensor{}
	t.Reset(name, typ, shape...)
	for i, v := range cells {
		var err error
		switch typ {
		case tensor.Bytes:
			appendCell(t, i, v, in.NullMeans)
		case tensor.FP32:
			var f float64
			f, err = number(v)
			tensor.View[float32](t)[i] = float32(f)
		case tensor.FP64:
			tensor.View[float64](t)[i], err = number(v)
		case tensor.Bool:
			b, _ := v.(bool)
			tensor.View[bool](t)[i] = b
		case tensor.Int64:
			n, ok := v.(json.Number)
			if !ok {
				return nil, fmt.Errorf("%v is no integer", v)
			}
			tensor.View[int64](t)[i], err = n.Int64()
		default:
			return nil, fmt.Errorf("rows of the dtype %q", dtype)
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

func appendCell(t *tensor.Tensor, i int, v any, nullMeans string) {
	switch v := v.(type) {
	case nil:
		t.AppendString("")
		t.SetNull(i, tensor.NaN)
		if nullMeans == "None" {
			t.SetNull(i, tensor.None)
		}
	case string:
		t.AppendString(v)
	case bool:
		t.AppendString(map[bool]string{true: "True", false: "False"}[v])
	default:
		t.AppendString(fmt.Sprint(v))
	}
}
