// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"fmt"
	"math"
	"sync"
)

// Forest is a compiled forest whose leaves are added in V's precision. It is safe for concurrent use.
type Forest[V float32 | float64] struct {
	walk    walks
	outputs int
	width   int
	threads int
	block   int // rows encoded at once

	values []V      // by node when width is 1, else by slot
	slot   []uint32 // the place of a leaf in values, by node, when width is not 1
	output []int32  // by tree
	leafID []int32  // by node

	features int
	cover    []V       // by node; nil when the trees have no covers
	mean     []float64 // by tree, width numbers each
	effort   []float64 // by tree, see maxEffort

	pool sync.Pool // of *scratch
}

// walks is a walker of any node type.
type walks interface {
	encodeRow(s *scratch, m *Matrix, row int)
	encodeRows(s *scratch, m *Matrix, row, n int)
	leavesOfTree(s *scratch, tree, n int, dst []uint32)
	leavesOfRow(s *scratch, first, last int, dst []uint32)
	deepest(tree int) int32
	root(tree int) uint32
	look(s *scratch, node uint32) view
}

// scratch is the working memory of one prediction.
type scratch struct {
	keys32 []uint32
	keys64 []uint64
	leaves [maxBlock]uint32
	path   []share // of an explanation
	rows   Matrix
}

func keysOf[K key](s *scratch) *[]K {
	if p, ok := any(&s.keys32).(*[]K); ok {
		return p
	}
	p, _ := any(&s.keys64).(*[]K)
	return p
}

// room makes room for n keys.
func room[K key](s *scratch, n int) []K {
	keys := keysOf[K](s)
	if cap(*keys) < n {
		*keys = make([]K, n)
	}
	*keys = (*keys)[:n]
	return *keys
}

const (
	maxBlock = 64
	// blockBytes keeps the keys of a block in the first-level cache.
	blockBytes = 16 << 10
	// rowsPerThread is the least work worth a goroutine.
	rowsPerThread = 256
)

// Trees is the number of trees.
func (f *Forest[V]) Trees() int { return len(f.output) }

// Sum adds the leaves of the trees [first, last), in their order, to sums: Outputs numbers a row, which the caller has set to
// where the sum starts.
func (f *Forest[V]) Sum(m Matrix, first, last int, sums []V) {
	sums = sums[:m.Rows*f.outputs]
	if m.Rows < lanes {
		for row := range m.Rows {
			f.sumRow(m, row, first, last, sums[row*f.outputs:(row+1)*f.outputs])
		}
		return
	}
	if f.parts(m.Rows) < 2 {
		f.sumRows(m, 0, m.Rows, span{first, last}, sums)
		return
	}
	f.split(m.Rows, func(from, to int) { f.sumRows(m, from, to, span{first, last}, sums) })
}

// span is the trees [first, last).
type span struct{ first, last int }

func (f *Forest[V]) parts(rows int) int { return min(f.threads, rows/rowsPerThread) }

// split runs work over [0, rows), in pieces on several cores when there is enough to do.
func (f *Forest[V]) split(rows int, work func(from, to int)) { inParts(rows, f.parts(rows), work) }

// inParts runs work over [0, rows) in so many pieces at once.
func inParts(rows, parts int, work func(from, to int)) {
	if parts < 2 {
		work(0, rows)
		return
	}
	var wait sync.WaitGroup
	for p := 1; p < parts; p++ {
		wait.Go(func() { work(rows*p/parts, rows*(p+1)/parts) })
	}
	work(0, rows/parts)
	wait.Wait()
}

// scratch takes working memory for the rows of m.
func (f *Forest[V]) scratch(m *Matrix) *scratch {
	s, ok := f.pool.Get().(*scratch)
	if !ok {
		s = &scratch{}
	}
	s.rows = *m
	return s
}

func (f *Forest[V]) release(s *scratch) {
	s.rows = Matrix{}
	f.pool.Put(s)
}

func (f *Forest[V]) sumRow(m Matrix, row, first, last int, sums []V) {
	s := f.scratch(&m)
	defer f.release(s)
	f.walk.encodeRow(s, &s.rows, row)
	for t := first; t < last; t += maxBlock {
		n := min(maxBlock, last-t)
		f.walk.leavesOfRow(s, t, t+n, s.leaves[:n])
		if f.width != 1 {
			for _, leaf := range s.leaves[:n] {
				f.addVector(leaf, sums)
			}
			continue
		}
		if f.outputs == 1 {
			sum := sums[0]
			for _, leaf := range s.leaves[:n] {
				sum += f.values[leaf]
			}
			sums[0] = sum
			continue
		}
		for i, leaf := range s.leaves[:n] {
			sums[f.output[t+i]] += f.values[leaf]
		}
	}
}

func (f *Forest[V]) addVector(leaf uint32, sums []V) {
	at := int(f.slot[leaf]) * f.width
	for i, v := range f.values[at : at+f.width] {
		sums[i] += v
	}
}

func (f *Forest[V]) sumRows(m Matrix, from, to int, trees span, sums []V) {
	s := f.scratch(&m)
	defer f.release(s)
	for row := from; row < to; row += f.block {
		n := min(f.block, to-row)
		f.walk.encodeRows(s, &s.rows, row, n)
		out := sums[row*f.outputs : (row+n)*f.outputs]
		for t := trees.first; t < trees.last; t++ {
			f.walk.leavesOfTree(s, t, n, s.leaves[:])
			f.add(s.leaves[:n], int(f.output[t]), out)
		}
	}
}

// add adds one tree's leaves to the sums of a block of rows.
func (f *Forest[V]) add(leaves []uint32, output int, sums []V) {
	switch {
	case f.width != 1:
		for i, leaf := range leaves {
			f.addVector(leaf, sums[i*f.outputs:(i+1)*f.outputs])
		}
	case f.outputs == 1:
		sums = sums[:len(leaves)]
		for i, leaf := range leaves {
			sums[i] += f.values[leaf]
		}
	default:
		for i, leaf := range leaves {
			sums[i*f.outputs+output] += f.values[leaf]
		}
	}
}

// Leaves writes the number of the leaf that each row reaches in each of the trees [first, last): a row of dst a row of m.
func (f *Forest[V]) Leaves(m Matrix, first, last int, dst []int32) {
	dst = dst[:m.Rows*(last-first)]
	if f.parts(m.Rows) < 2 {
		f.leafRows(m, 0, m.Rows, span{first, last}, dst)
		return
	}
	f.split(m.Rows, func(from, to int) { f.leafRows(m, from, to, span{first, last}, dst) })
}

func (f *Forest[V]) leafRows(m Matrix, from, to int, trees span, dst []int32) {
	s := f.scratch(&m)
	defer f.release(s)
	width := trees.last - trees.first
	for row := from; row < to; row++ {
		f.walk.encodeRow(s, &s.rows, row)
		for t := trees.first; t < trees.last; t += maxBlock {
			n := min(maxBlock, trees.last-t)
			f.walk.leavesOfRow(s, t, t+n, s.leaves[:n])
			out := dst[row*width+t-trees.first:]
			for i, leaf := range s.leaves[:n] {
				out[i] = f.leafID[leaf]
			}
		}
	}
}

// Compile checks the trees and lays them out for walking. The trees are not kept. The error is an *Error.
func Compile[V float32 | float64](trees []Tree, o Options) (*Forest[V], error) {
	if o.Width != 1 && o.Width != o.Outputs {
		return nil, &Error{Node: -1, Reason: fmt.Sprintf("has %d values a leaf for %d outputs", o.Width, o.Outputs)}
	}
	if o.MaxCategory <= 0 || o.MaxCategory > 1<<31 {
		o.MaxCategory = 1 << 31
	}
	var err error
	f := &Forest[V]{outputs: o.Outputs, width: o.Width, threads: max(o.Threads, 1), features: o.Features}
	orders := make([][]int32, len(trees))
	nodes, widest := 0, 0
	for i := range trees {
		if orders[i], err = trees[i].check(i, &o, nil); err != nil {
			return nil, err
		}
		nodes += len(orders[i])
		widest = max(widest, len(orders[i]))
	}
	if nodes > math.MaxInt32 {
		return nil, &Error{Tree: len(trees) - 1, Node: -1, Reason: fmt.Sprintf("brings the forest to %d nodes, too many", nodes)}
	}
	columns := findColumns(trees, orders)
	if !o.Rule.double() && widest < math.MaxUint16 && len(columns) < narrowCategory {
		f.walk = compile[uint32](trees, orders, columns, &o)
	} else {
		f.walk = compile[uint64](trees, orders, columns, &o)
	}
	size := len(columns) * 8
	f.block = min(maxBlock, max(lanes, blockBytes/max(size, 1)/lanes*lanes))
	f.layValues(trees, orders, nodes)
	f.weigh(trees, orders)
	return f, nil
}

// findColumns lists the derived inputs that the nodes ask for.
func findColumns(trees []Tree, orders [][]int32) map[column]int {
	columns := map[column]int{}
	for i := range trees {
		t := &trees[i]
		for _, n := range orders[i] {
			if t.leaf(n) {
				continue
			}
			c := t.column(n)
			if _, ok := columns[c]; !ok {
				columns[c] = len(columns)
			}
		}
	}
	return columns
}

func (t *Tree) column(n int32) column {
	c := column{feature: t.Feature[n], category: t.categorical(n)}
	if !c.category {
		c.left = len(t.DefaultLeft) > 0 && t.DefaultLeft[n]
		if len(t.Missing) > 0 {
			c.missing = t.Missing[n]
		}
	}
	return c
}

func compile[K key](trees []Tree, orders [][]int32, columns map[column]int, o *Options) *walker[K] {
	w := &walker[K]{
		encoder: encoder{columns: make([]column, len(columns)), rule: o.Rule, maxCategory: float64(o.MaxCategory), plain: o.Rule != LessEqual},
		roots:   make([]uint32, len(trees)), depth: make([]int32, len(trees)), mixed: make([]bool, len(trees)),
	}
	for c, i := range columns {
		w.columns[i] = c
		if c.category || c.missing != MissingNaN {
			w.plain = false
		}
	}
	for i := range trees {
		w.layTree(&trees[i], i, orders[i], columns)
	}
	return w
}

// layTree appends one tree. order is breadth-first, so each node's children are the next two that no earlier node took.
func (w *walker[K]) layTree(t *Tree, at int, order []int32, columns map[column]int) {
	w.roots[at] = uint32(w.nodes)
	w.nodes += len(order)
	levels := make([]int32, len(order))
	child := 1
	for i, n := range order {
		if t.leaf(n) {
			w.words = appendNode[K](w.words, node{})
			continue
		}
		levels[child], levels[child+1] = levels[i]+1, levels[i]+1
		w.depth[at] = levels[child]
		c := t.column(n)
		x := node{next: uint32(child - i), column: uint32(columns[c]), category: c.category}
		child += 2
		switch {
		case c.category:
			w.mixed[at] = true
			x.split = uint64(len(w.sets))
			w.sets = append(w.sets, set{Set: t.Sets[n], missingLeft: len(t.DefaultLeft) > 0 && t.DefaultLeft[n]})
		case w.rule.double():
			x.split = key64(t.Threshold[n]) + 1
		default:
			x.split = uint64(split32(w.rule, t.Threshold[n]))
		}
		w.words = appendNode[K](w.words, x)
	}
}

func (f *Forest[V]) layValues(trees []Tree, orders [][]int32, nodes int) {
	f.output, f.leafID = make([]int32, len(trees)), make([]int32, 0, nodes)
	if f.width == 1 {
		f.values = make([]V, 0, nodes)
	} else {
		f.slot = make([]uint32, 0, nodes)
	}
	for i := range trees {
		t := &trees[i]
		f.output[i] = int32(t.Output)
		for _, n := range orders[i] {
			id := n
			if len(t.LeafID) > 0 {
				id = t.LeafID[n]
			}
			f.leafID = append(f.leafID, id)
			if f.width == 1 {
				f.values = append(f.values, V(t.Value[n]))
				continue
			}
			f.slot = append(f.slot, uint32(len(f.values)/f.width))
			if t.leaf(n) {
				for _, v := range t.Value[int(n)*f.width : (int(n)+1)*f.width] {
					f.values = append(f.values, V(v))
				}
			}
		}
	}
}
