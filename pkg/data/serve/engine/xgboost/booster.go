// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"errors"
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// Booster is a loaded model. It is safe for concurrent use.
type Booster struct {
	// Features is the number of columns in training.
	Features int
	// Names and Types are the columns' names and types, if the file has them.
	Names, Types []string
	// Groups is the number of margins of a row.
	Groups int
	// Objective is the objective's name, Kind the booster's: gbtree, dart or gblinear.
	Objective, Kind string
	// Attributes are what was stored beside the model, best_iteration among them.
	Attributes map[string]string

	link       link
	base       []float32 // the margin that a row starts from, by group
	forest     *trees.Forest[float32]
	rounds     []int     // where each iteration's trees start, and the end
	weights    []float32 // of gblinear: by feature and group, the bias last
	categories []category
	intLeaves  bool // pred_leaf was of integers before 1.4
}

// Parse reads a model in any of XGBoost's notations and compiles it. The error is an *engine.BadModel or *engine.Unsupported.
func Parse(data []byte, o engine.Options) (*Booster, error) {
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	l, ok := linkOf(d.objective)
	if !ok {
		return nil, &engine.Unsupported{Class: "XGBoost objective " + quoted(d.objective), Reason: "no release has an objective of this name"}
	}
	b := &Booster{
		Features: d.features, Names: d.names, Types: d.types, Groups: max(1, d.classes, d.targets),
		Objective: d.objective, Kind: d.booster, Attributes: d.attributes, link: l, categories: d.categories,
		intLeaves: d.version[0] == 0 || d.version[0] == 1 && d.version[1] < 4,
	}
	if b.Groups > 4096 && b.Groups > len(d.trees)+len(d.weights) {
		return nil, bad("num_class", "%d outputs, and %d trees", b.Groups, len(d.trees))
	}
	if len(d.names) != 0 && len(d.names) != d.features {
		return nil, bad("feature_names", "there are %d names for %d features", len(d.names), d.features)
	}
	if err := b.setBase(d); err != nil {
		return nil, err
	}
	switch d.booster {
	case "gbtree", "dart":
		return b, b.setTrees(d, o)
	case "gblinear":
		if want := (d.features + 1) * b.Groups; len(d.weights) != want {
			return nil, bad("weights", "there are %d weights, expected %d for %d features and %d outputs", len(d.weights), want, d.features, b.Groups)
		}
		b.weights = d.weights
		return b, nil
	default:
		return nil, &engine.Unsupported{Class: "XGBoost booster " + quoted(d.booster), Reason: "expected gbtree, dart or gblinear"}
	}
}

func quoted(s string) string { return fmt.Sprintf("%.40q", s) }

func (b *Booster) setBase(d *document) error {
	if len(d.baseScore) == 0 {
		d.baseScore = []float32{0.5}
	}
	if len(d.baseScore) != 1 && len(d.baseScore) != b.Groups {
		return bad("base_score", "there are %d values for %d outputs", len(d.baseScore), b.Groups)
	}
	b.base = make([]float32, b.Groups)
	toMargin := b.link
	if d.objective == "binary:logitraw" && d.version[0] < 2 {
		// Until 2.0 its base score was a probability, though its predictions never were.
		toMargin = logistic
	}
	for i := range b.base {
		b.base[i] = d.baseScore[i%len(d.baseScore)]
		if !d.scoreIsFinal {
			b.base[i] = toMargin.margin(b.base[i])
		}
		if v := float64(b.base[i]); math.IsNaN(v) {
			return bad("base_score", "%v is no base score for the objective %s", d.baseScore[i%len(d.baseScore)], d.objective)
		}
	}
	return nil
}

func (b *Booster) setTrees(d *document, o engine.Options) error {
	if len(d.treeInfo) != len(d.trees) {
		return bad("tree_info", "there are %d entries for %d trees", len(d.treeInfo), len(d.trees))
	}
	if d.booster == "dart" && len(d.dropped) != len(d.trees) {
		return bad("weight_drop", "there are %d weights for %d trees", len(d.dropped), len(d.trees))
	}
	width := 1
	raw := make([]trees.Tree, len(d.trees))
	for i := range d.trees {
		if w := d.trees[i].leafWidth; w > 1 {
			width = w
		}
	}
	if width > 1 && width != b.Groups {
		return bad("size_leaf_vector", "leaves have %d values for %d outputs", width, b.Groups)
	}
	for i := range d.trees {
		weight := float32(1)
		if d.booster == "dart" {
			weight = d.dropped[i]
		}
		where := fmt.Sprintf("tree %d", i)
		t, err := d.trees[i].tree(where, width, weight)
		if err != nil {
			return err
		}
		if width == 1 {
			if g := d.treeInfo[i]; g < 0 || g >= int64(b.Groups) {
				return bad("tree_info", "tree %d is of group %d, there are %d", i, g, b.Groups)
			}
			t.Output = int(d.treeInfo[i])
		}
		raw[i] = t
		d.trees[i] = rawTree{}
	}
	forest, err := trees.Compile[float32](raw, trees.Options{
		Rule: trees.Less, Features: b.Features, Outputs: b.Groups, Width: width, Threads: o.Threads, MaxCategory: 1 << 24,
	})
	if err != nil {
		var e *trees.Error
		if errors.As(err, &e) {
			return &engine.BadModel{Where: "trees", Reason: e.Error(), Cause: e}
		}
		return err
	}
	b.forest = forest
	return b.setRounds(d, width)
}

// setRounds finds which trees each boosting iteration added.
func (b *Booster) setRounds(d *document, width int) error {
	n := len(d.trees)
	if len(d.indptr) == 0 {
		step := max(d.parallel, 1)
		if width == 1 {
			step *= b.Groups
		}
		for at := 0; at < n; at += step {
			b.rounds = append(b.rounds, at)
		}
		b.rounds = append(b.rounds, n)
		return nil
	}
	last := int64(0)
	for i, v := range d.indptr {
		if v < last || v > int64(n) || i == 0 && v != 0 {
			return bad("iteration_indptr", "entry %d is %d after %d, there are %d trees", i, v, last, n)
		}
		last = v
		b.rounds = append(b.rounds, int(v))
	}
	if last != int64(n) {
		return bad("iteration_indptr", "it ends at tree %d of %d", last, n)
	}
	return nil
}

// tree turns one tree of the file into the common form: width values a leaf, each times weight.
func (t *rawTree) tree(where string, width int, weight float32) (trees.Tree, error) {
	n := len(t.left)
	if t.declared && t.nodes != n {
		return trees.Tree{}, bad(where, "num_nodes is %d, left_children has %d entries", t.nodes, n)
	}
	for _, a := range []struct {
		name     string
		length   int
		optional bool
	}{
		{"right_children", len(t.right), false},
		{"split_indices", len(t.feature), false},
		{"split_conditions", len(t.condition), false},
		{"default_left", len(t.defaultLeft), false},
		{"split_type", len(t.kinds), true},
		{"sum_hessian", len(t.hessian), true},
	} {
		if a.length != n && (!a.optional || a.length != 0) {
			return trees.Tree{}, bad(where, "%s has %d entries, left_children has %d", a.name, a.length, n)
		}
	}
	out := trees.Tree{
		Left: make([]int32, n), Right: make([]int32, n), Feature: make([]int32, n),
		Threshold: make([]float64, n), DefaultLeft: make([]bool, n), Value: make([]float64, n*width),
	}
	for i := range n {
		for _, v := range [3]int64{t.left[i], t.right[i], t.feature[i]} {
			if v < math.MinInt32 || v > math.MaxInt32 {
				return out, bad(where, "node %d has the link %d, the tree has %d nodes", i, v, n)
			}
		}
		out.Left[i], out.Right[i], out.Feature[i] = int32(t.left[i]), int32(t.right[i]), int32(t.feature[i])
		out.Threshold[i], out.DefaultLeft[i] = float64(t.condition[i]), t.defaultLeft[i] != 0
	}
	if len(t.hessian) > 0 {
		out.Cover = make([]float64, n)
		for i, v := range t.hessian {
			out.Cover[i] = float64(v)
		}
	}
	if err := t.values(&out, where, width, weight); err != nil {
		return out, err
	}
	return out, t.sets(&out, where)
}

func (t *rawTree) values(out *trees.Tree, where string, width int, weight float32) error {
	n := len(t.left)
	if width == 1 {
		for i, v := range t.condition {
			if t.left[i] >= 0 {
				// An inner node's own weight counts only for the mean that contributions start from.
				v = 0
			}
			out.Value[i] = float64(v * weight)
		}
		return nil
	}
	if len(t.leafWeights) > 0 {
		return t.mappedLeaves(out, where, width)
	}
	if len(t.weights) != n*width {
		return bad(where, "base_weights has %d entries, expected %d for %d nodes and %d outputs", len(t.weights), n*width, n, width)
	}
	for i, v := range t.weights {
		out.Value[i] = float64(v * weight)
	}
	return nil
}

// sets reads the categories of the categorical nodes.
func (t *rawTree) sets(out *trees.Tree, where string) error {
	if len(t.catBegin) != len(t.catNodes) || len(t.catLen) != len(t.catNodes) {
		return bad(where, "categories_nodes, categories_segments and categories_sizes have %d, %d and %d entries",
			len(t.catNodes), len(t.catBegin), len(t.catLen))
	}
	for i, node := range t.catNodes {
		from, length := t.catBegin[i], t.catLen[i]
		if node < 0 || node >= int64(len(t.left)) || from < 0 || length < 0 || from > int64(len(t.cats)) || length > int64(len(t.cats))-from {
			return bad(where, "the categories of node %d are entries %d to %d of %d", node, from, from+length, len(t.cats))
		}
		codes := make([]uint32, 0, length)
		for _, c := range t.cats[from : from+length] {
			if c < 0 || c >= 1<<24 {
				return bad(where, "node %d has the category %d, expected 0 to %d", node, c, 1<<24-1)
			}
			codes = append(codes, uint32(c))
		}
		if out.Sets == nil {
			out.Sets = make([]trees.Set, len(t.left))
		}
		out.Sets[node] = trees.NewSet(codes, false)
	}
	for i, k := range t.kinds {
		if k == 1 && t.left[i] >= 0 && (out.Sets == nil || !out.Sets[i].Categorical()) {
			return bad(where, "node %d is categorical and has no categories", i)
		}
		if k != 1 && out.Sets != nil {
			out.Sets[i] = trees.Set{}
		}
	}
	return nil
}

// mappedLeaves reads the leaf vectors of the newest files, where a leaf's right child is its place among the leaves.
func (t *rawTree) mappedLeaves(out *trees.Tree, where string, width int) error {
	leaves := int64(len(t.leafWeights) / width)
	if int(leaves)*width != len(t.leafWeights) {
		return bad(where, "leaf_weights has %d entries, expected a multiple of %d", len(t.leafWeights), width)
	}
	for i, left := range t.left {
		if left >= 0 {
			continue
		}
		at := t.right[i]
		if at < 0 || at >= leaves {
			return bad(where, "leaf %d has the place %d of %d", i, at, leaves)
		}
		for k := range width {
			out.Value[i*width+k] = float64(t.leafWeights[int(at)*width+k])
		}
	}
	return nil
}
