// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

func addLinear(r map[string]builder) {
	for _, name := range []string{
		"LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "Lars", "LarsCV", "ElasticNet", "ElasticNetCV",
		"MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV",
		"SGDRegressor", "PassiveAggressiveRegressor", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor",
	} {
		r["linear_model."+name] = buildLinearRegressor
	}
	r["svm.LinearSVR"] = buildLinearRegressor
	for _, name := range []string{
		"LogisticRegression", "LogisticRegressionCV", "SGDClassifier", "Perceptron", "PassiveAggressiveClassifier", "RidgeClassifier", "RidgeClassifierCV",
	} {
		r["linear_model."+name] = buildLinearClassifier
	}
	r["svm.LinearSVC"] = buildLinearClassifier
}

// linear is coef · x + intercept for one or several targets.
type linear struct {
	fitted
	coef      matrix // a row for each target
	intercept []float64
	wide      bool // the intercept is of float64s, and makes float64s of float32 scores
}

// build reads coef_ and intercept_. flat says that coef_ had one dimension.
func (l *linear) build(a *attrs) (flat bool) {
	l.fitted = a.fitted()
	arr := a.array("coef_")
	if a.err != nil {
		return false
	}
	single := arr.DType.Kind == 'f' && arr.DType.Size == 4
	if len(arr.Shape) == 1 {
		flat = true
		v := a.toVector("coef_", arr)
		l.coef = matrix{rows: 1, cols: len(v), v: v, single: single}
	} else {
		l.coef = a.toMatrix("coef_", arr)
	}
	if a.err != nil {
		return flat
	}
	if l.coef.rows == 0 || l.coef.cols == 0 {
		a.fail("coef_", "expected coefficients, got shape %v", arr.Shape)
	}
	a.columns(&l.fitted, l.coef.cols, "coef_")
	l.buildIntercept(a)
	return flat
}

// buildIntercept reads a number for each target, or one for all: 0.0 stands for no intercept.
func (l *linear) buildIntercept(a *attrs) {
	v := a.must("intercept_")
	if a.err != nil {
		return
	}
	if f, ok := pickle.Float(v); ok {
		l.intercept = make([]float64, l.coef.rows)
		for i := range l.intercept {
			l.intercept[i] = f
		}
		return
	}
	arr := a.array("intercept_")
	if a.err != nil {
		return
	}
	l.wide = arr.DType.Kind != 'f' || arr.DType.Size != 4
	given := a.toVector("intercept_", arr)
	if a.err == nil && len(given) == 1 && l.coef.rows > 1 {
		for range l.coef.rows - 1 {
			given = append(given, given[0])
		}
	}
	if a.err == nil && len(given) != l.coef.rows {
		a.fail("intercept_", "expected %d numbers, got %d", l.coef.rows, len(given))
	}
	l.intercept = given
}

// scores writes x · coefᵀ + intercept. It is computed in float32 where the library does.
func (l *linear) scores(c *call, x *table) *table {
	single := x.typ == float32s && l.coef.single
	typ := float64s
	if single && !l.wide {
		typ = float32s
	}
	y := c.numbers(x.rows, l.coef.rows, typ)
	for i := range x.rows {
		row := x.row(i)
		for k := range l.coef.rows {
			if single {
				y.num[i*l.coef.rows+k] = to32(float64(dot32(row, l.coef.row(k)))+l.intercept[k], !l.wide)
			} else {
				y.num[i*l.coef.rows+k] = dot(row, l.coef.row(k)) + l.intercept[k]
			}
		}
	}
	return y
}

// dot is the inner product of two vectors of one length.
func dot(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// dot32 is the inner product of two vectors of float32s, in float32.
func dot32(a, b []float64) float32 {
	b = b[:len(a)]
	var s0, s1 float32
	i := 0
	for ; i+2 <= len(a); i += 2 {
		s0 += float32(a[i]) * float32(b[i])
		s1 += float32(a[i+1]) * float32(b[i+1])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i]) * float32(b[i])
	}
	return s0 + s1
}

type linearRegressor struct {
	linear
	flat bool
}

func buildLinearRegressor(a *attrs) (estimator, error) {
	l := &linearRegressor{}
	l.flat = l.build(a)
	return l, a.err
}

func (l *linearRegressor) methods() []string { return []string{predict} }

func (l *linearRegressor) run(c *call, _ string, x *table) (*table, error) {
	x, err := l.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := l.scores(c, x)
	y.vector = l.flat
	return y, nil
}
