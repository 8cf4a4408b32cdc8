// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

func addNeighbours(r map[string]builder) {
	r["neighbors.KNeighborsClassifier"] = buildNeighboursClassifier
	r["neighbors.KNeighborsRegressor"] = buildNeighboursRegressor
	r["neighbors.NearestNeighbors"] = buildNeighbours
}

const kneighbors = "kneighbors"

// neighbours finds the nearest rows of the training set.
type neighbours struct {
	fitted
	metric
	k      int
	rows   matrix
	tree   *searchTree // nil compares with every row
	weight bool        // neighbours count by the inverse of their distance
	merge  bool        // comparing with every row, the library fills one heap from another
	stable bool        // of equal distances the first rows count, as NumPy's vector code leaves them
}

func (n *neighbours) build(a *attrs) {
	n.fitted = a.fitted()
	n.k = a.count("n_neighbors")
	n.metric = a.metric()
	switch w := a.value("weights").(type) {
	case nil:
	case string:
		n.weight = w == "distance"
		if w != "distance" && w != "uniform" {
			a.unsupported("weights=%q", w)
		}
	default:
		a.unsupported("weights that are %s", pickle.Kind(w))
	}
	if o, ok := a.value("_fit_X").(*pickle.Object); ok {
		a.unsupported("a fit on %s", o.Class)
		return
	}
	method := a.text("_fit_method")
	n.rows = a.matrix("_fit_X")
	if a.err != nil {
		return
	}
	a.columns(&n.fitted, n.rows.cols, "_fit_X")
	if n.k < 1 || n.k > n.rows.rows {
		a.fail("n_neighbors", "%d neighbours of %d rows", n.k, n.rows.rows)
		return
	}
	switch method {
	case "kd_tree", "ball_tree":
		if n.metric.kind == cosine || n.metric.kind == squaredEuclidean || method == "kd_tree" && n.metric.kind >= hamming {
			a.unsupported("this metric in a search tree")
			return
		}
		n.tree = a.searchTree("_tree", n.metric)
		if a.err == nil && (n.tree.data.rows != n.rows.rows || n.tree.data.cols != n.rows.cols) {
			a.fail("_tree", "a tree over data of shape [%d %d], and the fit's is [%d %d]", n.tree.data.rows, n.tree.data.cols, n.rows.rows, n.rows.cols)
		}
	case "brute":
		n.merge = a.version.atLeast(1, 1) && n.metric.kind != cosine && n.metric.kind != hamming
		if n.metric.kind == squaredEuclidean {
			n.merge = a.version.atLeast(1, 3)
		}
		n.stable = a.version.atLeast(1, 3)
		n.metric.signed = !n.merge
		if n.metric.kind == cosine {
			for i := range n.rows.rows {
				normalise(n.rows.row(i), n.rows.row(i))
			}
		}
	default:
		a.unsupported("the search %s", method)
	}
}

// normalise divides by the length, where there is one.
func normalise(from, to []float64) {
	length := math.Sqrt(dot(from, from))
	if length == 0 {
		length = 1
	}
	for j, v := range from {
		to[j] = v / length
	}
}

// finder is the memory of a search.
type finder struct {
	*neighbours
	found nearest
	work  []float64 // one row
	// first and all are for comparing with every row.
	first nearest
	all   selection
}

func (n *neighbours) finder(c *call) *finder {
	f := &finder{neighbours: n, found: nearest{reduced: c.floats(n.k), index: c.indexes(n.k)}}
	switch {
	case n.tree != nil:
	case n.merge:
		f.first = nearest{reduced: c.floats(n.k), index: c.indexes(n.k)}
	default:
		f.work = c.floats(n.rows.cols)
		f.all = selection{v: c.floats(n.rows.rows), at: c.indexes(n.rows.rows)}
	}
	return f
}

// find leaves the nearest rows in found, the nearest first.
func (f *finder) find(x []float64) {
	switch {
	case f.tree != nil:
		f.found.reset()
		f.tree.search(x, f.found)
		f.found.sort()
	case f.merge:
		f.found.reset()
		f.first.reset()
		for i := range f.rows.rows {
			f.first.push(f.reduced(x, f.rows.row(i)), int32(i))
		}
		for i, r := range f.first.reduced {
			f.found.push(r, f.first.index[i])
		}
		f.found.sort()
	default:
		f.partition(x)
	}
}

// partition compares with every row and selects from all distances, as the library did before version 1.1 and still does for some metrics.
func (f *finder) partition(x []float64) {
	if f.metric.kind == cosine {
		normalise(x, f.work)
		x = f.work
	}
	for i := range f.rows.rows {
		f.all.v[i] = f.reduced(x, f.rows.row(i))
	}
	if f.stable {
		f.all.first(f.found)
	} else {
		f.all.least(f.k)
	}
	for i, at := range f.all.at[:f.k] {
		r := f.all.v[at]
		j := i - 1
		for ; j >= 0 && f.found.reduced[j] > r; j-- {
			f.found.reduced[j+1], f.found.index[j+1] = f.found.reduced[j], f.found.index[j]
		}
		f.found.reduced[j+1], f.found.index[j+1] = r, at
	}
}

// weights turns the reduced distances into weights. Neighbours at no distance count alone.
func (n *neighbours) weights(h nearest) {
	exact := false
	for i, r := range h.reduced {
		w := 1.0
		if n.weight {
			w = 1 / n.metric.distance(r)
		}
		h.reduced[i] = w
		exact = exact || math.IsInf(w, 0)
	}
	if !exact {
		return
	}
	for i, w := range h.reduced {
		h.reduced[i] = 0
		if math.IsInf(w, 0) {
			h.reduced[i] = 1
		}
	}
}

// each calls f with each row's weighted neighbours.
func (n *neighbours) each(c *call, x *table, f func(i int, h nearest)) {
	search := n.finder(c)
	for i := range x.rows {
		c.patience(i)
		search.find(x.row(i))
		f(i, search.found)
	}
}

func buildNeighbours(a *attrs) (estimator, error) {
	n := &neighbours{}
	n.build(a)
	return n, a.err
}

func (n *neighbours) methods() []string { return []string{kneighbors} }

func (n *neighbours) run(c *call, _ string, x *table) (*table, error) {
	x, err := n.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	return n.list(c, x), nil
}

// list answers the neighbours themselves: their distances, and their rows in the training set.
func (n *neighbours) list(c *call, x *table) *table {
	distances, at := c.numbers(x.rows, n.k, float64s), c.numbers(x.rows, n.k, integers)
	n.each(c, x, func(i int, h nearest) {
		for j, r := range h.reduced {
			distances.row(i)[j] = n.metric.distance(r)
			at.row(i)[j] = float64(h.index[j])
		}
	})
	distances.more = append(distances.more, at)
	return distances
}

type neighboursRegressor struct {
	neighbours
	targets matrix
	flat    bool
}

func buildNeighboursRegressor(a *attrs) (estimator, error) {
	n := &neighboursRegressor{}
	n.build(a)
	y := a.array("_y")
	if a.err != nil {
		return nil, a.err
	}
	if len(y.Shape) == 1 {
		v := a.toVector("_y", y)
		n.targets, n.flat = matrix{rows: len(v), cols: 1, v: v, single: y.DType.Kind == 'f' && y.DType.Size == 4}, true
	} else {
		n.targets = a.toMatrix("_y", y)
	}
	if a.err == nil && n.targets.rows != n.rows.rows {
		a.fail("_y", "%d targets for %d rows", n.targets.rows, n.rows.rows)
	}
	return n, a.err
}

func (n *neighboursRegressor) methods() []string { return []string{predict, kneighbors} }

func (n *neighboursRegressor) run(c *call, method string, x *table) (*table, error) {
	x, err := n.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	if method == kneighbors {
		return n.list(c, x), nil
	}
	single := n.targets.single && !n.weight
	y := c.numbers(x.rows, n.targets.cols, float64s)
	if single {
		y.typ = float32s
	}
	y.vector = n.flat
	n.each(c, x, func(i int, h nearest) {
		n.weights(h)
		total := 0.0
		out := y.row(i)
		clear(out)
		for j, w := range h.reduced {
			total += w
			for k, t := range n.targets.row(int(h.index[j])) {
				out[k] = to32(out[k]+t*w, single)
			}
		}
		for k := range out {
			out[k] /= total
		}
	})
	return y, nil
}

type neighboursClassifier struct {
	neighbours
	classesOf []*labels // by output
	y         []int32   // the class of each row, for each output
	flat      bool
}

func buildNeighboursClassifier(a *attrs) (estimator, error) {
	n := &neighboursClassifier{flat: !a.flag("outputs_2d_", false)}
	n.build(a)
	if n.flat {
		n.classesOf = []*labels{a.classes("classes_")}
	} else {
		for _, item := range a.items("classes_") {
			n.classesOf = append(n.classesOf, a.toLabels("classes_", item))
		}
	}
	y := a.array("_y")
	if a.err != nil {
		return nil, a.err
	}
	values, err := y.Int64s()
	outputs := len(n.classesOf)
	if err != nil || len(values) != n.rows.rows*outputs || outputs == 0 {
		a.fail("_y", "expected %d classes for each of %d rows, got %s", outputs, n.rows.rows, pickle.Kind(y))
		return nil, a.err
	}
	n.y = make([]int32, len(values))
	for i, v := range values {
		l := n.classesOf[i%outputs]
		if l.typ != n.classesOf[0].typ {
			a.unsupported("outputs whose classes have several types")
			break
		}
		if v < 0 || v >= int64(l.len()) {
			a.fail("_y", "class %d of %d", v, l.len())
			break
		}
		n.y[i] = int32(v)
	}
	return n, a.err
}

func (n *neighboursClassifier) outputs() []*labels { return n.classesOf }

func (n *neighboursClassifier) methods() []string {
	return []string{predict, predictProba, kneighbors}
}

func (n *neighboursClassifier) run(c *call, method string, x *table) (*table, error) {
	x, err := n.check(c, x, onlyFinite)
	if err != nil {
		return nil, err
	}
	if method == kneighbors {
		return n.list(c, x), nil
	}
	outputs := len(n.classesOf)
	tables := make([]*table, outputs)
	for o, l := range n.classesOf {
		tables[o] = c.numbers(x.rows, l.len(), float64s)
		clear(tables[o].num)
	}
	n.each(c, x, func(i int, h nearest) {
		n.weights(h)
		for j, w := range h.reduced {
			for o, t := range tables {
				t.row(i)[n.y[int(h.index[j])*outputs+o]] += w
			}
		}
	})
	if method == predict {
		return n.choose(c, x.rows, tables), nil
	}
	for _, t := range tables {
		for i := range t.rows {
			row := t.row(i)
			sum := 0.0
			for _, w := range row {
				sum += w
			}
			if sum == 0 {
				sum = 1
			}
			for k := range row {
				row[k] /= sum
			}
		}
	}
	tables[0].more = append(tables[0].more, tables[1:]...)
	return tables[0], nil
}

func (n *neighboursClassifier) choose(c *call, rows int, votes []*table) *table {
	y := c.classes(rows, n.classesOf[0])
	y.labels = append(y.labels[:0], n.classesOf...)
	if !n.flat {
		y.vector, y.cols, y.index = false, len(votes), c.indexes(rows*len(votes))
	}
	for o, t := range votes {
		for i := range rows {
			y.index[i*len(votes)+o] = int32(argmax(t.row(i)))
		}
	}
	return y
}
