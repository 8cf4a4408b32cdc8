// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

const int64Type = tensor.Int64

// bagging averages members that were each fitted with some of the rows and columns.
type bagging struct {
	committee
	labels *labels
	own    [][]int32
	proba  bool // members have probabilities; otherwise they vote
	logs   bool // members have logarithms of probabilities of their own
}

func (b *bagging) read(a *attrs) {
	b.build(a)
	if a.err != nil {
		return
	}
	b.columns = a.featureLists("estimators_features_", len(b.members), b.n)
	if a.err == nil && !b.every(predict) {
		a.unsupported("members that do not predict")
	}
}

func buildBaggingRegressor(a *attrs) (estimator, error) {
	b := &bagging{}
	b.read(a)
	return b, a.err
}

func buildBaggingClassifier(a *attrs) (estimator, error) {
	b := &baggingClassifier{}
	b.read(a)
	b.labels = a.classes("classes_")
	if a.err != nil {
		return nil, a.err
	}
	b.proba, b.logs = b.every(predictProba), b.every(predictLogProba)
	// Members are fitted with the places of the classes.
	places := &labels{typ: int64Type}
	for i := range b.labels.len() {
		places.ints = append(places.ints, int64(i))
	}
	for _, m := range b.members {
		b.own = append(b.own, translate(a, "estimators_", m, places))
	}
	return b, a.err
}

func (b *bagging) methods() []string { return []string{predict} }

func (b *bagging) run(c *call, _ string, x *table) (*table, error) {
	x, err := b.check(c, x, allowAll)
	if err != nil {
		return nil, err
	}
	var sum *table
	for i := range b.members {
		y, err := b.ask(c, i, predict, x)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = y
			continue
		}
		for k, v := range y.num {
			sum.num[k] += v
		}
	}
	for k := range sum.num {
		sum.num[k] /= float64(len(b.members))
	}
	return sum, nil
}

type baggingClassifier struct{ bagging }

func (b *baggingClassifier) outputs() []*labels { return []*labels{b.labels} }

func (b *baggingClassifier) methods() []string {
	return []string{predict, predictProba, predictLogProba}
}

func (b *baggingClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := b.check(c, x, allowAll)
	if err != nil {
		return nil, err
	}
	if method == predictLogProba && b.logs {
		return b.logarithms(c, x)
	}
	p := c.numbers(x.rows, b.labels.len(), float64s)
	clear(p.num)
	for i := range b.members {
		if err := b.add(c, i, x, p); err != nil {
			return nil, err
		}
	}
	for k := range p.num {
		p.num[k] /= float64(len(b.members))
	}
	switch method {
	case predict:
		y := c.classes(x.rows, b.labels)
		for i := range y.index {
			y.index[i] = int32(argmax(p.row(i)))
		}
		return y, nil
	case predictLogProba:
		logs(p)
	}
	return p, nil
}

// add adds one member's probabilities, or its votes.
func (b *baggingClassifier) add(c *call, i int, x, p *table) error {
	if b.proba {
		y, err := b.ask(c, i, predictProba, x)
		if err != nil {
			return err
		}
		for r := range x.rows {
			row := p.row(r)
			for j, v := range y.row(r) {
				row[b.own[i][j]] += v
			}
		}
		return nil
	}
	y, err := b.ask(c, i, predict, x)
	if err != nil {
		return err
	}
	for r, index := range y.index {
		p.row(r)[b.own[i][index]]++
	}
	return nil
}

// logarithms adds probabilities that are given as logarithms.
func (b *baggingClassifier) logarithms(c *call, x *table) (*table, error) {
	p := c.numbers(x.rows, b.labels.len(), float64s)
	for k := range p.num {
		p.num[k] = math.Inf(-1)
	}
	for i := range b.members {
		y, err := b.ask(c, i, predictLogProba, x)
		if err != nil {
			return nil, err
		}
		for r := range x.rows {
			row := p.row(r)
			for j, v := range y.row(r) {
				k := b.own[i][j]
				row[k] = logAddExp(row[k], v)
			}
		}
	}
	for k := range p.num {
		p.num[k] -= math.Log(float64(len(b.members)))
	}
	return p, nil
}

// logAddExp is log(exp(a) + exp(b)).
func logAddExp(a, b float64) float64 {
	if a == b {
		return a + math.Ln2
	}
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}
