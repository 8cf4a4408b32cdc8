// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import "fmt"

// maxExplained is the deepest tree that Contributions explains: its memory grows with the square of the depth.
const maxExplained = 1024

// maxEffort bounds the time of a row, in sums over leaves of the square of their depth: seconds.
const maxEffort = 1 << 31

// portion is how much of that is done between two looks at the caller's patience: some hundredths of a second.
const portion = 1 << 22

// Contributions adds to out, for each row and output, what every feature contributes to the sum of the trees [first, last), and
// behind them what the trees give on average: Options.Features + 1 numbers. It is the path-dependent algorithm for trees, exact in the
// sense of Shapley with the covers of training as weights (Lundberg, Erion, Lee: Consistent Individualized Feature Attribution for
// Tree Ensembles, 2018, Algorithm 2), and needs Tree.Cover. Its time grows with leaves times the square of the depth. Where that is long, patience
// is asked now and then: what it returns ends the work, and is the error. It may be nil.
func (f *Forest[V]) Contributions(m Matrix, first, last int, out []float64, patience func() error) error {
	if f.cover == nil && last > first {
		return fmt.Errorf("the model keeps no weights of its nodes, which contributions need")
	}
	depth, effort := int32(0), 0.0
	for t := first; t < last; t++ {
		depth = max(depth, f.walk.deepest(t))
		effort += f.effort[t]
	}
	switch {
	case depth > maxExplained:
		return fmt.Errorf("a tree is %d levels deep, contributions are for trees of up to %d", depth, maxExplained)
	case effort > maxEffort:
		return fmt.Errorf("the trees have so many leaves, so deep, that a row would take %.0f times as long as is allowed", effort/maxEffort)
	}
	width := f.outputs * (f.features + 1)
	out = out[:m.Rows*width]
	step := max(1, int(portion/max(effort, 1))) * max(1, f.threads)
	for from := 0; from < m.Rows; from += step {
		part := m.Part(from, min(from+step, m.Rows))
		for t := first; t < last; {
			if patience != nil {
				if err := patience(); err != nil {
					return err
				}
			}
			next := f.portion(t, last, effort)
			f.attribute(part, contributed{span{t, next}, depth}, out[from*width:])
			t = next
		}
	}
	return nil
}

func (f *Forest[V]) attribute(m Matrix, trees contributed, out []float64) {
	inParts(m.Rows, min(f.threads, m.Rows), func(from, to int) { f.contribute(&m, from, to, trees, out) })
}

// portion is the end of the trees from first on that are one, of trees that take so much; one tree at least.
func (f *Forest[V]) portion(first, last int, effort float64) int {
	if effort <= portion {
		return last
	}
	done := f.effort[first]
	for first++; first < last; first++ {
		if done += f.effort[first]; done > portion {
			break
		}
	}
	return first
}

// contributed are the trees of a call, and the depth of the deepest.
type contributed struct {
	span
	depth int32
}

func (f *Forest[V]) contribute(m *Matrix, from, to int, trees contributed, out []float64) {
	s := f.scratch(m)
	defer f.release(s)
	if n := int(trees.depth+2) * int(trees.depth+3) / 2; cap(s.path) < n {
		s.path = make([]share, n)
	}
	e := explainer[V]{forest: f, scratch: s, width: f.features + 1}
	for row := from; row < to; row++ {
		f.walk.encodeRow(s, &s.rows, row)
		for t := trees.first; t < trees.last; t++ {
			at := row * f.outputs
			if f.width == 1 {
				at += int(f.output[t])
			}
			e.out = out[at*e.width : (at+f.width)*e.width]
			for k := range f.width {
				e.out[(k+1)*e.width-1] += f.mean[t*f.width+k]
			}
			if f.walk.deepest(t) > 0 {
				e.visit(f.walk.root(t), 0, s.path[:cap(s.path)], share{feature: -1, zero: 1, one: 1})
			}
		}
	}
}

// share is one feature on the way to a leaf: the share of training rows and of this row that go that way without knowing it.
type share struct {
	feature           int32
	zero, one, weight float64
}

// explainer walks one tree for one row.
type explainer[V float32 | float64] struct {
	forest  *Forest[V]
	scratch *scratch
	width   int       // numbers of an output
	out     []float64 // of the outputs that the tree adds to
}

// visit explains the subtree at node. path begins with the depth steps of the parent's way; the room behind is free.
func (e *explainer[V]) visit(node uint32, depth int, path []share, last share) {
	extend(path, depth, last)
	v := e.forest.walk.look(e.scratch, node)
	if v.leaf {
		e.leaf(node, depth, path)
		return
	}
	hot, cold := v.right+1, v.right
	if !v.goesLeft {
		hot, cold = cold, hot
	}
	hotShare, coldShare := shares(float64(e.forest.cover[hot]), float64(e.forest.cover[cold]))
	if all := float64(e.forest.cover[node]); all > 0 {
		hotShare, coldShare = float64(e.forest.cover[hot])/all, float64(e.forest.cover[cold])/all
	}
	zero, one := 1.0, 1.0
	for i := 1; i <= depth; i++ {
		if path[i].feature == v.feature {
			// The feature was met before: its two steps become one.
			zero, one = path[i].zero, path[i].one
			unwind(path, depth, i)
			depth--
			break
		}
	}
	next := path[depth+1:]
	copy(next, path[:depth+1])
	e.visit(hot, depth+1, next, share{feature: v.feature, zero: hotShare * zero, one: one})
	copy(next, path[:depth+1])
	e.visit(cold, depth+1, next, share{feature: v.feature, zero: coldShare * zero})
}

// leaf adds what the leaf at the end of path gives, for each step of it.
func (e *explainer[V]) leaf(node uint32, depth int, path []share) {
	values := e.forest.values[node:]
	if e.forest.width != 1 {
		values = e.forest.values[int(e.forest.slot[node])*e.forest.width:]
	}
	values = values[:e.forest.width]
	for i := 1; i <= depth; i++ {
		weight := unwound(path, depth, i) * (path[i].one - path[i].zero)
		at := int(path[i].feature)
		for _, v := range values {
			e.out[at] += weight * float64(v)
			at += e.width
		}
	}
}

// shares are the parts of two weights in their sum: halves where there is none, as of a branch that no row of training took.
func shares(a, b float64) (float64, float64) {
	if sum := a + b; sum > 0 {
		return a / sum, b / sum
	}
	return 0.5, 0.5
}

func extend(path []share, depth int, s share) {
	s.weight = 0
	if depth == 0 {
		s.weight = 1
	}
	path[depth] = s
	n := float64(depth + 1)
	for i := depth - 1; i >= 0; i-- {
		path[i+1].weight += s.one * path[i].weight * float64(i+1) / n
		path[i].weight = s.zero * path[i].weight * float64(depth-i) / n
	}
}

// unwind takes step at out of the path again.
func unwind(path []share, depth, at int) {
	one, zero := path[at].one, path[at].zero
	next, n := path[depth].weight, float64(depth+1)
	for i := depth - 1; i >= 0; i-- {
		if one != 0 {
			w := path[i].weight
			path[i].weight = next * n / (float64(i+1) * one)
			next = w - path[i].weight*zero*float64(depth-i)/n
		} else {
			path[i].weight = path[i].weight * n / (zero * float64(depth-i))
		}
	}
	for i := at; i < depth; i++ {
		w := path[i].weight
		path[i] = path[i+1]
		path[i].weight = w
	}
}

// unwound is the sum of the weights that unwind would leave.
func unwound(path []share, depth, at int) float64 {
	one, zero := path[at].one, path[at].zero
	next, n, total := path[depth].weight, float64(depth+1), 0.0
	for i := depth - 1; i >= 0; i-- {
		switch {
		case one != 0:
			w := next * n / (float64(i+1) * one)
			total += w
			next = path[i].weight - w*zero*float64(depth-i)/n
		case zero != 0:
			total += path[i].weight / zero / (float64(depth-i) / n)
		}
	}
	return total
}

// view is what an explainer sees of a node.
type view struct {
	leaf, goesLeft bool
	feature        int32
	right          uint32 // the right child; the left one follows it
}

func (w *walker[K]) deepest(tree int) int32 { return w.depth[tree] }

func (w *walker[K]) root(tree int) uint32 { return w.roots[tree] }

func (w *walker[K]) look(s *scratch, at uint32) view {
	n := nodeAt[K](w.words, at)
	if n.next == 0 {
		return view{leaf: true}
	}
	v := view{feature: w.columns[n.column].feature, right: at + n.next}
	k := uint64((*keysOf[K](s))[n.column])
	if n.category {
		v.goesLeft = w.sets[n.split].left(k)
	} else {
		v.goesLeft = k < n.split
	}
	return v
}

// weigh keeps the covers, and works out what each tree gives on average.
func (f *Forest[V]) weigh(trees []Tree, orders [][]int32) {
	for i := range trees {
		if trees[i].Cover == nil {
			return
		}
	}
	f.cover, f.mean, f.effort = make([]V, 0, len(f.leafID)), make([]float64, 0, len(trees)*f.width), make([]float64, len(trees))
	for i := range trees {
		t, order := &trees[i], orders[i]
		means, level := make([]float64, len(t.Left)*f.width), make([]float64, len(t.Left))
		for _, n := range order {
			if t.leaf(n) {
				f.effort[i] += level[n] * level[n]
			} else {
				level[t.Left[n]], level[t.Right[n]] = level[n]+1, level[n]+1
			}
		}
		for at := len(order) - 1; at >= 0; at-- {
			n := order[at]
			own := means[int(n)*f.width : (int(n)+1)*f.width]
			if t.leaf(n) {
				for k := range own {
					own[k] = float64(V(t.Value[int(n)*f.width+k]))
				}
				continue
			}
			l, r := int(t.Left[n]), int(t.Right[n])
			left, right := shares(t.Cover[l], t.Cover[r])
			if t.Cover[n] > 0 {
				left, right = t.Cover[l]/t.Cover[n], t.Cover[r]/t.Cover[n]
			}
			for k := range own {
				own[k] = means[l*f.width+k]*left + means[r*f.width+k]*right
			}
		}
		f.mean = append(f.mean, means[:f.width]...)
		for _, n := range order {
			f.cover = append(f.cover, V(t.Cover[n]))
		}
	}
}
