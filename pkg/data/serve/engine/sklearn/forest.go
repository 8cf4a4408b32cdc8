// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// members reads the trees of an ensemble, which all have the shape of the first.
func (a *attrs) members(name string) []*fittedTree {
	items := a.items(name)
	if a.err == nil && len(items) == 0 {
		a.fail(name, "the ensemble has no trees")
	}
	out := make([]*fittedTree, 0, len(items))
	for i, item := range items {
		if a.err != nil {
			return nil
		}
		out = append(out, a.member(fmt.Sprintf("%s[%d]", name, i), item))
		if a.err == nil && !sameShape(out[0], out[i]) {
			a.fail(name, "tree %d has other features, outputs or classes than tree 0", i)
		}
	}
	return out
}

// member reads the tree_ of one estimator in an ensemble.
func (a *attrs) member(name string, v any) *fittedTree {
	o, ok := v.(*pickle.Object)
	if !ok {
		a.fail(name, "expected a tree, got %s", pickle.Kind(v))
		return &fittedTree{}
	}
	i := newAttrs(a.loader, o, a.path+"."+name)
	if i.version == (version{}) {
		i.version = a.version
	}
	t := i.fittedTree()
	a.err = i.err
	return t
}

func sameShape(a, b *fittedTree) bool {
	if a.features != b.features || len(a.classes) != len(b.classes) {
		return false
	}
	for i, n := range a.classes {
		if b.classes[i] != n {
			return false
		}
	}
	return true
}

// forestClassifier averages the shares of its trees.
type forestClassifier struct {
	fitted
	classOutputs
	finite finite
	forest *trees.Forest[float64]
}

func buildForestClassifier(a *attrs) (estimator, error) {
	f := &forestClassifier{fitted: a.fitted()}
	members := a.members("estimators_")
	if a.err != nil {
		return nil, a.err
	}
	f.read(a, members[0])
	a.columns(&f.fitted, members[0].features, "estimators_")
	f.finite = takesNaN(a, members[0], version{1, 4})
	list := make([]trees.Tree, len(members))
	for i, m := range members {
		m.shares()
		list[i] = m.tree
		members[i] = nil
	}
	f.forest = forestOf(a, list, trees.Options{Features: f.n, Outputs: f.width, Width: f.width})
	return f, a.err
}

func (f *forestClassifier) methods() []string {
	return []string{predict, predictProba, predictLogProba}
}

func (f *forestClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := f.checkSingle(c, x, f.finite)
	if err != nil {
		return nil, err
	}
	shares := c.zeros(x.rows * f.width)
	n := f.forest.Trees()
	f.forest.Sum(x.matrix(), 0, n, shares)
	for i := range shares {
		shares[i] /= float64(n)
	}
	if method == predict {
		return f.choose(c, x.rows, shares), nil
	}
	return f.probabilities(c, x.rows, shares, method == predictLogProba), nil
}

func buildForestRegressor(a *attrs) (estimator, error) {
	f := &treeRegressor{fitted: a.fitted()}
	members := a.members("estimators_")
	if a.err != nil {
		return nil, a.err
	}
	a.columns(&f.fitted, members[0].features, "estimators_")
	f.finite = takesNaN(a, members[0], version{1, 4})
	f.outputs = len(members[0].classes)
	list := make([]trees.Tree, len(members))
	for i, m := range members {
		m.means()
		list[i] = m.tree
		members[i] = nil
	}
	f.forest = forestOf(a, list, trees.Options{Features: f.n, Outputs: f.outputs, Width: f.outputs})
	return f, a.err
}
