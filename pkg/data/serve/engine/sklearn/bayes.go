// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func addBayes(r map[string]builder) {
	r["naive_bayes.GaussianNB"] = buildGaussianNB
	r["naive_bayes.MultinomialNB"] = buildDiscreteNB
	r["naive_bayes.ComplementNB"] = buildDiscreteNB
	r["naive_bayes.BernoulliNB"] = buildDiscreteNB
	r["naive_bayes.CategoricalNB"] = buildCategoricalNB
}

const predictJoint = "predict_joint_log_proba"

// bayes is what the naive Bayes classifiers share: the class with the highest joint log likelihood.
type bayes struct {
	fitted
	labels *labels
	// joint writes the joint log likelihood of each class.
	joint func(x, out []float64) error
}

func (b *bayes) outputs() []*labels { return []*labels{b.labels} }

func (b *bayes) methods() []string {
	return []string{predict, predictProba, predictLogProba, predictJoint}
}

func (b *bayes) run(c *call, method string, x *table) (*table, error) {
	x, err := b.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, b.labels.len(), float64s)
	for i := range x.rows {
		if err := b.joint(x.row(i), y.row(i)); err != nil {
			return nil, err
		}
	}
	switch method {
	case predict:
		out := c.classes(x.rows, b.labels)
		for i := range x.rows {
			out.index[i] = int32(argmax(y.row(i)))
		}
		return out, nil
	case predictJoint:
		return y, nil
	}
	for i := range y.rows {
		row := y.row(i)
		sum := logSumExp(row)
		for j := range row {
			row[j] -= sum
			if method == predictProba {
				row[j] = math.Exp(row[j])
			}
		}
	}
	return y, nil
}

// logSumExp is log(Σ exp(v)) without overflow.
func logSumExp(v []float64) float64 {
	top := math.Inf(-1)
	for _, x := range v {
		top = max(top, x)
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(x - top)
	}
	return math.Log(sum) + top
}

func buildGaussianNB(a *attrs) (estimator, error) {
	b := &bayes{fitted: a.fitted(), labels: a.classes("classes_")}
	k := b.labels.len()
	theta := a.matrixOf("theta_", k, -1)
	variance := a.matrixOf(a.first("var_", "sigma_"), k, theta.cols)
	prior := a.vectorOf("class_prior_", k)
	a.columns(&b.fitted, theta.cols, "theta_")
	if a.err != nil {
		return nil, a.err
	}
	constant := make([]float64, k)
	for i := range k {
		sum := 0.0
		for _, v := range variance.row(i) {
			sum += math.Log(2 * math.Pi * v)
		}
		constant[i] = -0.5 * sum
		prior[i] = math.Log(prior[i])
	}
	b.joint = func(x, out []float64) error {
		for i := range out {
			mean, spread := theta.row(i), variance.row(i)
			sum := 0.0
			for j, v := range x {
				d := v - mean[j]
				sum += d * d / spread[j]
			}
			out[i] = prior[i] + (constant[i] - 0.5*sum)
		}
		return nil
	}
	return b, nil
}

// buildDiscreteNB builds the multinomial, complement and Bernoulli forms: a weight for each class and feature, and a bias.
func buildDiscreteNB(a *attrs) (estimator, error) {
	b := &bayes{fitted: a.fitted(), labels: a.classes("classes_")}
	k := b.labels.len()
	weights := a.matrixOf("feature_log_prob_", k, -1)
	bias := a.vectorOf("class_log_prior_", k)
	a.columns(&b.fitted, weights.cols, "feature_log_prob_")
	if a.err != nil {
		return nil, a.err
	}
	binary, threshold := false, 0.0
	switch a.o.Class.Name {
	case "ComplementNB":
		if k > 1 {
			clear(bias)
		}
	case "BernoulliNB":
		if binary = a.has("binarize"); binary {
			threshold = a.number("binarize")
		}
		for i := range k {
			row := weights.row(i)
			for j, v := range row {
				not := math.Log(1 - math.Exp(v))
				row[j] = v - not
				bias[i] += not
			}
		}
	}
	b.joint = func(x, out []float64) error {
		for i := range out {
			row := weights.row(i)
			sum := 0.0
			if binary {
				for j, v := range x {
					if v > threshold {
						sum += row[j]
					}
				}
			} else {
				sum = dot(x, row)
			}
			out[i] = sum + bias[i]
		}
		return nil
	}
	return b, a.err
}

func buildCategoricalNB(a *attrs) (estimator, error) {
	b := &bayes{fitted: a.fitted(), labels: a.classes("classes_")}
	k := b.labels.len()
	prior := a.vectorOf("class_log_prior_", k)
	items := a.items("feature_log_prob_")
	a.columns(&b.fitted, len(items), "feature_log_prob_")
	tables := make([]matrix, 0, len(items))
	for _, item := range items {
		arr := a.asArray("feature_log_prob_", item)
		if a.err != nil {
			return nil, a.err
		}
		m := a.toMatrix("feature_log_prob_", arr)
		if a.err == nil && m.rows != k {
			a.fail("feature_log_prob_", "a row for each of %d classes expected, got %s", k, pickle.Kind(arr))
		}
		tables = append(tables, m)
	}
	class := a.o.Class.Name
	b.joint = func(x, out []float64) error {
		clear(out)
		for j, v := range x {
			at := math.Trunc(v)
			if at < 0 || at >= float64(tables[j].cols) {
				return protocol.Errorf(protocol.Invalid, "%s: column %d has the category %v, and its categories are 0 to %d", class, j, v, tables[j].cols-1)
			}
			for i := range out {
				out[i] += tables[j].v[i*tables[j].cols+int(at)]
			}
		}
		for i := range out {
			out[i] += prior[i]
		}
		return nil
	}
	return b, a.err
}
