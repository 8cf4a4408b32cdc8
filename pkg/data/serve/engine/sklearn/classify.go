// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"
)

// proba says how a linear classifier makes probabilities of its scores.
type proba uint8

const (
	noProba proba = iota
	oneVersusRest
	softMax
	modifiedHuber
)

type linearClassifier struct {
	linear
	labels *labels
	proba  proba
}

func buildLinearClassifier(a *attrs) (estimator, error) {
	l := &linearClassifier{}
	l.build(a)
	if a.has("_label_binarizer") { // RidgeClassifier
		b := a.inner("_label_binarizer")
		if y := b.textOr("y_type_", "binary"); y != "binary" && y != "multiclass" {
			a.unsupported("targets of the kind %s", y)
		}
		l.labels = b.classes("classes_")
		if a.err == nil {
			a.err = b.err
		}
	} else {
		l.labels = a.classes("classes_")
	}
	if a.err != nil {
		return nil, a.err
	}
	if n := l.labels.len(); n < 2 || l.coef.rows != n && (n != 2 || l.coef.rows != 1) {
		a.fail("coef_", "%d rows of coefficients for %d classes", l.coef.rows, n)
	}
	l.proba = probaOf(a, l.labels.len())
	return l, a.err
}

func probaOf(a *attrs, classes int) proba {
	switch a.o.Class.Name {
	case "LogisticRegression", "LogisticRegressionCV":
		switch a.textOr("multi_class", "auto") {
		case "ovr", "warn":
			return oneVersusRest
		case "multinomial":
			return softMax
		}
		solver := a.textOr("solver", "lbfgs")
		if classes <= 2 || solver == "liblinear" || solver == "newton-cholesky" && !a.version.atLeast(1, 6) {
			return oneVersusRest
		}
		return softMax
	case "SGDClassifier":
		switch a.textOr("loss", "hinge") {
		case "log", "log_loss":
			return oneVersusRest
		case "modified_huber":
			return modifiedHuber
		}
	}
	return noProba
}

func (l *linearClassifier) outputs() []*labels { return []*labels{l.labels} }

func (l *linearClassifier) methods() []string {
	if l.proba == noProba {
		return []string{predict, decision}
	}
	return []string{predict, predictProba, predictLogProba, decision}
}

func (l *linearClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := l.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	scores := l.scores(c, x)
	switch method {
	case decision:
		scores.vector = scores.cols == 1
		return scores, nil
	case predict:
		return chooseByScore(c, scores, l.labels), nil
	}
	y := l.probabilities(c, scores)
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}

// chooseByScore picks the class: by the sign of one score, or the first of the highest.
func chooseByScore(c *call, scores *table, l *labels) *table {
	y := c.classes(scores.rows, l)
	for i := range scores.rows {
		row := scores.row(i)
		if len(row) == 1 {
			y.index[i] = 0
			if row[0] > 0 {
				y.index[i] = 1
			}
			continue
		}
		y.index[i] = int32(argmax(row))
	}
	return y
}

// argmax is the position of the first highest element, or of the first NaN, as NumPy's.
func argmax(v []float64) int {
	best := 0
	for i, x := range v {
		if math.IsNaN(x) {
			return i
		}
		if x > v[best] {
			best = i
		}
	}
	return best
}

func expit(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (l *linearClassifier) probabilities(c *call, scores *table) *table {
	k := l.labels.len()
	y := c.numbers(scores.rows, k, scores.typ)
	for i := range scores.rows {
		row, out := scores.row(i), y.row(i)
		switch {
		case l.proba == softMax:
			if len(row) == 1 {
				out[0], out[1] = -row[0], row[0]
			} else {
				copy(out, row)
			}
			softmax(out)
		case l.proba == modifiedHuber:
			huberProbabilities(row, out)
		case len(row) == 1:
			p := expit(row[0])
			out[0], out[1] = 1-p, p
		default:
			sum := 0.0
			for j, s := range row {
				out[j] = expit(s)
				sum += out[j]
			}
			for j := range out {
				out[j] /= sum
			}
		}
	}
	return y
}

// softmax replaces scores by their softmax.
func softmax(v []float64) {
	top := math.Inf(-1)
	for _, x := range v {
		top = max(top, x)
	}
	sum := 0.0
	for i, x := range v {
		v[i] = math.Exp(x - top)
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
}

// huberProbabilities clips the scores to probabilities; where all are zero every class is as likely.
func huberProbabilities(row, out []float64) {
	clip := func(s float64) float64 { return (min(max(s, -1), 1) + 1) / 2 }
	if len(row) == 1 {
		out[1] = clip(row[0])
		out[0] = 1 - out[1]
		return
	}
	sum := 0.0
	for j, s := range row {
		out[j] = clip(s)
		sum += out[j]
	}
	if sum == 0 {
		for j := range out {
			out[j] = 1
		}
		sum = float64(len(out))
	}
	for j := range out {
		out[j] /= sum
	}
}

// logs replaces numbers by their logarithms.
func logs(y *table) {
	for i, v := range y.num {
		y.num[i] = math.Log(v)
	}
}
