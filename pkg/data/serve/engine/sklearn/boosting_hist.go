// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// histBoosting is gradient boosting on histograms: trees of float64 comparisons with missing values and categories.
type histBoosting struct {
	fitted
	forest   *trees.Forest[float64]
	width    int // raw predictions of a row
	baseline []float64
	// known are the categories of the categorical features, by feature; what is not among them is missing.
	known [][]uint32
	// prepare encodes categories and moves their columns to the front; nil before 1.4 and where there are none.
	prepare *preparation
}

// categoryBits is how many categories a feature may have.
const categoryBits = 256

func (h *histBoosting) build(a *attrs) {
	h.fitted = a.fitted()
	h.width = a.count("n_trees_per_iteration_")
	rounds := a.items("_predictors")
	if a.err != nil {
		return
	}
	if h.width < 1 || h.n < 1 {
		a.fail("n_trees_per_iteration_", "%d outputs and %d features", h.width, h.n)
		return
	}
	var list []trees.Tree
	for i, round := range rounds {
		items, ok := pickle.Items(round)
		if !ok || len(items) != h.width {
			a.fail("_predictors", "iteration %d has no list of %d trees", i, h.width)
			return
		}
		for k, v := range items {
			list = append(list, a.histTree(fmt.Sprintf("_predictors[%d][%d]", i, k), v, k))
			if a.err != nil {
				return
			}
		}
	}
	h.readBaseline(a)
	h.readCategories(a)
	if a.has("_preprocessor") {
		h.prepare = a.preparation(h.n)
	}
	if a.err != nil {
		return
	}
	f, err := trees.Compile[float64](list, trees.Options{
		Rule: trees.LessEqual64, Features: h.n, Outputs: h.width, Width: 1, Threads: a.threads, MaxCategory: categoryBits,
	})
	if err != nil {
		a.fail("_predictors", "%v", err)
	}
	h.forest = f
}

func (h *histBoosting) readBaseline(a *attrs) {
	if v, ok := pickle.Float(a.value("_baseline_prediction")); ok {
		h.baseline = []float64{v}
	} else if arr := a.array("_baseline_prediction"); a.err == nil {
		var err error
		if h.baseline, err = arr.Float64s(); err != nil {
			a.fail("_baseline_prediction", "%v", err)
		}
	}
	if a.err == nil && len(h.baseline) != h.width {
		a.fail("_baseline_prediction", "expected %d numbers, got %d", h.width, len(h.baseline))
	}
}

// readCategories reads which categories of the categorical features training saw.
func (h *histBoosting) readCategories(a *attrs) {
	if a.err != nil || !a.has("is_categorical_") {
		return
	}
	m := a.inner("_bin_mapper")
	flags := m.vector("is_categorical_")
	lists := m.items("bin_thresholds_")
	if m.err == nil && (len(flags) != h.n || len(lists) != h.n) {
		m.fail("is_categorical_", "expected %d features, got %d and %d", h.n, len(flags), len(lists))
	}
	if m.err != nil {
		a.err = m.err
		return
	}
	h.known = make([][]uint32, h.n)
	for f := 0; m.err == nil && f < h.n; f++ {
		if flags[f] == 0 {
			continue
		}
		h.known[f] = make([]uint32, categoryBits/32)
		for _, v := range m.toVector("bin_thresholds_", m.asArray("bin_thresholds_", lists[f])) {
			if v >= 0 && v < categoryBits {
				h.known[f][int(v)/32] |= 1 << (int(v) % 32)
			}
		}
	}
	a.err = m.err
}

// histTree reads one TreePredictor.
func (a *attrs) histTree(name string, v any, output int) trees.Tree {
	o, ok := v.(*pickle.Object)
	if !ok {
		a.fail(name, "expected a tree, got %s", pickle.Kind(v))
		return trees.Tree{}
	}
	i := newAttrs(a.loader, o, a.path+"."+name)
	nodes := i.array("nodes")
	column := func(names ...string) []float64 {
		for _, n := range names {
			f, err := nodes.Field(n)
			if err != nil {
				continue
			}
			v, err := f.Float64s()
			if err != nil {
				i.fail("nodes."+n, "%v", err)
			}
			return v
		}
		i.fail("nodes", "there is no column %s", names[0])
		return nil
	}
	left, right, feature, leaf := column("left"), column("right"), column("feature_idx"), column("is_leaf")
	t := trees.Tree{Threshold: column("num_threshold", "threshold"), Value: column("value"), Output: output}
	if _, err := nodes.Field("count"); err == nil {
		t.Cover = column("count")
	}
	missing := column("missing_go_to_left")
	if a.err = i.err; a.err != nil {
		return t
	}
	n := len(leaf)
	t.Left, t.Right, t.Feature, t.DefaultLeft = make([]int32, n), make([]int32, n), make([]int32, n), make([]bool, n)
	for k := range n {
		t.Left[k], t.Right[k] = -1, -1
		if leaf[k] == 0 {
			// Links are unsigned in the file, so that what is too large is no node.
			t.Left[k], t.Right[k], t.Feature[k] = int32(min(left[k], math.MaxInt32)), int32(min(right[k], math.MaxInt32)), int32(min(feature[k], math.MaxInt32))
		}
		t.DefaultLeft[k] = missing[k] != 0
	}
	if _, err := nodes.Field("is_categorical"); err == nil {
		i.histSets(&t, column("is_categorical"), column("bitset_idx"), leaf)
		a.err = i.err
	}
	return t
}

// histSets reads the sets of the categorical nodes, rows of eight words.
func (a *attrs) histSets(t *trees.Tree, categorical, row, leaf []float64) {
	var bits matrix
	for k := range categorical {
		if categorical[k] == 0 || leaf[k] != 0 || a.err != nil {
			continue
		}
		if t.Sets == nil {
			t.Sets = make([]trees.Set, len(categorical))
			bits = a.matrixOf("raw_left_cat_bitsets", -1, categoryBits/32)
		}
		if a.err == nil && row[k] >= float64(bits.rows) {
			a.fail("nodes", "node %d has the category set %v of %d", k, row[k], bits.rows)
		}
		if a.err != nil {
			return
		}
		words := make([]uint32, categoryBits/32)
		for w, v := range bits.row(int(row[k])) {
			words[w] = uint32(v)
		}
		t.Sets[k] = trees.Set{Words: words, Left: true}
	}
}

// raw are the raw predictions: the baseline, and the trees in their order.
func (h *histBoosting) raw(c *call, x *table) (*table, error) {
	if err := h.checkShape(x); err != nil {
		return nil, err
	}
	var err error
	if h.prepare != nil {
		x, err = h.prepare.run(c, x)
	} else {
		x, err = h.check(c, x, allowAll)
	}
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, h.width, float64s)
	for i := 0; i < len(y.num); i += h.width {
		copy(y.num[i:], h.baseline)
	}
	h.forest.Sum(h.onlyKnown(c, x).matrix(), 0, h.forest.Trees(), y.num)
	return y, nil
}

// onlyKnown makes missing values of the categories that training did not see. The library looks at the lowest byte of a code.
func (h *histBoosting) onlyKnown(c *call, x *table) *table {
	if h.known == nil {
		return x
	}
	y := c.numbers(x.rows, x.cols, float64s)
	copy(y.num, x.num)
	for f, words := range h.known {
		if words == nil {
			continue
		}
		for i := f; i < len(y.num); i += y.cols {
			v := y.num[i]
			if !(v >= 0) || v >= math.MaxInt32 {
				y.num[i] = nan
				continue
			}
			code := int(v) % categoryBits
			y.num[i] = float64(code)
			if words[code/32]>>(code%32)&1 == 0 {
				y.num[i] = nan
			}
		}
	}
	return y
}

type histRegressor struct {
	histBoosting
	exponential bool
}

func buildHistRegressor(a *attrs) (estimator, error) {
	h := &histRegressor{}
	h.build(a)
	if a.err == nil && h.width != 1 {
		a.fail("n_trees_per_iteration_", "a regressor with %d outputs", h.width)
	}
	switch loss := a.textOr("loss", "squared_error"); loss {
	case "squared_error", "least_squares", "absolute_error", "least_absolute_deviation", "quantile":
	case "poisson", "gamma":
		h.exponential = true
	default:
		a.unsupported("the loss %q", loss)
	}
	return h, a.err
}

func (h *histRegressor) methods() []string { return []string{predict} }

func (h *histRegressor) run(c *call, _ string, x *table) (*table, error) {
	y, err := h.raw(c, x)
	if err != nil {
		return nil, err
	}
	if h.exponential {
		for i, v := range y.num {
			y.num[i] = math.Exp(v)
		}
	}
	y.vector = true
	return y, nil
}

type histClassifier struct {
	histBoosting
	labels *labels
}

func buildHistClassifier(a *attrs) (estimator, error) {
	h := &histClassifier{}
	h.build(a)
	h.labels = a.classes("classes_")
	if n := h.labels.len(); a.err == nil && n != h.width && (n != 2 || h.width != 1) {
		a.fail("classes_", "there are %d classes for %d outputs", n, h.width)
	}
	return h, a.err
}

func (h *histClassifier) outputs() []*labels { return []*labels{h.labels} }

func (h *histClassifier) methods() []string {
	return []string{predict, predictProba, predictLogProba, decision}
}

func (h *histClassifier) run(c *call, method string, x *table) (*table, error) {
	raw, err := h.raw(c, x)
	if err != nil {
		return nil, err
	}
	switch method {
	case decision:
		raw.vector = h.width == 1
		return raw, nil
	case predict:
		return chooseByScore(c, raw, h.labels), nil
	}
	y := c.numbers(raw.rows, h.labels.len(), float64s)
	if h.width == 1 {
		for i, v := range raw.num {
			p := expit(v)
			y.num[2*i], y.num[2*i+1] = 1-p, p
		}
	} else {
		copy(y.num, raw.num)
		for i := range y.rows {
			softmax(y.row(i))
		}
	}
	if method == predictLogProba {
		logs(y)
	}
	return y, nil
}
