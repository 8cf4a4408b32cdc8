// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package lightgbm

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// Booster is a loaded model. It is safe for concurrent use.
type Booster struct {
	// Features is the number of columns in training, Names their names.
	Features int
	Names    []string
	// Classes is the number of scores of a row.
	Classes int
	// Objective is the objective's name; "custom" when the file has none.
	Objective string

	objective    objective
	perIteration int
	average      bool
	forest       *trees.Forest[float64]
	linear       []linearTree // by tree; nil when no tree is linear
	leaves       sync.Pool    // of *[64]int32
	categorical  []int
	pandas       [][]any
}

// linearTree is the linear models in the leaves of one tree; a constant tree has none.
type linearTree struct {
	value, constant, coefficients []float64
	begin                         []int32 // where a leaf's coefficients and features start, and the end
	features                      []int32
}

// Parse reads a text model and compiles it. The error is an *engine.BadModel or *engine.Unsupported.
func Parse(data []byte, o engine.Options) (*Booster, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	b := &Booster{
		Features: d.features, Names: d.names, Classes: d.classes, perIteration: d.perIteration, average: d.average, pandas: d.pandas,
		categorical: d.categoricals(),
	}
	if b.objective, err = parseObjective(d.objective); err != nil {
		return nil, err
	}
	b.Objective = b.objective.name
	if d.classes > 4096 && d.classes > len(d.trees) {
		return nil, bad(0, "num_class is %d, and there are %d trees", d.classes, len(d.trees))
	}
	if len(d.trees)%d.perIteration != 0 {
		return nil, bad(0, "%d trees are no multiple of the %d trees of an iteration", len(d.trees), d.perIteration)
	}
	list := make([]trees.Tree, len(d.trees))
	for i := range d.trees {
		t := &d.trees[i]
		if list[i], err = t.tree(); err != nil {
			return nil, err
		}
		list[i].Output = i % d.perIteration
		if t.linear {
			if b.linear == nil {
				b.linear = make([]linearTree, len(d.trees))
			}
			if b.linear[i], err = t.linearTree(d.features); err != nil {
				return nil, err
			}
		}
	}
	for i := range b.linear {
		if t := &d.trees[i]; !t.linear {
			// A tree with plain leaves among linear ones: its linear models are constants.
			b.linear[i] = linearTree{value: t.value, constant: t.value, begin: make([]int32, t.leaves+1)}
		}
	}
	b.forest, err = trees.Compile[float64](list, trees.Options{
		Rule: trees.LessEqual, Features: d.features, Outputs: d.classes, Width: 1, Threads: o.Threads,
	})
	var e *trees.Error
	if errors.As(err, &e) {
		return nil, &engine.BadModel{Where: "trees", Reason: e.Error(), Cause: e}
	}
	return b, err
}

// categoricals are the features that were categorical in training, in order.
func (d *document) categoricals() []int {
	if len(d.categorical) > 0 {
		return d.categorical
	}
	var out []int
	for i, info := range d.infos {
		// A numeric feature's values are a range "[low:high]", a categorical one's a list "0:2:1".
		if info != "none" && info[0] != '[' && i < d.features {
			out = append(out, i)
		}
	}
	return out
}

// tree turns one tree of the file into the common form: the inner nodes in their order, the leaves behind them.
func (t *rawTree) tree() (trees.Tree, error) {
	inner := t.leaves - 1
	if t.leaves == 0 {
		return trees.Tree{}, bad(t.line, "the tree has no num_leaves")
	}
	for _, a := range []struct {
		name     string
		got      int
		want     int
		optional bool
	}{
		{"split_feature", len(t.feature), inner, false},
		{"threshold", len(t.threshold), inner, false},
		{"decision_type", len(t.decision), inner, true},
		{"left_child", len(t.left), inner, false},
		{"right_child", len(t.right), inner, false},
		{"leaf_value", len(t.value), t.leaves, false},
		{"leaf_count", len(t.leafCount), t.leaves, true},
		{"internal_count", len(t.count), inner, true},
	} {
		if a.got != a.want && (!a.optional || a.got != 0) {
			return trees.Tree{}, bad(t.line, "%s has %d entries, expected %d for %d leaves", a.name, a.got, a.want, t.leaves)
		}
	}
	n := inner + t.leaves
	out := trees.Tree{
		Left: make([]int32, n), Right: make([]int32, n), Feature: make([]int32, n), Threshold: make([]float64, n),
		DefaultLeft: make([]bool, n), Missing: make([]trees.Missing, n), Value: make([]float64, n), LeafID: make([]int32, n),
	}
	if len(t.leafCount) > 0 && len(t.count) == inner {
		out.Cover = append(append(make([]float64, 0, n), t.count...), t.leafCount...)
	}
	for i := range inner {
		if err := t.node(&out, i); err != nil {
			return out, err
		}
	}
	for i, v := range t.value {
		at := inner + i
		out.Left[at], out.Right[at], out.Value[at], out.LeafID[at] = -1, -1, v, int32(i)
	}
	return out, nil
}

// node sets one inner node.
func (t *rawTree) node(out *trees.Tree, i int) error {
	inner := int64(t.leaves - 1)
	for k, c := range [2]int64{t.left[i], t.right[i]} {
		if c < -int64(t.leaves) || c >= inner {
			return bad(t.line, "node %d has the child %d, the tree has %d nodes and %d leaves", i, c, inner, t.leaves)
		}
		if c < 0 {
			c = inner + ^c
		}
		if k == 0 {
			out.Left[i] = int32(c)
		} else {
			out.Right[i] = int32(c)
		}
	}
	if f := t.feature[i]; f < 0 || f > maxCount {
		return bad(t.line, "node %d splits on feature %d", i, f)
	}
	out.Feature[i], out.Threshold[i] = int32(t.feature[i]), t.threshold[i]
	if len(t.decision) == 0 {
		return nil
	}
	kind := t.decision[i]
	out.DefaultLeft[i] = kind&2 != 0
	switch kind >> 2 & 3 {
	case 0:
		out.Missing[i] = trees.MissingNone
	case 1:
		out.Missing[i] = trees.MissingZero
	case 2:
		out.Missing[i] = trees.MissingNaN
	default:
		return bad(t.line, "node %d has the decision_type %d", i, kind)
	}
	if kind&1 == 0 {
		return nil
	}
	// The threshold of a categorical node is the place of its set. NaN is in no set, and goes right.
	at := t.threshold[i]
	if !(at >= 0) || at != math.Trunc(at) || at+1 >= float64(len(t.catBounds)) {
		return bad(t.line, "node %d has the category set %v, the tree has %d", i, at, max(len(t.catBounds)-1, 0))
	}
	from, to := t.catBounds[int(at)], t.catBounds[int(at)+1]
	if from < 0 || to < from || to > int64(len(t.catWords)) {
		return bad(t.line, "category set %v is words %d to %d of %d", at, from, to, len(t.catWords))
	}
	words := make([]uint32, to-from)
	for k, w := range t.catWords[from:to] {
		if w < 0 || w > math.MaxUint32 {
			return bad(t.line, "cat_threshold has %d, expected a 32-bit word", w)
		}
		words[k] = uint32(w)
	}
	if out.Sets == nil {
		out.Sets = make([]trees.Set, len(out.Left))
	}
	out.Sets[i] = trees.Set{Words: words, Left: true}
	out.DefaultLeft[i] = false
	return nil
}

func (t *rawTree) linearTree(features int) (linearTree, error) {
	l := linearTree{value: t.value, constant: t.constant, coefficients: t.coefficients, begin: make([]int32, 1, t.leaves+1)}
	if len(t.constant) != t.leaves || len(t.linearCounts) != t.leaves {
		return l, bad(t.line, "leaf_const and num_features have %d and %d entries for %d leaves", len(t.constant), len(t.linearCounts), t.leaves)
	}
	end := int64(0)
	for _, n := range t.linearCounts {
		if n < 0 || n > maxCount || end+n > int64(len(t.linearInputs)) {
			return l, bad(t.line, "num_features asks for more than the %d entries of leaf_features", len(t.linearInputs))
		}
		end += n
		l.begin = append(l.begin, int32(end))
	}
	if end != int64(len(t.linearInputs)) || end != int64(len(t.coefficients)) {
		return l, bad(t.line, "leaf_features and leaf_coeff have %d and %d entries, expected %d", len(t.linearInputs), len(t.coefficients), end)
	}
	for _, f := range t.linearInputs {
		if f < 0 || f >= int64(features) {
			return l, bad(t.line, "leaf_features has the feature %d, the model has %d", f, features)
		}
		l.features = append(l.features, int32(f))
	}
	return l, nil
}

// Output is what a prediction gives.
type Output uint8

// The outputs.
const (
	Value Output = iota
	Raw
	Leaf
	Contributions
)

// Call says what to predict: the output, from Count iterations beginning with Start. Count 0 or less means all that follow.
type Call struct {
	Output       Output
	Start, Count int
}

// Iterations is the number of boosting iterations.
func (b *Booster) Iterations() int { return b.forest.Trees() / b.perIteration }

// span is the trees of a call, and its number of iterations.
func (b *Booster) span(c Call) (first, last, iterations int) {
	n := b.Iterations()
	start := min(max(c.Start, 0), n)
	count := n - start
	if c.Count > 0 {
		count = min(count, c.Count)
	}
	return start * b.perIteration, (start + count) * b.perIteration, count
}

// Shape is the shape of a call's result for a number of rows.
func (b *Booster) Shape(c Call, rows int) ([2]int64, int) {
	first, last, _ := b.span(c)
	switch {
	case c.Output == Leaf && last-first == 1:
		// The library gives one number a row as a vector, whatever it asked for.
		return [2]int64{int64(rows)}, 1
	case c.Output == Leaf:
		return [2]int64{int64(rows), int64(last - first)}, 2
	case c.Output == Contributions:
		return [2]int64{int64(rows), int64(b.Classes) * (int64(b.Features) + 1)}, 2
	case b.Classes == 1:
		return [2]int64{int64(rows)}, 1
	default:
		return [2]int64{int64(rows), int64(b.Classes)}, 2
	}
}

// Predict writes the values or raw scores of a call into out, Classes numbers a row.
func (b *Booster) Predict(m trees.Matrix, c Call, out []float64) {
	first, last, iterations := b.span(c)
	out = out[:m.Rows*b.Classes]
	clear(out)
	if b.linear != nil {
		b.addLinear(m, first, last, out)
	} else {
		b.forest.Sum(m, first, last, out)
	}
	if c.Output == Raw {
		return
	}
	if b.average && iterations > 0 {
		for i := range out {
			out[i] /= float64(iterations)
		}
	}
	b.objective.apply(out, b.Classes)
}

// Leaves writes the number of the leaf that each row reaches in each tree of a call.
func (b *Booster) Leaves(m trees.Matrix, c Call, out []int32) {
	first, last, _ := b.span(c)
	b.forest.Leaves(m, first, last, out)
}

// Contributions writes what each feature contributes to each raw score, Features + 1 numbers a class.
func (b *Booster) Contributions(ctx context.Context, m trees.Matrix, c Call, out []float64) error {
	if b.linear != nil {
		return protocol.Errorf(protocol.Unsupported, "pred_contrib: contributions of trees with linear leaves are not defined")
	}
	first, last, _ := b.span(c)
	clear(out)
	if err := b.forest.Contributions(m, first, last, out, ctx.Err); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return protocol.Errorf(protocol.Unsupported, "pred_contrib: %s", err)
	}
	return nil
}

// addLinear adds trees whose leaves are linear models.
func (b *Booster) addLinear(m trees.Matrix, first, last int, out []float64) {
	leaves, ok := b.leaves.Get().(*[64]int32)
	if !ok {
		leaves = new([64]int32)
	}
	defer b.leaves.Put(leaves)
	for r := range m.Rows {
		row := m.Part(r, r+1)
		for t := first; t < last; t += len(leaves) {
			n := min(len(leaves), last-t)
			b.forest.Leaves(row, t, t+n, leaves[:n])
			for i, leaf := range leaves[:n] {
				out[r*b.Classes+(t+i)%b.perIteration] += b.linear[t+i].at(leaf, &row)
			}
		}
	}
}

// at is what a linear leaf gives for a row: its plain value when one of its features is missing.
func (l *linearTree) at(leaf int32, row *trees.Matrix) float64 {
	v := l.constant[leaf]
	for i := l.begin[leaf]; i < l.begin[leaf+1]; i++ {
		var x float64
		if f := l.features[i]; row.F32 != nil {
			x = float64(row.F32[f])
		} else {
			x = row.F64[f]
		}
		if x != x {
			return l.value[leaf]
		}
		if math.Abs(x) <= trees.ZeroThreshold {
			x = 0
		}
		v += float64(l.coefficients[i] * x)
	}
	return v
}
