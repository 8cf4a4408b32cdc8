// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

// metric is a distance; reduced is a cheaper number in the same order, which the searches compare.
type metric struct {
	kind metricKind
	p    float64
	// signed is of Bray-Curtis as SciPy has it: sums in the denominator keep their sign.
	signed bool
}

type metricKind uint8

const (
	euclidean metricKind = iota
	squaredEuclidean
	manhattan
	chebyshev
	minkowski
	cosine
	hamming
	canberra
	brayCurtis
)

// metric reads the metric that the fit settled on.
func (a *attrs) metric() metric {
	name := a.first("effective_metric_", "metric")
	text, ok := pickle.Text(a.must(name))
	if !ok {
		a.unsupported("a metric that is %s", pickle.Kind(a.value(name)))
		return metric{}
	}
	p := a.numberOr("p", 2)
	if params, ok := a.value("effective_metric_params_").(*pickle.Dict); ok {
		for i, key := range params.Keys {
			k, _ := pickle.Text(key)
			if k == "p" {
				p = a.asNumber("effective_metric_params_", params.Values[i])
			} else if params.Values[i] != nil {
				a.unsupported("the metric's parameter %s", k)
			}
		}
	}
	switch text {
	case "euclidean", "l2":
		return metric{kind: euclidean, p: 2}
	case "sqeuclidean":
		return metric{kind: squaredEuclidean, p: 2}
	case "manhattan", "l1", "cityblock":
		return metric{kind: manhattan, p: 1}
	case "chebyshev", "infinity":
		return metric{kind: chebyshev, p: math.Inf(1)}
	case "cosine":
		return metric{kind: cosine}
	case "hamming":
		return metric{kind: hamming}
	case "canberra":
		return metric{kind: canberra}
	case "braycurtis":
		return metric{kind: brayCurtis}
	case "minkowski", "p":
		switch {
		case p == 1:
			return metric{kind: manhattan, p: 1}
		case p == 2:
			return metric{kind: euclidean, p: 2}
		case math.IsInf(p, 1):
			return metric{kind: chebyshev, p: p}
		case p > 0:
			return metric{kind: minkowski, p: p}
		}
	}
	a.unsupported("the metric %s", text)
	return metric{}
}

// reduced is a number in the order of the distance. For cosine both vectors are of length one.
func (m metric) reduced(a, b []float64) float64 {
	b = b[:len(a)]
	sum := 0.0
	switch m.kind {
	case manhattan:
		for i, v := range a {
			sum += math.Abs(v - b[i])
		}
	case chebyshev:
		for i, v := range a {
			sum = math.Max(sum, math.Abs(v-b[i]))
		}
	case minkowski:
		for i, v := range a {
			sum += math.Pow(math.Abs(v-b[i]), m.p)
		}
	case cosine:
		return math.Min(math.Max(1-dot(a, b), 0), 2)
	case hamming:
		for i, v := range a {
			if v != b[i] {
				sum++
			}
		}
		return sum / float64(len(a))
	case canberra:
		for i, v := range a {
			if total := math.Abs(v) + math.Abs(b[i]); total > 0 {
				sum += math.Abs(v-b[i]) / total
			}
		}
	case brayCurtis:
		total := 0.0
		for i, v := range a {
			sum += math.Abs(v - b[i])
			if m.signed {
				total += math.Abs(v + b[i])
			} else {
				total += math.Abs(v) + math.Abs(b[i])
			}
		}
		if total > 0 {
			return sum / total
		}
		return 0
	default:
		return squaredDistance(a, b)
	}
	return sum
}

// distance is the distance of a reduced one.
func (m metric) distance(reduced float64) float64 {
	switch m.kind {
	case euclidean:
		return math.Sqrt(reduced)
	case minkowski:
		return math.Pow(reduced, 1/m.p)
	default:
		return reduced
	}
}

// reduce is the reduced form of a distance.
func (m metric) reduce(distance float64) float64 {
	switch m.kind {
	case euclidean:
		return distance * distance
	case minkowski:
		return math.Pow(distance, m.p)
	default:
		return distance
	}
}

// nearest holds the k nearest found so far: a heap with the farthest at the root. It keeps and evicts equal distances as the library
// does, since which of several equally distant neighbours counts decides labels.
type nearest struct {
	reduced []float64
	index   []int32
}

func (h nearest) reset() {
	for i := range h.reduced {
		h.reduced[i], h.index[i] = math.Inf(1), 0
	}
}

func (h nearest) farthest() float64 { return h.reduced[0] }

func (h nearest) push(reduced float64, index int32) {
	if !(reduced < h.reduced[0]) {
		return
	}
	at := 0
	for {
		left, right := 2*at+1, 2*at+2
		next := left
		if left >= len(h.reduced) {
			break
		}
		if right < len(h.reduced) && h.reduced[right] > h.reduced[left] {
			next = right
		}
		if !(reduced < h.reduced[next]) {
			break
		}
		h.reduced[at], h.index[at] = h.reduced[next], h.index[next]
		at = next
	}
	h.reduced[at], h.index[at] = reduced, index
}

// sort puts the nearest first, and equal distances in the order that the library's quicksort leaves them in.
func (h nearest) sort() {
	n := len(h.reduced)
	d := h.reduced
	if n <= 3 {
		h.order(0, 1)
		h.order(1, 2)
		h.order(0, 1)
		return
	}
	// The middle of three becomes the pivot, at the end.
	middle := n / 2
	h.order(0, n-1)
	if d[n-1] > d[middle] {
		h.swap(n-1, middle)
		h.order(0, n-1)
	}
	pivot, store := d[n-1], 0
	for i := range n - 1 {
		if d[i] < pivot {
			h.swap(i, store)
			store++
		}
	}
	h.swap(store, n-1)
	if store > 1 {
		nearest{h.reduced[:store], h.index[:store]}.sort()
	}
	if store+2 < n {
		nearest{h.reduced[store+1:], h.index[store+1:]}.sort()
	}
}

func (h nearest) order(i, j int) {
	if j < len(h.reduced) && h.reduced[i] > h.reduced[j] {
		h.swap(i, j)
	}
}

func (h nearest) swap(i, j int) {
	h.reduced[i], h.reduced[j] = h.reduced[j], h.reduced[i]
	h.index[i], h.index[j] = h.index[j], h.index[i]
}

// searchTree is a k-d tree or a ball tree as the library built it.
type searchTree struct {
	metric
	ball   bool
	data   matrix
	order  []int64 // the rows by place
	start  []int64 // of each node's places
	end    []int64
	leaf   []int64
	radius []float64
	low    matrix // a k-d tree's bounds, or a ball tree's centres: a row for each node
	high   matrix
}

// searchTree reads a tree's state: data, order, nodes, bounds, then what it does not need.
func (a *attrs) searchTree(name string, m metric) *searchTree {
	o, ok := a.must(name).(*pickle.Object)
	if !ok {
		a.bad(name, "a search tree")
		return nil
	}
	state, ok := o.State.(pickle.Tuple)
	if !ok || len(state) < 4 {
		a.fail(name, "the state of a search tree expected, got %s", pickle.Kind(o.State))
		return nil
	}
	t := &searchTree{metric: m, ball: len(o.Class.Name) >= 8 && o.Class.Name[:8] == "BallTree"}
	t.data = a.toMatrix(name, a.asArray(name, state[0]))
	order, nodes, bounds := a.asArray(name, state[1]), a.asArray(name, state[2]), a.asArray(name, state[3])
	if a.err != nil {
		return nil
	}
	var err error
	integers := func(arr *pickle.Array) []int64 {
		var v []int64
		if err == nil {
			v, err = arr.Int64s()
		}
		return v
	}
	column := func(field string) *pickle.Array {
		arr, fieldErr := nodes.Field(field)
		if fieldErr != nil {
			err = fieldErr
			return &pickle.Array{}
		}
		return arr
	}
	t.order = integers(order)
	t.start, t.end, t.leaf = integers(column("idx_start")), integers(column("idx_end")), integers(column("is_leaf"))
	if err == nil {
		t.radius, err = column("radius").Float64s()
	}
	var all []float64
	if err == nil {
		all, err = bounds.Float64s()
	}
	if err != nil {
		a.fail(name, "%v", err)
		return nil
	}
	sides := 2
	if t.ball {
		sides = 1
	}
	n := len(t.start)
	if len(bounds.Shape) != 3 || bounds.Shape[0] != sides || bounds.Shape[1] != n || bounds.Shape[2] != t.data.cols || n == 0 || len(t.order) != t.data.rows {
		a.fail(name, "bounds of shape %v and an order of %d rows do not fit %d nodes over data of shape [%d %d]", bounds.Shape, len(t.order), n, t.data.rows, t.data.cols)
		return nil
	}
	t.low = matrix{rows: n, cols: t.data.cols, v: all[:n*t.data.cols]}
	t.high = matrix{rows: n, cols: t.data.cols, v: all[(sides-1)*n*t.data.cols:]}
	a.checkTree(name, t)
	return t
}

// checkTree makes sure that a walk stays inside the tree. Children come after their node, so it ends.
func (a *attrs) checkTree(name string, t *searchTree) {
	n := len(t.start)
	for i := range n {
		if t.start[i] < 0 || t.end[i] > int64(len(t.order)) || t.start[i] > t.end[i] {
			a.fail(name, "node %d holds the rows %d to %d of %d", i, t.start[i], t.end[i], len(t.order))
			return
		}
		if t.leaf[i] == 0 && 2*i+2 >= n {
			a.fail(name, "node %d of %d has no children and is no leaf", i, n)
			return
		}
	}
	for _, r := range t.order {
		if r < 0 || r >= int64(t.data.rows) {
			a.fail(name, "row %d of %d", r, t.data.rows)
			return
		}
	}
}

// bound is the least reduced distance that a row of node i can have.
func (t *searchTree) bound(i int, x []float64) float64 {
	if t.ball {
		return t.reduce(math.Max(0, t.distance(t.reduced(x, t.low.row(i)))-t.radius[i]))
	}
	low, high := t.low.row(i), t.high.row(i)
	sum := 0.0
	for j, v := range x {
		below, above := low[j]-v, v-high[j]
		d := 0.5 * ((below + math.Abs(below)) + (above + math.Abs(above)))
		switch t.kind {
		case chebyshev:
			sum = math.Max(sum, d)
		case manhattan:
			sum += d
		case minkowski:
			sum += math.Pow(d, t.p)
		default:
			sum += d * d
		}
	}
	return sum
}

func (t *searchTree) search(x []float64, h nearest) { t.visit(0, t.bound(0, x), x, h) }

func (t *searchTree) visit(i int, bound float64, x []float64, h nearest) {
	switch {
	case bound > h.farthest():
	case t.leaf[i] != 0:
		for _, r := range t.order[t.start[i]:t.end[i]] {
			h.push(t.reduced(x, t.data.row(int(r))), int32(r))
		}
	default:
		left, right := t.bound(2*i+1, x), t.bound(2*i+2, x)
		if left <= right {
			t.visit(2*i+1, left, x, h)
			t.visit(2*i+2, right, x, h)
		} else {
			t.visit(2*i+2, right, x, h)
			t.visit(2*i+1, left, x, h)
		}
	}
}
