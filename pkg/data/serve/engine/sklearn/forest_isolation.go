// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// isolationForest tells outliers by how soon its trees isolate a row.
type isolationForest struct {
	fitted
	forest *trees.Forest[float64]
	// scale is the depth that counts as one: of all trees together.
	scale             float64
	offset, threshold float64
	labels            *labels
}

func buildIsolationForest(a *attrs) (estimator, error) {
	f := &isolationForest{fitted: a.fitted(), labels: &labels{typ: int64Type, ints: []int64{-1, 1}}}
	members := a.members("estimators_")
	features := a.featureLists("estimators_features_", len(members), f.n)
	f.offset = a.number("offset_")
	if a.textOr("behaviour", "new") == "old" && a.has("_threshold_") {
		f.threshold = a.number("_threshold_")
	}
	samples := a.count("max_samples_")
	if a.err != nil {
		return nil, a.err
	}
	list := make([]trees.Tree, len(members))
	for i, m := range members {
		if len(m.samples) != len(m.tree.Left) {
			a.fail("estimators_", "tree %d has %d nodes and %d numbers of samples", i, len(m.tree.Left), len(m.samples))
			return nil, a.err
		}
		m.isolations(a.version.atLeast(0, 21))
		list[i] = a.remap(m.tree, features[i])
	}
	f.scale = float64(len(list)) * pathLength(float64(samples), a.version.atLeast(0, 21))
	f.forest = forestOf(a, list, trees.Options{Features: f.n, Outputs: 1, Width: 1})
	return f, a.err
}

// featureLists reads which columns each member of an ensemble was fitted with.
func (a *attrs) featureLists(name string, members, columns int) [][]int64 {
	items := a.items(name)
	if a.err == nil && len(items) != members {
		a.fail(name, "expected %d lists, got %d", members, len(items))
	}
	out := make([][]int64, 0, members)
	for i := 0; a.err == nil && i < len(items); i++ {
		v, err := a.asArray(name, items[i]).Int64s()
		if err != nil {
			a.fail(name, "%v", err)
		}
		for _, column := range v {
			if column < 0 || column >= int64(columns) {
				a.fail(name, "list %d has the column %d of %d", i, column, columns)
			}
		}
		out = append(out, v)
	}
	return out
}

// remap makes a tree that was fitted with some of the columns one of all columns.
func (a *attrs) remap(t trees.Tree, features []int64) trees.Tree {
	for i, f := range t.Feature {
		if t.Left[i] < 0 {
			continue
		}
		if f < 0 || int(f) >= len(features) {
			a.fail("estimators_features_", "a tree splits on column %d of %d", f, len(features))
			return t
		}
		t.Feature[i] = int32(features[f])
	}
	return t
}

// isolations sets the value of each leaf to the depth that it stands for: its own, and what is left to split on average.
func (t *fittedTree) isolations(modern bool) {
	n := len(t.tree.Left)
	t.tree.Value = make([]float64, n)
	depth := make([]float64, n)
	if n > 0 {
		depth[0] = 1
	}
	// Children come after their parents in every tree that the library grows; Compile refuses what is no tree at all.
	for i := range n {
		for _, c := range [2]int32{t.tree.Left[i], t.tree.Right[i]} {
			if c > int32(i) && int(c) < n {
				depth[c] = depth[i] + 1
			}
		}
		t.tree.Value[i] = depth[i] + pathLength(t.samples[i], modern) - 1
	}
}

// pathLength is the average depth of a random tree of n samples.
func pathLength(n float64, modern bool) float64 {
	const gamma = 0.577215664901532860606512090082402431
	switch {
	case n <= 1:
		if modern {
			return 0
		}
		return 1
	case n <= 2 && modern:
		return 1
	default:
		return 2*(math.Log(n-1)+gamma) - 2*(n-1)/n
	}
}

func (f *isolationForest) outputs() []*labels { return []*labels{f.labels} }

func (f *isolationForest) methods() []string { return []string{predict, decision, scoreSamples} }

func (f *isolationForest) run(c *call, method string, x *table) (*table, error) {
	x, err := f.checkSingle(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	y := c.column1(x.rows, float64s)
	clear(y.num)
	f.forest.Sum(x.matrix(), 0, f.forest.Trees(), y.num)
	for i, depth := range y.num {
		share := 1.0
		if f.scale != 0 {
			share = depth / f.scale
		}
		y.num[i] = -math.Exp2(-share)
		if method != scoreSamples {
			y.num[i] -= f.offset
		}
	}
	if method != predict {
		return y, nil
	}
	z := c.classes(x.rows, f.labels)
	for i, v := range y.num {
		z.index[i] = 1
		if v < f.threshold {
			z.index[i] = 0
		}
	}
	return z, nil
}

// embedding marks the leaf that a row reaches in each tree.
type embedding struct {
	fitted
	forest *trees.Forest[float64]
	// place is the column that a leaf has in the answer, by tree and node; -1 is none.
	place [][]int32
	width int
}

func buildEmbedding(a *attrs) (estimator, error) {
	e := &embedding{fitted: a.fitted()}
	members := a.members("estimators_")
	if a.err != nil {
		return nil, a.err
	}
	a.columns(&e.fitted, members[0].features, "estimators_")
	encoder := a.inner("one_hot_encoder_")
	lists := encoder.items("categories_")
	if encoder.err == nil && len(lists) != len(members) {
		encoder.fail("categories_", "expected %d lists, got %d", len(members), len(lists))
	}
	list := make([]trees.Tree, len(members))
	for i := 0; encoder.err == nil && i < len(members); i++ {
		place := make([]int32, len(members[i].tree.Left))
		for k := range place {
			place[k] = -1
		}
		for _, leaf := range encoder.toVector("categories_", encoder.asArray("categories_", lists[i])) {
			if leaf < 0 || leaf >= float64(len(place)) {
				encoder.fail("categories_", "list %d has leaf %v of %d nodes", i, leaf, len(place))
				break
			}
			place[int(leaf)] = int32(e.width)
			e.width++
		}
		e.place = append(e.place, place)
		members[i].means()
		list[i] = members[i].tree
	}
	if a.err == nil {
		a.err = encoder.err
	}
	a.plainOutput()
	if outputs := len(members[0].classes); a.err == nil {
		e.forest = forestOf(a, list, trees.Options{Features: e.n, Outputs: outputs, Width: outputs})
	}
	return e, a.err
}

func (e *embedding) methods() []string { return []string{transform} }

func (e *embedding) columnNames([]string) []string {
	out := make([]string, e.width)
	for i := range out {
		out[i] = fmt.Sprintf("randomtreesembedding_%d", i)
	}
	return out
}

func (e *embedding) run(c *call, _ string, x *table) (*table, error) {
	x, err := e.checkSingle(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	n := e.forest.Trees()
	leaves := c.indexes(x.rows * n)
	e.forest.Leaves(x.matrix(), 0, n, leaves)
	y := c.numbers(x.rows, e.width, float64s)
	clear(y.num)
	for i := range x.rows {
		row := y.row(i)
		for t, leaf := range leaves[i*n : (i+1)*n] {
			if at := e.place[t][leaf]; at >= 0 {
				row[at] = 1
			}
		}
	}
	return y, nil
}
