// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"errors"
	"fmt"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// addTrees registers decision trees, forests and gradient boosting.
func addTrees(r map[string]builder) {
	addWrapped(r)
	for _, class := range []string{"DecisionTree", "ExtraTree"} {
		r["tree."+class+"Classifier"] = buildTreeClassifier
		r["tree."+class+"Regressor"] = buildTreeRegressor
	}
	for _, class := range []string{"RandomForest", "ExtraTrees"} {
		r["ensemble."+class+"Classifier"] = buildForestClassifier
		r["ensemble."+class+"Regressor"] = buildForestRegressor
	}
	r["ensemble.GradientBoostingClassifier"] = buildBoostingClassifier
	r["ensemble.GradientBoostingRegressor"] = buildBoostingRegressor
	r["ensemble.HistGradientBoostingClassifier"] = buildHistClassifier
	r["ensemble.HistGradientBoostingRegressor"] = buildHistRegressor
	r["preprocessing.OrdinalEncoder"] = buildOrdinal
	r["ensemble.AdaBoostClassifier"] = buildAdaClassifier
	r["ensemble.AdaBoostRegressor"] = buildAdaRegressor
	r["ensemble.BaggingClassifier"] = buildBaggingClassifier
	r["ensemble.BaggingRegressor"] = buildBaggingRegressor
	r["ensemble.IsolationForest"] = buildIsolationForest
	r["ensemble.RandomTreesEmbedding"] = buildEmbedding
}

// fittedTree is the tree_ of one estimator.
type fittedTree struct {
	tree     trees.Tree
	features int
	classes  []int // by output; ones for a regressor
	// values are what the nodes hold: for each node and output as many numbers as the output with most classes has.
	values    []float64
	perOutput int
	samples   []float64 // n_node_samples
	weights   []float64 // weighted_n_node_samples
	// missing says that the tree knows where missing values go.
	missing bool
	// counts says that the values of a classifier are weights of samples, as before 1.4, and not shares.
	counts bool
}

// fittedTree reads tree_ of an estimator.
func (a *attrs) fittedTree() *fittedTree {
	i := a.inner("tree_")
	if i.err != nil {
		a.err = i.err
		return &fittedTree{}
	}
	t := &fittedTree{counts: !i.version.atLeast(1, 4)}
	t.arguments(i)
	t.nodes(i)
	t.read(i)
	a.err = i.err
	return t
}

// arguments reads what the tree was made with: the numbers of features, of classes by output, and of outputs.
func (t *fittedTree) arguments(a *attrs) {
	if len(a.o.Args) != 3 {
		a.fail("__init__", "expected 3 arguments, got %d", len(a.o.Args))
		return
	}
	features, ok1 := pickle.Int(a.o.Args[0])
	outputs, ok2 := pickle.Int(a.o.Args[2])
	if !ok1 || !ok2 || features < 1 || features > 1<<24 || outputs < 1 || outputs > 1<<20 {
		a.fail("__init__", "expected the numbers of features and of outputs, got %s and %s", pickle.Kind(a.o.Args[0]), pickle.Kind(a.o.Args[2]))
		return
	}
	t.features = int(features)
	classes, err := a.asArray("n_classes", a.o.Args[1]).Int64s()
	if err != nil || int64(len(classes)) != outputs {
		a.fail("n_classes", "expected %d numbers, got %d", outputs, len(classes))
		return
	}
	for _, n := range classes {
		if n < 1 || n > 1<<24 {
			a.fail("n_classes", "expected numbers of classes, got %d", n)
			return
		}
		t.classes = append(t.classes, int(n))
	}
}

// nodes reads the columns of the array of nodes: 56 bytes a node, or 64 with the side of missing values.
func (t *fittedTree) nodes(a *attrs) {
	arr := a.array("nodes")
	column := func(name string) *pickle.Array {
		f, err := arr.Field(name)
		if err != nil {
			a.fail("nodes", "%v", err)
			return &pickle.Array{DType: &pickle.DType{Kind: 'f', Size: 8}, Shape: []int{0}}
		}
		return f
	}
	links := func(name string) []int32 {
		v, err := column(name).Int64s()
		if err != nil {
			a.fail("nodes."+name, "%v", err)
		}
		out := make([]int32, len(v))
		for i, x := range v {
			if x < math.MinInt32 || x > math.MaxInt32 {
				a.fail("nodes."+name, "node %d has %d", i, x)
				x = -1
			}
			out[i] = int32(x)
		}
		return out
	}
	numbers := func(name string) []float64 {
		v, err := column(name).Float64s()
		if err != nil {
			a.fail("nodes."+name, "%v", err)
		}
		return v
	}
	t.tree = trees.Tree{Left: links("left_child"), Right: links("right_child"), Feature: links("feature"), Threshold: numbers("threshold")}
	t.samples = numbers("n_node_samples")
	if _, err := arr.Field("weighted_n_node_samples"); err == nil {
		t.weights = numbers("weighted_n_node_samples")
	}
	if a.err != nil || len(arr.DType.Fields) < 8 {
		return
	}
	t.missing = true
	left := numbers("missing_go_to_left")
	t.tree.DefaultLeft = make([]bool, len(left))
	for i, v := range left {
		t.tree.DefaultLeft[i] = v != 0
	}
}

func (t *fittedTree) read(a *attrs) {
	arr := a.array("values")
	if a.err != nil {
		return
	}
	if len(arr.Shape) != 3 || arr.Shape[0] != len(t.tree.Left) || arr.Shape[1] != len(t.classes) || arr.Shape[2] < 1 {
		a.fail("values", "expected shape [%d %d any], got %v", len(t.tree.Left), len(t.classes), arr.Shape)
		return
	}
	t.perOutput = arr.Shape[2]
	for _, n := range t.classes {
		if n > t.perOutput {
			a.fail("values", "there are %d numbers for %d classes", t.perOutput, n)
			return
		}
	}
	var err error
	if t.values, err = arr.Float64s(); err != nil {
		a.fail("values", "%v", err)
	}
}

// at is what a node holds for an output.
func (t *fittedTree) at(node, output int) []float64 {
	from := (node*len(t.classes) + output) * t.perOutput
	return t.values[from : from+t.classes[output]]
}

// shares sets the tree's values to the shares of the classes, those of one output behind those of the one before.
func (t *fittedTree) shares() {
	width := 0
	for _, n := range t.classes {
		width += n
	}
	t.tree.Cover = t.weights
	t.tree.Value = make([]float64, 0, len(t.tree.Left)*width)
	for node := range t.tree.Left {
		for k := range t.classes {
			from := len(t.tree.Value)
			t.tree.Value = append(t.tree.Value, t.at(node, k)...)
			if !t.counts {
				continue
			}
			if sum := pairwise(t.tree.Value[from:]); sum != 0 {
				for i := from; i < len(t.tree.Value); i++ {
					t.tree.Value[i] /= sum
				}
			}
		}
	}
}

// means sets the tree's values to those of a regressor.
func (t *fittedTree) means() {
	t.tree.Cover = t.weights
	t.tree.Value = make([]float64, 0, len(t.tree.Left)*len(t.classes))
	for node := range t.tree.Left {
		for k := range t.classes {
			t.tree.Value = append(t.tree.Value, t.at(node, k)[0])
		}
	}
}

// pairwise is the sum of v in the order in which NumPy adds what stands side by side.
func pairwise(v []float64) float64 {
	n := len(v)
	switch {
	case n < 8:
		sum := 0.0
		for _, x := range v {
			sum += x
		}
		return sum
	case n <= 128:
		var r [8]float64
		copy(r[:], v)
		i := 8
		for ; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += v[i+k]
			}
		}
		sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			sum += v[i]
		}
		return sum
	default:
		half := n / 2
		half -= half % 8
		return pairwise(v[:half]) + pairwise(v[half:])
	}
}

// forestOf compiles trees that all have the same number of outputs.
func forestOf(a *attrs, list []trees.Tree, o trees.Options) *trees.Forest[float64] {
	if a.err != nil {
		return nil
	}
	o.Rule, o.Threads = trees.LessEqual32, a.threads
	f, err := trees.Compile[float64](list, o)
	var e *trees.Error
	if errors.As(err, &e) {
		a.err = &engine.BadModel{Where: a.path, Reason: e.Error(), Cause: e}
	}
	return f
}

// rows is a table of numbers as the trees take it.
func (x *table) matrix() trees.Matrix { return trees.Matrix{Rows: x.rows, Cols: x.cols, F64: x.num} }

// checkSingle is check for an estimator that works on float32s: what they cannot hold is infinite.
func (f *fitted) checkSingle(c *call, x *table, allow finite) (*table, error) {
	x, err := f.check(c, x, allow)
	if err != nil || x.typ == float32s || allow == allowAll {
		return x, err
	}
	for i, v := range x.num {
		if math.Abs(v) > math.MaxFloat32 && math.IsInf(float64(float32(v)), 0) {
			return nil, protocol.Errorf(protocol.Invalid, "%s does not take values beyond float32: row %d, column %s", f.class, i/x.cols, columnName(x, i%x.cols))
		}
	}
	return x, nil
}

// takesNaN says whether a single tree takes missing values: the criteria that do from 1.3, the random splitter from 1.6.
func takesNaN(a *attrs, t *fittedTree, since version) finite {
	if !t.missing || !a.version.atLeast(since.major, since.minor) || a.has("monotonic_cst") {
		return onlyFinite
	}
	switch a.textOr("criterion", "") {
	case "gini", "log_loss", "entropy", "squared_error", "friedman_mse", "poisson":
	default:
		return onlyFinite
	}
	random := a.textOr("splitter", "best") == "random" || a.o.Class.Name == "ExtraTreesClassifier" || a.o.Class.Name == "ExtraTreesRegressor"
	if random && !a.version.atLeast(1, 6) {
		return onlyFinite
	}
	return allowNaN
}

// treeClassifier is one tree that chooses classes.
type treeClassifier struct {
	fitted
	classOutputs
	finite finite
	forest *trees.Forest[float64]
	best   []int32 // the class of the highest value, by node and output
}

func buildTreeClassifier(a *attrs) (estimator, error) {
	t := &treeClassifier{fitted: a.fitted()}
	tree := a.fittedTree()
	t.read(a, tree)
	if a.err != nil {
		return nil, a.err
	}
	a.columns(&t.fitted, tree.features, "tree_")
	t.finite = takesNaN(a, tree, version{1, 3})
	tree.shares()
	for node := range tree.tree.Left {
		for k := range tree.classes {
			t.best = append(t.best, int32(argmax(tree.at(node, k))))
		}
	}
	t.forest = forestOf(a, []trees.Tree{tree.tree}, trees.Options{Features: tree.features, Outputs: t.width, Width: t.width})
	return t, a.err
}

func (t *treeClassifier) methods() []string { return []string{predict, predictProba, predictLogProba} }

func (t *treeClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := t.checkSingle(c, x, t.finite)
	if err != nil {
		return nil, err
	}
	if method == predict {
		leaves := c.indexes(x.rows)
		t.forest.Leaves(x.matrix(), 0, 1, leaves)
		y := t.predictions(c, x.rows)
		n := len(t.labels)
		for i, leaf := range leaves {
			copy(y.index[i*n:(i+1)*n], t.best[int(leaf)*n:])
		}
		return y, nil
	}
	sums := c.zeros(x.rows * t.width)
	t.forest.Sum(x.matrix(), 0, 1, sums)
	return t.probabilities(c, x.rows, sums, method == predictLogProba), nil
}

// treeRegressor is one tree, or several whose mean is taken.
type treeRegressor struct {
	fitted
	finite  finite
	forest  *trees.Forest[float64]
	outputs int
}

func buildTreeRegressor(a *attrs) (estimator, error) {
	t := &treeRegressor{fitted: a.fitted()}
	tree := a.fittedTree()
	if a.err != nil {
		return nil, a.err
	}
	a.columns(&t.fitted, tree.features, "tree_")
	t.finite = takesNaN(a, tree, version{1, 3})
	t.outputs = len(tree.classes)
	tree.means()
	t.forest = forestOf(a, []trees.Tree{tree.tree}, trees.Options{Features: tree.features, Outputs: t.outputs, Width: t.outputs})
	return t, a.err
}

func (t *treeRegressor) methods() []string { return []string{predict} }

func (t *treeRegressor) run(c *call, _ string, x *table) (*table, error) {
	x, err := t.checkSingle(c, x, t.finite)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, t.outputs, float64s)
	y.vector = t.outputs == 1
	clear(y.num)
	n := t.forest.Trees()
	t.forest.Sum(x.matrix(), 0, n, y.num)
	if n > 1 {
		for i := range y.num {
			y.num[i] /= float64(n)
		}
	}
	return y, nil
}

// classOutputs are the classes of one or several outputs.
type classOutputs struct {
	labels []*labels
	begin  []int // where an output's classes start in a row of probabilities, and the end
	width  int
	multi  bool
}

// read reads classes_: an array, or for several outputs a list of arrays.
func (o *classOutputs) read(a *attrs, t *fittedTree) {
	if a.err != nil {
		return
	}
	o.multi = len(t.classes) > 1
	if o.multi {
		items := a.items("classes_")
		if a.err == nil && len(items) != len(t.classes) {
			a.fail("classes_", "expected %d arrays, got %d", len(t.classes), len(items))
		}
		for i := 0; a.err == nil && i < len(items); i++ {
			o.labels = append(o.labels, a.toLabels(fmt.Sprintf("classes_[%d]", i), items[i]))
		}
	} else {
		o.labels = []*labels{a.classes("classes_")}
	}
	o.begin = []int{0}
	for i, n := range t.classes {
		if a.err == nil && o.labels[i].len() != n {
			a.fail("classes_", "there are %d classes in output %d, the tree has %d", o.labels[i].len(), i, n)
		}
		if a.err == nil && o.labels[i].typ != o.labels[0].typ {
			a.unsupported("outputs whose classes have different types")
		}
		o.width += n
		o.begin = append(o.begin, o.width)
	}
}

func (o *classOutputs) outputs() []*labels { return o.labels }

// predictions makes a table of classes, whose index the caller fills.
func (o *classOutputs) predictions(c *call, rows int) *table {
	if !o.multi {
		return c.classes(rows, o.labels[0])
	}
	y := c.table()
	y.rows, y.cols, y.typ = rows, len(o.labels), labelled
	y.labels = append(y.labels, o.labels...)
	y.index = c.indexes(rows * y.cols)
	return y
}

// choose picks the likeliest class of every output.
func (o *classOutputs) choose(c *call, rows int, shares []float64) *table {
	y := o.predictions(c, rows)
	n := len(o.labels)
	for i := range rows {
		row := shares[i*o.width : (i+1)*o.width]
		for k := range n {
			y.index[i*n+k] = int32(argmax(row[o.begin[k]:o.begin[k+1]]))
		}
	}
	return y
}

// probabilities makes a table for each output of rows of shares, or of their logarithms.
func (o *classOutputs) probabilities(c *call, rows int, shares []float64, logarithm bool) *table {
	if logarithm {
		for i, v := range shares {
			shares[i] = math.Log(v)
		}
	}
	var first *table
	for k := range o.labels {
		y := c.table()
		y.rows, y.cols, y.typ = rows, o.begin[k+1]-o.begin[k], float64s
		if !o.multi {
			y.num = shares
			return y
		}
		y.num = c.floats(rows * y.cols)
		for i := range rows {
			copy(y.row(i), shares[i*o.width+o.begin[k]:])
		}
		if first == nil {
			first = y
			first.list = true
		} else {
			first.more = append(first.more, y)
		}
	}
	return first
}
