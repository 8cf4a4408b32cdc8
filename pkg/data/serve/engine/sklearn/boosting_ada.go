// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"
	"slices"
)

// committee is estimators of any kind that are asked together, each for its own columns where it has some of them only.
type committee struct {
	fitted
	members []estimator
	columns [][]int64 // by member; nil when all members see all columns
}

func (m *committee) build(a *attrs) {
	m.fitted = a.fitted()
	for i, v := range a.items("estimators_") {
		m.members = append(m.members, a.estimator(fmt.Sprintf("estimators_[%d]", i), v))
		if a.err != nil {
			return
		}
	}
	if a.err == nil && len(m.members) == 0 {
		a.fail("estimators_", "the ensemble has no members")
	}
}

// every reports whether all members answer a method.
func (m *committee) every(method string) bool {
	for _, e := range m.members {
		if !slices.Contains(e.methods(), method) {
			return false
		}
	}
	return true
}

// ask asks one member.
func (m *committee) ask(c *call, i int, method string, x *table) (*table, error) {
	if m.columns == nil {
		return m.members[i].run(c, method, x)
	}
	y := c.numbers(x.rows, len(m.columns[i]), x.typ)
	for r := range x.rows {
		row, from := y.row(r), x.row(r)
		for j, column := range m.columns[i] {
			row[j] = from[column]
		}
	}
	return m.members[i].run(c, method, y)
}

// translate finds the classes of a member among those of the whole.
func translate(a *attrs, name string, e estimator, all *labels) []int32 {
	d, ok := e.(interface{ outputs() []*labels })
	if !ok || len(d.outputs()) != 1 {
		a.fail(name, "a member is no classifier of one output")
		return nil
	}
	own := d.outputs()[0]
	out := make([]int32, own.len())
	for i := range out {
		out[i] = -1
		for k := range all.len() {
			if sameLabel(own, i, all, k) {
				out[i] = int32(k)
			}
		}
		if out[i] < 0 {
			a.fail(name, "a member has a class that the ensemble has not")
		}
	}
	return out
}

func sameLabel(a *labels, i int, b *labels, k int) bool {
	if a.text != nil || b.text != nil {
		return a.text != nil && b.text != nil && a.text[i] == b.text[k]
	}
	return a.number(i) == b.number(k)
}

func (l *labels) number(i int) float64 {
	if l.ints != nil {
		return float64(l.ints[i])
	}
	return l.num[i]
}

// adaClassifier weighs the votes of its members.
type adaClassifier struct {
	committee
	labels  *labels
	weights []float64
	total   float64
	real    bool // SAMME.R: members vote with the logarithms of their probabilities
	against bool // a vote counts against the other classes too, from 1.4 on
	own     [][]int32
}

func buildAdaClassifier(a *attrs) (estimator, error) {
	e := &adaClassifier{labels: a.classes("classes_")}
	e.build(a)
	if a.err != nil {
		return nil, a.err
	}
	e.weights = a.vector("estimator_weights_")
	if a.err == nil && len(e.weights) < len(e.members) {
		a.fail("estimator_weights_", "expected %d weights, got %d", len(e.members), len(e.weights))
	}
	if !a.version.atLeast(0, 22) {
		a.unsupported("files of the release %d.%d; 0.22 is the oldest for this class", a.version.major, a.version.minor)
	}
	e.total = pairwise(e.weights)
	e.against = a.version.atLeast(1, 4)
	e.real = a.textOr("algorithm", "SAMME") == "SAMME.R"
	if e.real && !e.every(predictProba) {
		a.unsupported("SAMME.R with members that have no probabilities")
	}
	for _, m := range e.members {
		own := translate(a, "estimators_", m, e.labels)
		if e.real && a.err == nil && len(own) != e.labels.len() {
			a.unsupported("members that know only some of the classes")
		}
		e.own = append(e.own, own)
	}
	return e, a.err
}

func (e *adaClassifier) outputs() []*labels { return []*labels{e.labels} }

func (e *adaClassifier) methods() []string {
	return []string{predict, predictProba, predictLogProba, decision}
}

func (e *adaClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := e.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	k := e.labels.len()
	if k == 1 {
		return e.single(c, method, x)
	}
	scores := c.numbers(x.rows, k, float64s)
	clear(scores.num)
	for i := range e.members {
		if err := e.vote(c, i, x, scores); err != nil {
			return nil, err
		}
	}
	for i := range scores.num {
		scores.num[i] /= e.total
	}
	y := scores
	if k == 2 {
		y = c.column1(x.rows, float64s)
		for i := range y.num {
			y.num[i] = -scores.num[2*i] + scores.num[2*i+1]
		}
	}
	switch method {
	case decision:
		return y, nil
	case predict:
		return chooseByScore(c, y, e.labels), nil
	}
	p := e.probabilities(c, y)
	if method == predictLogProba {
		logs(p)
	}
	return p, nil
}

// single answers for an ensemble that was fitted with one class only.
func (e *adaClassifier) single(c *call, method string, x *table) (*table, error) {
	if method == predict {
		y := c.classes(x.rows, e.labels)
		clear(y.index)
		return y, nil
	}
	y := c.numbers(x.rows, 1, float64s)
	for i := range y.num {
		y.num[i] = 1
	}
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}

// vote adds one member's votes.
func (e *adaClassifier) vote(c *call, i int, x, scores *table) error {
	k := scores.cols
	if e.real {
		p, err := e.ask(c, i, predictProba, x)
		if err != nil {
			return err
		}
		for r := range x.rows {
			row := p.row(r)
			for j, v := range row {
				row[j] = math.Log(max(v, 0x1p-52))
			}
			sum := pairwise(row)
			for j, v := range row {
				scores.row(r)[e.own[i][j]] += float64(k-1) * (v - 1/float64(k)*sum)
			}
		}
		return nil
	}
	votes, err := e.ask(c, i, predict, x)
	if err != nil {
		return err
	}
	w, other := e.weights[i], 0.0
	if e.against {
		other = -1 / float64(k-1) * w
	}
	for r, index := range votes.index {
		row := scores.row(r)
		for j := range row {
			if int32(j) == e.own[i][index] {
				row[j] += w
			} else {
				row[j] += other
			}
		}
	}
	return nil
}

func (e *adaClassifier) probabilities(c *call, scores *table) *table {
	k := e.labels.len()
	p := c.numbers(scores.rows, k, float64s)
	for i := range p.rows {
		row := p.row(i)
		if k == 2 {
			row[0], row[1] = -scores.num[i]/2, scores.num[i]/2
		} else {
			for j, v := range scores.row(i) {
				row[j] = v / float64(k-1)
			}
		}
		softmax(row)
	}
	return p
}

// adaRegressor takes the weighted median of its members.
type adaRegressor struct {
	committee
	weights []float64
}

func buildAdaRegressor(a *attrs) (estimator, error) {
	e := &adaRegressor{}
	e.build(a)
	e.weights = a.vector("estimator_weights_")
	if a.err == nil && len(e.weights) < len(e.members) {
		a.fail("estimator_weights_", "expected %d weights, got %d", len(e.members), len(e.weights))
	}
	if a.err == nil && !e.every(predict) {
		a.unsupported("members that do not predict")
	}
	return e, a.err
}

func (e *adaRegressor) methods() []string { return []string{predict} }

func (e *adaRegressor) run(c *call, _ string, x *table) (*table, error) {
	x, err := e.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	n := len(e.members)
	all := c.floats(x.rows * n) // by row and member
	for i := range e.members {
		y, err := e.ask(c, i, predict, x)
		if err != nil {
			return nil, err
		}
		for r, v := range y.num {
			all[r*n+i] = v
		}
	}
	order := c.indexes(n)
	y := c.column1(x.rows, float64s)
	for r := range x.rows {
		row := all[r*n : (r+1)*n]
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case row[a] < row[b]:
				return -1
			case row[a] > row[b]:
				return 1
			default:
				return 0
			}
		})
		y.num[r] = e.median(row, order)
	}
	return y, nil
}

func (e *adaRegressor) median(row []float64, order []int32) float64 {
	total := 0.0
	for _, i := range order {
		total += e.weights[i]
	}
	sum := 0.0
	for _, i := range order {
		if sum += e.weights[i]; sum >= 0.5*total {
			return row[i]
		}
	}
	return row[order[0]]
}
