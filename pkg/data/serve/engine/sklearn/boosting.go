// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// boosting is what gradient boosting of both kinds has: a first guess, and trees that correct it.
type boosting struct {
	fitted
	forest *trees.Forest[float64]
	width  int // raw predictions of a row
	// guess is where every row starts; nil when init answers for each row.
	guess []float64
	init  estimator
	link  func(p float64) float64 // of init's probabilities
	multi bool
	// exponential is the loss whose raw predictions are half the logarithm of the odds.
	exponential bool
	modern      bool // from 1.4 on
}

func (b *boosting) build(a *attrs, classifier bool) {
	b.fitted = a.fitted()
	rate := a.number("learning_rate")
	arr := a.array("estimators_")
	if a.err != nil {
		return
	}
	if len(arr.Shape) != 2 || arr.Len() == 0 || arr.DType.Kind != 'O' || arr.Len() != len(arr.Objects) {
		a.fail("estimators_", "expected trees in an array of two dimensions, got shape %v", arr.Shape)
		return
	}
	b.width = arr.Shape[1]
	list := make([]trees.Tree, arr.Len())
	for i, v := range arr.Objects {
		t := a.member(fmt.Sprintf("estimators_[%d]", i), v)
		if a.err != nil {
			return
		}
		if len(t.classes) != 1 {
			a.fail("estimators_", "tree %d has %d outputs, expected 1", i, len(t.classes))
			return
		}
		a.columns(&b.fitted, t.features, "estimators_")
		t.means()
		for k := range t.tree.Value {
			t.tree.Value[k] *= rate
		}
		t.tree.Output = i % b.width
		t.tree.DefaultLeft = nil
		list[i] = t.tree
	}
	b.modern = a.version.atLeast(1, 4)
	b.exponential = a.textOr("loss", "") == "exponential"
	b.multi = b.width > 1
	b.start(a, classifier)
	b.forest = forestOf(a, list, trees.Options{Features: b.n, Outputs: b.width, Width: 1})
}

// start reads the first guess.
func (b *boosting) start(a *attrs, classifier bool) {
	if s, ok := pickle.Text(a.value("init_")); ok && s == "zero" {
		b.guess = make([]float64, b.width)
		return
	}
	if s, ok := pickle.Text(a.value("init")); ok && s == "zero" {
		b.guess = make([]float64, b.width)
		return
	}
	i := a.inner("init_")
	if i.err != nil {
		a.err = i.err
		return
	}
	b.link = b.linkOf()
	switch i.o.Class.Name {
	case "QuantileEstimator":
		b.guess = []float64{i.number("quantile")}
	case "MeanEstimator":
		b.guess = []float64{i.number("mean")}
	case "LogOddsEstimator", "ScaledLogOddsEstimator":
		b.guess = []float64{i.number("prior")}
	case "PriorProbabilityEstimator":
		b.guess = i.vector("priors")
	case "ZeroEstimator":
		b.guess = make([]float64, b.width)
	case "DummyRegressor":
		v := i.array("constant_")
		if numbers, err := v.Float64s(); err == nil && len(numbers) == 1 {
			b.guess = numbers
		} else {
			i.fail("constant_", "expected one number, got shape %v", v.Shape)
		}
	case "DummyClassifier":
		b.guess = b.priors(i)
	default:
		if a.err = i.err; a.err == nil {
			b.init = a.child("init_")
		}
		b.checkInit(a, classifier)
		return
	}
	if a.err = i.err; a.err == nil && len(b.guess) != b.width {
		i.fail("init_", "it guesses %d numbers for %d outputs", len(b.guess), b.width)
		a.err = i.err
	}
}

// checkInit refuses an estimator as the first guess that cannot make one.
func (b *boosting) checkInit(a *attrs, classifier bool) {
	if a.err != nil {
		return
	}
	want := predict
	if classifier {
		want = predictProba
	}
	for _, m := range b.init.methods() {
		if m == want {
			return
		}
	}
	a.unsupported("an init estimator without %s", want)
}

// linkOf is what makes a raw prediction of a probability.
func (b *boosting) linkOf() func(float64) float64 {
	switch {
	case b.multi:
		return math.Log
	case b.exponential:
		return func(p float64) float64 { return 0.5 * math.Log(p/(1-p)) }
	default:
		return func(p float64) float64 { return math.Log(p / (1 - p)) }
	}
}

// priors are the raw predictions of a classifier that always gives the shares of the classes.
func (b *boosting) priors(a *attrs) []float64 {
	if s := a.textOr("strategy", "prior"); s != "prior" {
		a.unsupported("the strategy %q as the first guess", s)
	}
	p := a.vector("class_prior_")
	if a.err != nil {
		return nil
	}
	if !b.multi {
		if len(p) != 2 {
			a.fail("class_prior_", "expected 2 numbers, got %d", len(p))
			return nil
		}
		p = p[1:]
	}
	out := make([]float64, len(p))
	copy(out, p)
	b.fromProbabilities(out)
	return out
}

// single is the precision of float32 at 1, which keeps probabilities away from 0 and 1.
const single = 1.1920928955078125e-07

// fromProbabilities makes raw predictions of the probabilities of one row in place.
func (b *boosting) fromProbabilities(p []float64) {
	for i, v := range p {
		p[i] = min(max(v, single), 1-single)
	}
	if b.multi && b.modern {
		// The symmetric link: relative to the geometric mean.
		mean := 0.0
		for _, v := range p {
			mean += math.Log(v)
		}
		mean = math.Exp(mean / float64(len(p)))
		for i, v := range p {
			p[i] = math.Log(v / mean)
		}
		return
	}
	for i, v := range p {
		p[i] = b.link(v)
	}
}

// raw are the raw predictions: the first guess and the trees' corrections in their order.
func (b *boosting) raw(c *call, x *table, classifier bool) (*table, error) {
	y := c.numbers(x.rows, b.width, float64s)
	if b.guess != nil {
		for i := 0; i < len(y.num); i += b.width {
			copy(y.num[i:], b.guess)
		}
	} else if err := b.first(c, x, y, classifier); err != nil {
		return nil, err
	}
	b.forest.Sum(x.matrix(), 0, b.forest.Trees(), y.num)
	return y, nil
}

// first asks the user's own estimator, which sees the rows as float32s.
func (b *boosting) first(c *call, x, y *table, classifier bool) error {
	x32 := c.numbers(x.rows, x.cols, float32s)
	for i, v := range x.num {
		x32.num[i] = float64(float32(v))
	}
	if !classifier {
		p, err := b.init.run(c, predict, x32)
		if err != nil {
			return err
		}
		copy(y.num, p.num)
		return nil
	}
	p, err := b.init.run(c, predictProba, x32)
	if err != nil {
		return err
	}
	for i := range x.rows {
		row := y.row(i)
		if b.multi {
			copy(row, p.row(i))
		} else if p.cols > 1 {
			row[0] = p.row(i)[1]
		}
		b.fromProbabilities(row)
	}
	return nil
}

type boostingRegressor struct{ boosting }

func buildBoostingRegressor(a *attrs) (estimator, error) {
	b := &boostingRegressor{}
	b.build(a, false)
	if a.err == nil && b.width != 1 {
		a.fail("estimators_", "a regressor with %d outputs", b.width)
	}
	return b, a.err
}

func (b *boostingRegressor) methods() []string { return []string{predict} }

func (b *boostingRegressor) run(c *call, _ string, x *table) (*table, error) {
	x, err := b.checkSingle(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y, err := b.raw(c, x, false)
	if err == nil {
		y.vector = true
	}
	return y, err
}

type boostingClassifier struct {
	boosting
	labels *labels
}

func buildBoostingClassifier(a *attrs) (estimator, error) {
	b := &boostingClassifier{}
	b.build(a, true)
	if a.err != nil {
		return nil, a.err
	}
	b.labels = a.classes("classes_")
	if n := b.labels.len(); a.err == nil && (n < 2 || n != b.width && (n != 2 || b.width != 1)) {
		a.fail("classes_", "there are %d classes for %d outputs", n, b.width)
	}
	return b, a.err
}

func (b *boostingClassifier) outputs() []*labels { return []*labels{b.labels} }

func (b *boostingClassifier) methods() []string {
	return []string{predict, predictProba, predictLogProba, decision}
}

func (b *boostingClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := b.checkSingle(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	raw, err := b.raw(c, x, true)
	if err != nil {
		return nil, err
	}
	switch method {
	case decision:
		raw.vector = b.width == 1
		return raw, nil
	case predict:
		return b.choose(c, raw), nil
	}
	y := b.probabilities(c, raw)
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}

// choose picks the classes. Before 1.4 a tie of two classes goes to the first, from then on to the second.
func (b *boostingClassifier) choose(c *call, raw *table) *table {
	y := c.classes(raw.rows, b.labels)
	if b.width == 1 && b.modern {
		for i, v := range raw.num {
			y.index[i] = 0
			if v >= 0 {
				y.index[i] = 1
			}
		}
		return y
	}
	p := b.probabilities(c, raw)
	if b.width > 1 && b.modern {
		p = raw
	}
	for i := range p.rows {
		y.index[i] = int32(argmax(p.row(i)))
	}
	return y
}

func (b *boostingClassifier) probabilities(c *call, raw *table) *table {
	y := c.numbers(raw.rows, b.labels.len(), float64s)
	if b.width > 1 {
		copy(y.num, raw.num)
		for i := range y.rows {
			softmax(y.row(i))
		}
		return y
	}
	for i, v := range raw.num {
		if b.exponential {
			v *= 2
		}
		p := expit(v)
		y.num[2*i], y.num[2*i+1] = 1-p, p
	}
	return y
}
