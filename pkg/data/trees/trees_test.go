// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// naive is the plain reading of a Tree: one node after another, with the library's own comparison.
func naive(t *Tree, rule Rule, row []float64) int32 {
	n := int32(0)
	for !t.leaf(n) {
		v := math.NaN()
		if int(t.Feature[n]) < len(row) {
			v = row[t.Feature[n]]
		}
		if naiveLeft(t, n, rule, v) {
			n = t.Left[n]
		} else {
			n = t.Right[n]
		}
	}
	return n
}

func naiveLeft(t *Tree, n int32, rule Rule, v float64) bool {
	missing, left := MissingNaN, t.DefaultLeft != nil && t.DefaultLeft[n]
	if t.Missing != nil {
		missing = t.Missing[n]
	}
	if t.Sets != nil && (t.Sets[n].Words != nil || t.Sets[n].Codes != nil) {
		if v != v {
			return left
		}
		in := v > -1 && v < 1<<31 && t.Sets[n].Has(uint64(v))
		if rule == Less && v < 0 {
			in = false
		}
		return in == t.Sets[n].Left
	}
	if rule == LessEqual && math.Abs(v) <= ZeroThreshold {
		v = 0
	}
	if v != v && missing == MissingNone {
		v = 0
	}
	if v != v || missing == MissingZero && v == 0 {
		return left
	}
	switch rule {
	case Less:
		return float32(v) < float32(t.Threshold[n])
	case LessEqual32:
		return float64(float32(v)) <= t.Threshold[n]
	default:
		return v <= t.Threshold[n]
	}
}

var specials = []float64{
	0, math.Copysign(0, -1), 1, -1, 1.0 / 3, 1e-35, -1e-35, ZeroThreshold, 2e-35, 5e-324, 1e-45, -1e-45, 1e30, -1e30, 3.4e38,
	math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1), 0.1, float64(float32(0.1)), math.Nextafter(0.1, 1),
}

func randomValue(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return specials[r.IntN(len(specials))]
	case 1:
		return float64(r.IntN(7) - 3)
	default:
		return r.NormFloat64()
	}
}

type shape struct {
	depth, features           int
	full, cats, zeroes, chain bool
	width                     int
}

func randomTree(r *rand.Rand, s shape) Tree {
	t := Tree{}
	s.width = max(s.width, 1)
	var grow func(depth int) int32
	grow = func(depth int) int32 {
		n := int32(len(t.Left))
		t.Left, t.Right = append(t.Left, -1), append(t.Right, -1)
		t.Feature = append(t.Feature, int32(r.IntN(s.features)))
		t.Threshold = append(t.Threshold, randomValue(r))
		t.DefaultLeft = append(t.DefaultLeft, r.IntN(2) == 0)
		t.Cover = append(t.Cover, float64(1+r.IntN(100)))
		for range s.width {
			t.Value = append(t.Value, float64(float32(r.NormFloat64())))
		}
		if s.zeroes {
			t.Missing = append(t.Missing, Missing(r.IntN(3)))
		}
		if s.cats {
			set := Set{Left: r.IntN(2) == 0}
			switch r.IntN(6) {
			case 0, 1:
				set.Words = []uint32{r.Uint32(), r.Uint32()}
			case 2:
				set = NewSet([]uint32{9000, 2, 1}, set.Left)
			}
			t.Sets = append(t.Sets, set)
		}
		if s.chain && depth > 0 {
			l := grow(0)
			t.Left[n], t.Right[n] = l, grow(depth-1)
			if r.IntN(2) == 0 {
				t.Left[n], t.Right[n] = t.Right[n], t.Left[n]
			}
			return n
		}
		if depth > 0 && (s.full || r.IntN(4) > 0) {
			l := grow(depth - 1)
			t.Left[n], t.Right[n] = l, grow(depth-1)
		}
		return n
	}
	grow(s.depth)
	return t
}

func forestAndRows(tb testing.TB, s shape, rule Rule, count, rows int) ([]Tree, *Forest[float64], []float64) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	outputs := max(s.width, 3)
	trees := make([]Tree, count)
	for i := range trees {
		trees[i] = randomTree(r, s)
		trees[i].Output = r.IntN(outputs)
	}
	f, err := Compile[float64](trees, Options{Rule: rule, Features: s.features, Outputs: outputs, Width: max(s.width, 1), Threads: 2})
	require.NoError(tb, err)
	data := make([]float64, rows*s.features)
	for i := range data {
		data[i] = randomValue(r)
		if r.IntN(5) == 0 {
			data[i] = math.NaN()
		}
	}
	return trees, f, data
}

func TestForestAgreesWithPlainTrees(t *testing.T) {
	shapes := map[string]shape{
		"stumps":                 {depth: 1, features: 3},
		"single leaves":          {depth: 0, features: 3},
		"balanced":               {depth: 5, features: 7, full: true},
		"a long way down":        {depth: 40, features: 9, chain: true},
		"ragged":                 {depth: 9, features: 40},
		"categories":             {depth: 5, features: 5, cats: true},
		"zero as missing":        {depth: 5, features: 5, zeroes: true},
		"all of it":              {depth: 6, features: 5, zeroes: true, cats: true},
		"leaf vectors":           {depth: 4, features: 5, width: 3},
		"many features":          {depth: 5, features: 3000},
		"columns beyond 16 bits": {depth: 10, features: 100000, full: true},
	}
	for name, s := range shapes {
		for _, rule := range []Rule{Less, LessEqual, LessEqual32, LessEqual64} {
			count, rows := 30, 70
			if s.features > 50000 {
				count, rows = 40, 5
			}
			if s.features > 50000 && rule != Less || rule != LessEqual && s.zeroes {
				continue // the big one is about nodes, and only LightGBM has the other kinds of missing
			}
			t.Run(fmt.Sprintf("%s, rule %d", name, rule), func(t *testing.T) {
				trees, f, data := forestAndRows(t, s, rule, count, rows)
				for _, n := range []int{1, 2, 3, 4, 5, rows} {
					agree(t, trees, f, rule, Matrix{Rows: n, Cols: s.features, F64: data})
				}
			})
		}
	}
}

func agree(t *testing.T, trees []Tree, f *Forest[float64], rule Rule, m Matrix) {
	t.Helper()
	first, last := 1, len(trees)-1
	got := make([]float64, m.Rows*f.outputs)
	leaves := make([]int32, m.Rows*(last-first))
	f.Sum(m, first, last, got)
	f.Leaves(m, first, last, leaves)
	for r := range m.Rows {
		row := m.F64[r*m.Cols : (r+1)*m.Cols]
		want := make([]float64, f.outputs)
		for i := first; i < last; i++ {
			leaf := naive(&trees[i], rule, row)
			require.Equal(t, leaf, leaves[r*(last-first)+i-first], "row %d, tree %d", r, i)
			if f.width == 1 {
				want[trees[i].Output] += trees[i].Value[leaf]
				continue
			}
			for k := range want {
				want[k] += trees[i].Value[int(leaf)*f.width+k]
			}
		}
		require.Equal(t, want, got[r*f.outputs:(r+1)*f.outputs], "row %d", r)
	}
}

func TestBigBatchesSplitOverCores(t *testing.T) {
	trees, f, data := forestAndRows(t, shape{depth: 4, features: 5}, Less, 20, 1111)
	agree(t, trees, f, Less, Matrix{Rows: 1111, Cols: 5, F64: data})
}

func TestMissingColumnsAreMissingValues(t *testing.T) {
	trees, f, data := forestAndRows(t, shape{depth: 5, features: 9}, Less, 20, 20)
	agree(t, trees, f, Less, Matrix{Rows: 20, Cols: 4, F64: data})
	agree(t, trees, f, Less, Matrix{Rows: 2, Cols: 1, F64: data})
}

func TestFloat32RowsAreTheSameRows(t *testing.T) {
	_, f, data := forestAndRows(t, shape{depth: 5, features: 9}, LessEqual, 20, 20)
	single, double := make([]float32, len(data)), make([]float64, len(data))
	for i, v := range data {
		single[i] = float32(v)
		double[i] = float64(single[i])
	}
	a, b := make([]float64, 60), make([]float64, 60)
	f.Sum(Matrix{Rows: 20, Cols: 9, F32: single}, 0, 20, a)
	f.Sum(Matrix{Rows: 20, Cols: 9, F64: double}, 0, 20, b)
	require.Equal(t, b, a)
}

func TestCompileRefuses(t *testing.T) {
	good := func() Tree {
		return Tree{
			Left: []int32{1, -1, -1}, Right: []int32{2, -1, -1}, Feature: []int32{1, 0, 0},
			Threshold: []float64{1, 0, 0}, Value: []float64{0, 1, 2},
		}
	}
	for name, c := range map[string]struct {
		spoil func(*Tree)
		want  string
	}{
		"a child past the end":      {func(t *Tree) { t.Right[0] = 3 }, "tree 0, node 0: has the child 3, the tree has 3 nodes"},
		"a cycle":                   {func(t *Tree) { t.Left[0] = 0 }, "tree 0, node 0: has the child 0, which another branch has too: not a tree"},
		"a shared child":            {func(t *Tree) { t.Left[0] = 2 }, "tree 0, node 0: has the child 2, which another branch has too: not a tree"},
		"a right child only":        {func(t *Tree) { t.Left[0], t.Right[0] = 1, -1 }, "tree 0, node 0: has the child -1, the tree has 3 nodes"},
		"a feature past the end":    {func(t *Tree) { t.Feature[0] = 2 }, "tree 0, node 0: splits on feature 2, the model has 2"},
		"a NaN threshold":           {func(t *Tree) { t.Threshold[0] = math.NaN() }, "tree 0, node 0: has NaN as its threshold"},
		"short values":              {func(t *Tree) { t.Value = t.Value[:2] }, "tree 0: has 2 values for 3 nodes, expected 3"},
		"an output that is not one": {func(t *Tree) { t.Output = 1 }, "tree 0: adds to output 1 of 1"},
		"no nodes":                  {func(t *Tree) { *t = Tree{} }, "tree 0: has no nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := good()
			c.spoil(&tree)
			_, err := Compile[float64]([]Tree{tree}, Options{Features: 2, Outputs: 1, Width: 1})
			require.EqualError(t, err, c.want)
		})
	}
}

func TestPredictionDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	_, f, data := forestAndRows(t, shape{depth: 5, features: 9, cats: true}, LessEqual, 100, 200)
	sums := make([]float64, 600)
	for _, rows := range []int{1, 3, 200} {
		m := Matrix{Rows: rows, Cols: 9, F64: data}
		f.Sum(m, 0, 100, sums)
		require.Zero(t, testing.AllocsPerRun(100, func() { f.Sum(m, 0, 100, sums) }), "%d rows", rows)
	}
}
