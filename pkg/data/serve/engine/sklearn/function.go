// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

// functions are the functions of NumPy that a FunctionTransformer may hold and that are computed here.
var functions = map[string]func(float64) float64{ //nolint:gochecknoglobals // a constant table
	"log1p": math.Log1p, "expm1": math.Expm1, "log": math.Log, "log2": math.Log2, "log10": math.Log10, "exp": math.Exp,
	"sqrt": math.Sqrt, "square": func(x float64) float64 { return x * x }, "abs": math.Abs, "absolute": math.Abs, "fabs": math.Abs,
	"negative": func(x float64) float64 { return -x }, "sin": math.Sin, "cos": math.Cos, "tanh": math.Tanh, "arctan": math.Atan, "cbrt": math.Cbrt,
}

// function is FunctionTransformer: the identity, or a function of NumPy on each element.
type function struct {
	fitted
	f        func(float64) float64
	validate bool
}

func buildFunction(a *attrs) (estimator, error) {
	f := &function{fitted: a.fitted(), validate: a.flag("validate", false)}
	f.fitted.class = "FunctionTransformer"
	if kw, ok := a.value("kw_args").(*pickle.Dict); ok && kw.Len() > 0 {
		a.unsupported("arguments for the function")
	}
	switch v := a.value("func").(type) {
	case nil:
	case pickle.Global:
		if v.Module == "numpy" {
			f.f = functions[v.Name]
		}
		if f.f == nil {
			a.unsupported("the function %s", v)
		}
	default:
		a.unsupported("a function that is %s", pickle.Kind(v))
	}
	if !f.validate {
		f.fitted.n, f.fitted.names = 0, nil
	}
	return f, a.err
}

func (f *function) methods() []string { return []string{transform} }

func (f *function) columnNames(in []string) []string { return in }

func (f *function) run(c *call, _ string, x *table) (*table, error) {
	if f.validate {
		var err error
		if x, err = f.check(c, x, onlyFinite); err != nil {
			return nil, err
		}
	}
	if f.f == nil {
		return x, nil
	}
	x, err := c.matrix(x)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, x.cols, floatOf(x.typ))
	y.names, y.vector = x.names, x.vector
	for i, v := range x.num {
		y.num[i] = to32(f.f(v), x.typ == float32s)
	}
	return y, nil
}
