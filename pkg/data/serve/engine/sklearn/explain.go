// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"context"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/rows"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// explainable is an estimator whose answers are sums of what the columns contribute.
type explainable interface {
	estimator
	// explain is what each column of x contributes. It says why it cannot with a *protocol.Error of code Unsupported.
	explain(c *call, x *table) (*attribution, error)
}

// attribution is what explain answers.
type attribution struct {
	engine.Attribution
	rows, outputs, features int
	blocks                  []float64 // by row and output: features + 1 numbers, the last of which does not depend on the row
}

// Explain implements engine.Explainer.
func (m *model) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) (err error) {
	e, ok := m.est.(explainable)
	if !ok {
		return noExplanation(m.metadata.Class)
	}
	c := m.calls.Get().(*call) //nolint:forcetypeassert // what New makes
	defer m.calls.Put(c)
	c.begin(ctx)
	defer c.end()
	defer c.bounded(&err, m.metadata.Class)
	x, err := c.request(in)
	if err != nil {
		return err
	}
	a, err := e.explain(c, x)
	if err != nil {
		return err
	}
	if a.Features == nil {
		a.Features = m.metadata.Features
	}
	a.Begin(out, a.rows, a.outputs, a.features)
	a.Set(0, a.blocks)
	return nil
}

// noExplanation begins with the words that clients of KServe know.
func noExplanation(class string) error {
	return protocol.Errorf(protocol.Unsupported, "Could not find explainer_host. There are exact explanations of trees and of linear models, "+
		"alone or behind scalers, and none of %s.", class)
}

// attribution takes room for what is answered about x.
func (c *call) attribution(a engine.Attribution, x *table, outputs int) (*attribution, error) {
	if err := rows.Fits(int64(x.rows), int64(outputs), int64(x.cols)+1); err != nil {
		return nil, err
	}
	return &attribution{
		Attribution: a, rows: x.rows, outputs: outputs, features: x.cols, blocks: c.zeros(x.rows * outputs * (x.cols + 1)),
	}, nil
}

// ofTrees is the attribution of a forest's sum, times scale, for rows that have been checked.
func (c *call) ofTrees(f *trees.Forest[float64], unit string, x *table, outputs int, scale float64) (*attribution, error) {
	a, err := c.attribution(engine.Attribution{Algorithm: "tree_shap", Unit: unit}, x, outputs)
	if err != nil {
		return nil, err
	}
	err = rows.EachOne(c.ctx, x.matrix(), func(part trees.Matrix, from int) error {
		width := outputs * (x.cols + 1)
		switch err := f.Contributions(part, 0, f.Trees(), a.blocks[from*width:(from+part.Rows)*width], c.ctx.Err); {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case err != nil:
			return protocol.Errorf(protocol.Unsupported, "Could not find explainer_host. An explanation: %s.", err)
		}
		return nil
	})
	if scale != 1 {
		for i := range a.blocks {
			a.blocks[i] *= scale
		}
	}
	return a, err
}

// addBase adds what does not depend on the row.
func (a *attribution) addBase(base []float64) {
	width := a.features + 1
	for i := range a.rows * a.outputs {
		a.blocks[(i+1)*width-1] += base[i%a.outputs]
	}
}

// names are the labels as texts.
func (l *labels) names() []string {
	out := make([]string, l.len())
	for i := range out {
		switch {
		case l.text != nil:
			out[i] = l.text[i]
		case l.ints != nil && l.typ == tensor.Bool:
			out[i] = map[bool]string{true: "True", false: "False"}[l.ints[i] != 0]
		case l.ints != nil:
			out[i] = strconv.FormatInt(l.ints[i], 10)
		default:
			out[i] = strconv.FormatFloat(l.num[i], 'g', -1, 64)
		}
	}
	return out
}

// scored names the outputs of scores: a class each, or the second of two for a single one.
func scored(l *labels, scores int) []string {
	names := l.names()
	if scores == 1 && len(names) == 2 {
		return names[1:]
	}
	if scores != len(names) {
		return nil
	}
	return names
}

// explain of a linear model is coefficient times value, and the intercept: nothing, when all values are zero.
func (l *linear) explain(c *call, x *table, unit string) (*attribution, error) {
	x, err := l.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	a, err := c.attribution(engine.Attribution{Algorithm: "linear", Unit: unit, Background: make([]float64, x.cols)}, x, l.coef.rows)
	if err != nil {
		return nil, err
	}
	width := x.cols + 1
	for i := range x.rows {
		row := x.row(i)
		for k := range l.coef.rows {
			block := a.blocks[(i*l.coef.rows+k)*width:][:width]
			for j, w := range l.coef.row(k) {
				block[j] = w * row[j]
			}
			block[x.cols] = l.intercept[k]
		}
	}
	return a, nil
}

func (l *linearRegressor) explain(c *call, x *table) (*attribution, error) {
	return l.linear.explain(c, x, "prediction")
}

func (l *linearClassifier) explain(c *call, x *table) (*attribution, error) {
	a, err := l.linear.explain(c, x, decision)
	if err != nil {
		return nil, err
	}
	a.Outputs = scored(l.labels, a.outputs)
	return a, nil
}

func (t *treeClassifier) explain(c *call, x *table) (*attribution, error) {
	return t.classOutputs.explain(c, x, &t.fitted, t.finite, t.forest)
}

func (f *forestClassifier) explain(c *call, x *table) (*attribution, error) {
	return f.classOutputs.explain(c, x, &f.fitted, f.finite, f.forest)
}

// explain is what contributes to the probability of each class.
func (o *classOutputs) explain(c *call, x *table, of *fitted, allow finite, forest *trees.Forest[float64]) (*attribution, error) {
	if o.multi {
		return nil, noExplanation(of.class + " of several outputs")
	}
	x, err := of.checkSingle(c, x, allow)
	if err != nil {
		return nil, err
	}
	a, err := c.ofTrees(forest, "probability", x, o.width, 1/float64(forest.Trees()))
	if err != nil {
		return nil, err
	}
	a.Outputs = o.labels[0].names()
	return a, nil
}

func (t *treeRegressor) explain(c *call, x *table) (*attribution, error) {
	x, err := t.checkSingle(c, x, t.finite)
	if err != nil {
		return nil, err
	}
	return c.ofTrees(t.forest, "prediction", x, t.outputs, 1/float64(t.forest.Trees()))
}

func (b *boosting) explain(c *call, x *table, unit string) (*attribution, error) {
	if b.guess == nil {
		return nil, noExplanation(b.class + " with an init estimator of its own")
	}
	x, err := b.checkSingle(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	a, err := c.ofTrees(b.forest, unit, x, b.width, 1)
	if err != nil {
		return nil, err
	}
	a.addBase(b.guess)
	return a, nil
}

func (b *boostingRegressor) explain(c *call, x *table) (*attribution, error) {
	return b.boosting.explain(c, x, "prediction")
}

func (b *boostingClassifier) explain(c *call, x *table) (*attribution, error) {
	a, err := b.boosting.explain(c, x, decision)
	if err != nil {
		return nil, err
	}
	a.Outputs = scored(b.labels, a.outputs)
	return a, nil
}

func (h *histBoosting) explain(c *call, x *table, unit string) (*attribution, error) {
	if h.prepare != nil {
		return nil, noExplanation(h.class + " with categorical features")
	}
	if err := h.checkShape(x); err != nil {
		return nil, err
	}
	x, err := h.check(c, x, allowAll)
	if err != nil {
		return nil, err
	}
	a, err := c.ofTrees(h.forest, unit, h.onlyKnown(c, x), h.width, 1)
	if err != nil {
		return nil, err
	}
	a.addBase(h.baseline)
	return a, nil
}

func (h *histRegressor) explain(c *call, x *table) (*attribution, error) {
	unit := "prediction"
	if h.exponential {
		unit = "log_prediction"
	}
	return h.histBoosting.explain(c, x, unit)
}

func (h *histClassifier) explain(c *call, x *table) (*attribution, error) {
	a, err := h.histBoosting.explain(c, x, decision)
	if err != nil {
		return nil, err
	}
	a.Outputs = scored(h.labels, a.outputs)
	return a, nil
}

// explain of a pipeline is that of its last step, where the steps before it map each column on its own.
func (p *pipeline) explain(c *call, x *table) (*attribution, error) {
	last, ok := p.last.(explainable)
	if !ok {
		if p.last == nil {
			return nil, noExplanation("a pipeline without a last step")
		}
		return nil, noExplanation(p.last.input().class)
	}
	for _, step := range p.steps {
		if s, ok := step.(*scaler); !ok || s.clip {
			return nil, noExplanation("a pipeline with " + step.input().class)
		}
	}
	for _, step := range p.steps {
		var err error
		if x, err = step.run(c, transform, x); err != nil {
			return nil, err
		}
	}
	a, err := last.explain(c, x)
	if err != nil {
		return nil, err
	}
	// What counts as nothing for the last step is what the scalers make nothing of.
	for i := len(p.steps) - 1; i >= 0 && a.Background != nil; i-- {
		s := p.steps[i].(*scaler) //nolint:forcetypeassert // seen above
		for j, v := range a.Background {
			a.Background[j] = s.backward(j, v, false)
		}
	}
	return a, nil
}

func (w *wrappedXGB) explain(c *call, x *table) (*attribution, error) {
	x, err := w.rows(c, x)
	if err != nil {
		return nil, err
	}
	a, err := c.attribution(w.booster.Attribution(), x, w.booster.Groups)
	if err != nil {
		return nil, err
	}
	width := a.outputs * (x.cols + 1)
	return a, rows.EachOne(c.ctx, x.matrix(), func(part trees.Matrix, from int) error {
		return w.booster.Contributions(c.ctx, part, w.call, a.blocks[from*width:(from+part.Rows)*width])
	})
}

func (w *wrappedXGBClassifier) explain(c *call, x *table) (*attribution, error) {
	a, err := w.wrappedXGB.explain(c, x)
	if err != nil {
		return nil, err
	}
	a.Outputs = scored(w.labels, a.outputs)
	return a, nil
}

func (w *wrappedLGBM) explain(c *call, x *table) (*attribution, error) {
	x, err := w.check(c, x, allowAll)
	if err != nil {
		return nil, err
	}
	a, err := c.attribution(w.booster.Attribution(), x, w.booster.Classes)
	if err != nil {
		return nil, err
	}
	width := a.outputs * (x.cols + 1)
	return a, rows.EachOne(c.ctx, x.matrix(), func(part trees.Matrix, from int) error {
		return w.booster.Contributions(c.ctx, part, w.call, a.blocks[from*width:(from+part.Rows)*width])
	})
}

func (w *wrappedLGBMClassifier) explain(c *call, x *table) (*attribution, error) {
	a, err := w.wrappedLGBM.explain(c, x)
	if err != nil {
		return nil, err
	}
	a.Outputs = scored(w.labels, a.outputs)
	return a, nil
}
