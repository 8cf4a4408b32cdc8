// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

func addNeural(r map[string]builder) {
	r["neural_network.MLPClassifier"] = buildMLPClassifier
	r["neural_network.MLPRegressor"] = buildMLPRegressor
}

// perceptron is a network of fully connected layers.
type perceptron struct {
	fitted
	layers []layer
	width  int  // of the widest layer
	single bool // the weights are float32s
	flat   bool // one output, answered as a vector
}

type layer struct {
	weights matrix // a row for each neuron
	bias    []float64
	f       activation
}

type activation uint8

const (
	identity activation = iota
	relu
	logistic
	tanh
	softmaxLayer
	exponential
)

func (a *attrs) activation(name string) activation {
	switch s := a.text(name); s {
	case "identity":
		return identity
	case "relu":
		return relu
	case "logistic":
		return logistic
	case "tanh":
		return tanh
	case "softmax":
		return softmaxLayer
	case "exp":
		return exponential
	default:
		a.unsupported("%s=%q", name, s)
		return identity
	}
}

func (p *perceptron) build(a *attrs) {
	p.fitted = a.fitted()
	hidden, last := a.activation("activation"), a.activation("out_activation_")
	coefs, biases := a.items("coefs_"), a.items("intercepts_")
	if a.err == nil && (len(coefs) == 0 || len(coefs) != len(biases)) {
		a.fail("coefs_", "%d layers of weights and %d of intercepts", len(coefs), len(biases))
	}
	p.single = true
	for i := range coefs {
		if a.err != nil {
			return
		}
		arr := a.asArray("coefs_", coefs[i])
		bias := a.asArray("intercepts_", biases[i])
		if a.err != nil {
			return
		}
		m := a.toMatrix("coefs_", arr)
		l := layer{weights: transpose(m), bias: a.toVector("intercepts_", bias), f: hidden}
		if a.err == nil && (len(l.bias) != m.cols || m.rows == 0 || m.cols == 0 || i > 0 && m.rows != p.layers[i-1].weights.rows) {
			a.fail("coefs_", "layer %d has shape [%d %d] and %s of intercepts, which do not fit", i, m.rows, m.cols, pickle.Kind(bias))
		}
		p.single = p.single && m.single
		p.width = max(p.width, m.cols)
		p.layers = append(p.layers, l)
	}
	if a.err != nil {
		return
	}
	p.layers[len(p.layers)-1].f = last
	a.columns(&p.fitted, p.layers[0].weights.cols, "coefs_")
	p.flat = p.outputs() == 1
}

func transpose(m matrix) matrix {
	t := matrix{rows: m.cols, cols: m.rows, v: make([]float64, len(m.v)), single: m.single}
	for i := range m.rows {
		for j := range m.cols {
			t.v[j*m.rows+i] = m.v[i*m.cols+j]
		}
	}
	return t
}

func (p *perceptron) outputs() int { return p.layers[len(p.layers)-1].weights.rows }

// forward writes the last layer's values. Weights and rows that are float32s make float32s, as in the library.
func (p *perceptron) forward(c *call, x *table) *table {
	single := p.single && x.typ == float32s
	typ := float64s
	if single {
		typ = float32s
	}
	y := c.numbers(x.rows, p.outputs(), typ)
	from, to := c.floats(p.width), c.floats(p.width)
	for i := range x.rows {
		in := x.row(i)
		for k := range p.layers {
			l := &p.layers[k]
			out := to[:l.weights.rows]
			if k == len(p.layers)-1 {
				out = y.row(i)
			}
			for n := range out {
				if single {
					out[n] = float64(dot32(in, l.weights.row(n)) + float32(l.bias[n]))
				} else {
					out[n] = dot(in, l.weights.row(n)) + l.bias[n]
				}
			}
			l.f.apply(out, single)
			in = out
			from, to = to, from
		}
	}
	return y
}

func (f activation) apply(v []float64, single bool) {
	if f == softmaxLayer {
		softmax(v)
	}
	for i, x := range v {
		switch f {
		case relu:
			if x < 0 {
				v[i] = 0
			}
		case logistic:
			v[i] = expit(x)
		case tanh:
			v[i] = math.Tanh(x)
		case exponential:
			v[i] = math.Exp(x)
		case identity, softmaxLayer:
		}
		v[i] = to32(v[i], single)
	}
}

type mlpRegressor struct{ perceptron }

func buildMLPRegressor(a *attrs) (estimator, error) {
	p := &mlpRegressor{}
	p.build(a)
	return p, a.err
}

func (p *mlpRegressor) methods() []string { return []string{predict} }

func (p *mlpRegressor) run(c *call, _ string, x *table) (*table, error) {
	x, err := p.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := p.forward(c, x)
	y.vector = p.flat
	return y, nil
}

type mlpClassifier struct {
	perceptron
	labels     *labels
	multilabel bool
}

func buildMLPClassifier(a *attrs) (estimator, error) {
	p := &mlpClassifier{}
	p.build(a)
	b := a.inner("_label_binarizer")
	p.multilabel = b.textOr("y_type_", "") == "multilabel-indicator"
	if b.err == nil {
		p.labels = b.classes("classes_")
	}
	if a.err == nil {
		a.err = b.err
	}
	if a.err != nil {
		return nil, a.err
	}
	if n, k := p.perceptron.outputs(), p.labels.len(); n != k && (n != 1 || k > 2 || p.multilabel) {
		a.fail("coefs_", "%d outputs for %d classes", n, k)
	}
	return p, a.err
}

func (p *mlpClassifier) outputs() []*labels {
	if p.multilabel {
		return nil
	}
	return []*labels{p.labels}
}

func (p *mlpClassifier) methods() []string { return []string{predict, predictProba, predictLogProba} }

func (p *mlpClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := p.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := p.forward(c, x)
	if method == predict {
		return p.choose(c, y), nil
	}
	if p.flat {
		two := c.numbers(y.rows, 2, y.typ)
		for i, v := range y.num {
			two.num[2*i], two.num[2*i+1] = to32(1-v, y.typ == float32s), v
		}
		y = two
	}
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}

func (p *mlpClassifier) choose(c *call, y *table) *table {
	if p.multilabel {
		y.typ = integers
		for i, v := range y.num {
			y.num[i] = 0
			if v > 0.5 {
				y.num[i] = 1
			}
		}
		return y
	}
	out := c.classes(y.rows, p.labels)
	for i := range y.rows {
		row := y.row(i)
		switch {
		case len(row) > 1:
			out.index[i] = int32(argmax(row))
		case row[0] > 0.5 && p.labels.len() == 2:
			out.index[i] = 1
		default:
			out.index[i] = 0
		}
	}
	return out
}
