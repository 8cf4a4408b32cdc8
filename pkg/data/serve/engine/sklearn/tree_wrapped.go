// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
)

// addWrapped registers the estimators of XGBoost and LightGBM, which are boosters behind scikit-learn's interface, and the searches
// that hold the best estimator that they found.
func addWrapped(r map[string]builder) {
	for _, class := range []string{"XGBClassifier", "XGBRFClassifier"} {
		r["xgboost."+class] = buildXGBClassifier
	}
	for _, class := range []string{"XGBRegressor", "XGBRFRegressor", "XGBRanker", "XGBModel"} {
		r["xgboost."+class] = buildXGBRegressor
	}
	for _, class := range []string{"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"} {
		r["model_selection."+class] = buildSearch
	}
	r["lightgbm.LGBMClassifier"] = buildLGBMClassifier
	for _, class := range []string{"LGBMRegressor", "LGBMRanker", "LGBMModel"} {
		r["lightgbm."+class] = buildLGBMRegressor
	}
}

// buildSearch is the best estimator of a search: the search only passes calls on to it.
func buildSearch(a *attrs) (estimator, error) {
	if !a.flag("refit", true) && !a.has("best_estimator_") {
		a.unsupported("a search that did not fit its best estimator, refit=False")
		return nil, a.err
	}
	return a.child("best_estimator_"), a.err
}

// handle is the bytes of a booster's own file inside its pickle.
func (a *attrs) handle() (*attrs, []byte) {
	b := a.inner("_Booster")
	name := b.first("handle", "_handle")
	var data []byte
	switch v := b.must(name).(type) {
	case pickle.Bytes:
		data = v
	case string:
		data = []byte(v)
	default:
		b.bad(name, "the booster's bytes")
	}
	if a.err == nil {
		a.err = b.err
	}
	return b, data
}

// wrappedClasses are the classes of a wrapper: of its label encoder, or the integers from 0.
func (a *attrs) wrappedClasses(names ...string) *labels {
	if a.has("_le") {
		le := a.inner("_le")
		l := le.classes("classes_")
		if a.err == nil {
			a.err = le.err
		}
		return l
	}
	for _, name := range names {
		if a.has(name) {
			return a.classes(name)
		}
	}
	l := &labels{typ: int64Type}
	for i := range min(a.count("n_classes_"), 1<<20) {
		l.ints = append(l.ints, int64(i))
	}
	if a.err == nil && len(l.ints) == 0 {
		a.fail("n_classes_", "there are no classes")
	}
	return l
}

// wrappedXGB is a booster of XGBoost.
type wrappedXGB struct {
	fitted
	booster *xgboost.Booster
	call    xgboost.Call
	missing float64
	labels  *labels   // of a classifier
	pool    sync.Pool // of *[]float32
}

func (w *wrappedXGB) build(a *attrs) {
	_, data := a.handle()
	if a.err != nil {
		return
	}
	if w.booster, a.err = xgboost.Parse(data, engine.Options{Threads: a.threads}); a.err != nil {
		a.err = fmt.Errorf("read %s._Booster: %w", a.path, a.err)
		return
	}
	w.fitted = fitted{class: a.o.Class.Name, n: w.booster.Features, names: w.booster.Names}
	if len(w.names) == 0 {
		w.names = nil
	}
	w.missing = a.numberOr("missing", nan)
	// The wrapper stops at the best iteration, though the booster keeps those behind it.
	if n, err := strconv.Atoi(w.booster.Attributes["best_iteration"]); err == nil && n >= 0 && n < w.booster.Rounds() {
		w.call.Last = n + 1
	}
}

func buildXGBRegressor(a *attrs) (estimator, error) {
	w := &wrappedXGB{}
	w.build(a)
	return w, a.err
}

func buildXGBClassifier(a *attrs) (estimator, error) {
	w := &wrappedXGBClassifier{}
	w.build(a)
	if a.err != nil {
		return nil, a.err
	}
	w.labels = a.wrappedClasses("classes_")
	shape, _, err := w.booster.Shape(w.call, 1)
	if err != nil {
		a.fail("_Booster", "%v", err)
	}
	w.multi = shape[1] > 1
	if w.booster.Objective == "multi:softmax" {
		a.unsupported("the objective multi:softmax, which has no probabilities")
	}
	if n := w.labels.len(); a.err == nil && (w.multi && int(shape[1]) != n || !w.multi && n > 2) {
		a.unsupported("%d classes for %d outputs: several labels a row", n, max(shape[1], 1))
	}
	return w, a.err
}

func (w *wrappedXGB) methods() []string { return []string{predict} }

// rows are x as the booster takes it.
func (w *wrappedXGB) rows(c *call, x *table) (*table, error) {
	x, err := w.checkSingle(c, x, allowNaN)
	if err != nil || math.IsNaN(w.missing) {
		return x, err
	}
	y := c.numbers(x.rows, x.cols, x.typ)
	for i, v := range x.num {
		y.num[i] = v
		if float32(v) == float32(w.missing) {
			y.num[i] = nan
		}
	}
	return y, nil
}

// values are the booster's predictions.
func (w *wrappedXGB) values(c *call, x *table) (*table, error) {
	x, err := w.rows(c, x)
	if err != nil {
		return nil, err
	}
	shape, dims, err := w.booster.Shape(w.call, x.rows)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, int(max(shape[1], 1)), float32s)
	y.vector = dims == 1
	out, ok := w.pool.Get().(*[]float32)
	if !ok {
		out = &[]float32{}
	}
	defer w.pool.Put(out)
	if need := x.rows * w.booster.Groups; cap(*out) < need {
		*out = make([]float32, need)
	} else {
		*out = (*out)[:need]
	}
	if err := w.booster.Predict(x.matrix(), w.call, *out); err != nil {
		return nil, err
	}
	for i := range y.num {
		y.num[i] = float64((*out)[i])
	}
	return y, nil
}

func (w *wrappedXGB) run(c *call, _ string, x *table) (*table, error) { return w.values(c, x) }

type wrappedXGBClassifier struct {
	wrappedXGB
	multi bool
}

func (w *wrappedXGBClassifier) outputs() []*labels { return []*labels{w.labels} }

func (w *wrappedXGBClassifier) methods() []string { return []string{predict, predictProba} }

func (w *wrappedXGBClassifier) run(c *call, method string, x *table) (*table, error) {
	p, err := w.values(c, x)
	if err != nil {
		return nil, err
	}
	if method == predict {
		y := c.classes(p.rows, w.labels)
		for i := range y.index {
			y.index[i] = 0
			if w.multi {
				y.index[i] = int32(argmax(p.row(i)))
			} else if p.num[i] > 0.5 && w.labels.len() > 1 {
				y.index[i] = 1
			}
		}
		return y, nil
	}
	if w.multi {
		return p, nil
	}
	y := c.numbers(p.rows, 2, float32s)
	for i, v := range p.num {
		y.num[2*i], y.num[2*i+1] = float64(1-float32(v)), v
	}
	return y, nil
}

// wrappedLGBM is a booster of LightGBM.
type wrappedLGBM struct {
	fitted
	booster *lightgbm.Booster
	call    lightgbm.Call
	labels  *labels // of a classifier
}

func (w *wrappedLGBM) build(a *attrs) {
	b, data := a.handle()
	if a.err != nil {
		return
	}
	if w.booster, a.err = lightgbm.Parse(data, engine.Options{Threads: a.threads}); a.err != nil {
		a.err = fmt.Errorf("read %s._Booster: %w", a.path, a.err)
		return
	}
	if b.has("pandas_categorical") {
		if items := b.items("pandas_categorical"); len(items) > 0 {
			a.unsupported("categorical columns of pandas inside a pickle; save the booster as text")
		}
	}
	w.fitted = fitted{class: a.o.Class.Name, n: w.booster.Features}
	if b.has("best_iteration") {
		w.call.Count = b.countOrNegative("best_iteration")
	}
	if a.err == nil {
		a.err = b.err
	}
}

// countOrNegative is a count where a negative one stands for none.
func (a *attrs) countOrNegative(name string) int {
	if n, ok := pickle.Int(a.value(name)); ok && n <= 0 {
		return 0
	}
	return a.count(name)
}

func buildLGBMRegressor(a *attrs) (estimator, error) {
	w := &wrappedLGBM{}
	w.build(a)
	return w, a.err
}

func buildLGBMClassifier(a *attrs) (estimator, error) {
	w := &wrappedLGBMClassifier{}
	w.build(a)
	if a.err != nil {
		return nil, a.err
	}
	w.labels = a.wrappedClasses("_classes", "classes_")
	if n := w.labels.len(); a.err == nil && n != w.booster.Classes && (w.booster.Classes != 1 || n > 2) {
		a.fail("_classes", "there are %d classes for %d outputs", n, w.booster.Classes)
	}
	if w.booster.Objective == "custom" {
		a.unsupported("an objective of its own, whose scores are no probabilities")
	}
	return w, a.err
}

func (w *wrappedLGBM) methods() []string { return []string{predict} }

func (w *wrappedLGBM) run(c *call, _ string, x *table) (*table, error) {
	x, err := w.check(c, x, allowAll)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, w.booster.Classes, float64s)
	y.vector = w.booster.Classes == 1
	w.booster.Predict(x.matrix(), w.call, y.num)
	return y, nil
}

type wrappedLGBMClassifier struct{ wrappedLGBM }

func (w *wrappedLGBMClassifier) outputs() []*labels { return []*labels{w.labels} }

func (w *wrappedLGBMClassifier) methods() []string { return []string{predict, predictProba} }

func (w *wrappedLGBMClassifier) run(c *call, method string, x *table) (*table, error) {
	p, err := w.wrappedLGBM.run(c, predict, x)
	if err != nil {
		return nil, err
	}
	if p.vector {
		y := c.numbers(p.rows, 2, float64s)
		for i, v := range p.num {
			y.num[2*i], y.num[2*i+1] = 1-v, v
		}
		p = y
	}
	if method == predictProba {
		return p, nil
	}
	y := c.classes(p.rows, w.labels)
	for i := range y.index {
		if y.index[i] = int32(argmax(p.row(i))); int(y.index[i]) >= w.labels.len() {
			return nil, protocol.Errorf(protocol.Internal, "%s has no class %d", w.class, y.index[i])
		}
	}
	return y, nil
}
