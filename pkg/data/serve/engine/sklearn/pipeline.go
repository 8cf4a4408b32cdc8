// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"slices"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

func addCompositions(r map[string]builder) {
	r["pipeline.Pipeline"] = buildPipeline
	r["compose.ColumnTransformer"] = buildColumnTransformer
}

// pipeline sends the rows through transformers and asks the last step.
type pipeline struct {
	fitted
	steps []estimator // without those that pass everything through
	// last is nil where the last step passes through.
	last estimator
}

func buildPipeline(a *attrs) (estimator, error) {
	a.plainOutput()
	items := a.items("steps")
	p := &pipeline{}
	for i, item := range items {
		step, ok := pickle.Items(item)
		name, isName := "", false
		if ok && len(step) == 2 {
			name, isName = pickle.Text(step[0])
		}
		if !isName {
			a.fail("steps", "step %d is %s, not a name and an estimator", i, pickle.Kind(item))
			break
		}
		var est estimator
		if text, isText := pickle.Text(step[1]); step[1] != nil && (!isText || text != "passthrough") {
			est = a.estimator(name, step[1])
		}
		if i == len(items)-1 {
			p.last = est
		} else if est != nil {
			if a.err == nil && !slices.Contains(est.methods(), transform) {
				a.fail("steps", "step %q does not transform, and it is not the last", name)
			}
			p.steps = append(p.steps, est)
		}
	}
	if a.err == nil && len(items) == 0 {
		a.fail("steps", "a pipeline without steps")
	}
	if a.err != nil {
		return nil, a.err
	}
	p.fitted = fitted{class: a.o.Class.Name}
	if all := append(slices.Clone(p.steps), p.last); all[0] != nil {
		p.fitted = *all[0].input()
	}
	return p, nil
}

func (p *pipeline) outputs() []*labels { return outputsOf(p.last) }

// outputsOf are the classes an estimator answers, nil for one that answers numbers.
func outputsOf(est estimator) []*labels {
	if d, ok := est.(interface{ outputs() []*labels }); ok {
		return d.outputs()
	}
	return nil
}

func (p *pipeline) methods() []string {
	if p.last == nil {
		return []string{transform}
	}
	return p.last.methods()
}

func (p *pipeline) run(c *call, method string, x *table) (*table, error) {
	for _, step := range p.steps {
		var err error
		if x, err = step.run(c, transform, x); err != nil {
			return nil, err
		}
	}
	if p.last == nil {
		return x, nil
	}
	return p.last.run(c, method, x)
}
