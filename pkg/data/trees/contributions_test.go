// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// expected is what a tree gives on average when only the features of a set are known: the definition, without a trick.
func expected(t *Tree, rule Rule, row []float64, known uint, node int32, width, output int) float64 {
	if t.leaf(node) {
		return t.Value[int(node)*width+output]
	}
	l, r := t.Left[node], t.Right[node]
	if known>>t.Feature[node]&1 == 1 {
		if naiveLeft(t, node, rule, row[t.Feature[node]]) {
			return expected(t, rule, row, known, l, width, output)
		}
		return expected(t, rule, row, known, r, width, output)
	}
	return (t.Cover[l]*expected(t, rule, row, known, l, width, output) + t.Cover[r]*expected(t, rule, row, known, r, width, output)) / t.Cover[node]
}

// shapley is the value of a feature by its definition: the mean of its marginal contributions over all orders of the features.
func shapley(features, feature int, value func(known uint) float64) float64 {
	sum, factorial := 0.0, func(n int) float64 { return math.Gamma(float64(n) + 1) }
	for known := range uint(1) << features {
		if known>>feature&1 == 1 {
			continue
		}
		n := bits.OnesCount(known)
		sum += factorial(n) * factorial(features-n-1) / factorial(features) * (value(known|1<<feature) - value(known))
	}
	return sum
}

// covered gives inner nodes the weight of their children, as training does.
func covered(t *Tree, node int32) float64 {
	if !t.leaf(node) {
		t.Cover[node] = covered(t, t.Left[node]) + covered(t, t.Right[node])
	}
	return t.Cover[node]
}

func TestContributionsAreShapleyValues(t *testing.T) {
	for name, s := range map[string]shape{
		"balanced":          {depth: 4, features: 5, full: true},
		"features again":    {depth: 6, features: 2},
		"a long way down":   {depth: 9, features: 6, chain: true},
		"categories":        {depth: 4, features: 4, cats: true},
		"leaf vectors":      {depth: 4, features: 4, width: 3},
		"stumps and leaves": {depth: 1, features: 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			const count, rows = 6, 5
			width, outputs := max(s.width, 1), max(s.width, 2)
			trees := make([]Tree, count)
			for i := range trees {
				trees[i] = randomTree(r, s)
				covered(&trees[i], 0)
				if width == 1 {
					trees[i].Output = i % outputs
				}
			}
			f, err := Compile[float64](trees, Options{Rule: LessEqual32, Features: s.features, Outputs: outputs, Width: width})
			require.NoError(t, err)
			data := make([]float64, rows*s.features)
			for i := range data {
				data[i] = float64(float32(randomValue(r)))
			}
			m := Matrix{Rows: rows, Cols: s.features, F64: data}
			const first, last = 1, count
			got := make([]float64, rows*outputs*(s.features+1))
			require.NoError(t, f.Contributions(m, first, last, got, nil))
			sums := make([]float64, rows*outputs)
			f.Sum(m, first, last, sums)
			for row := range rows {
				x := data[row*s.features : (row+1)*s.features]
				for k := range outputs {
					own := got[(row*outputs+k)*(s.features+1):][:s.features+1]
					value := func(known uint) float64 {
						sum := 0.0
						for i := first; i < last; i++ {
							switch {
							case width > 1:
								sum += expected(&trees[i], LessEqual32, x, known, 0, width, k)
							case trees[i].Output == k:
								sum += expected(&trees[i], LessEqual32, x, known, 0, 1, 0)
							}
						}
						return sum
					}
					total := own[s.features]
					require.InDelta(t, value(0), total, 1e-9, "the average, row %d, output %d", row, k)
					for j := range s.features {
						require.InDelta(t, shapley(s.features, j, value), own[j], 1e-9, "row %d, output %d, feature %d", row, k, j)
						total += own[j]
					}
					require.InDelta(t, sums[row*outputs+k], total, 1e-9, "they add up")
				}
			}
		})
	}
}

func TestContributionsOfBranchesThatTrainingNeverTook(t *testing.T) {
	tree := Tree{
		Left: []int32{1, -1, 3, -1, -1}, Right: []int32{2, -1, 4, -1, -1}, Feature: []int32{0, 0, 1, 0, 0},
		Threshold: []float64{0, 0, 0, 0, 0}, Value: []float64{0, 1, 0, 2, 4}, Cover: []float64{5, 5, 0, 0, 0},
	}
	f, err := Compile[float64]([]Tree{tree}, Options{Rule: LessEqual64, Features: 2, Outputs: 1, Width: 1})
	require.NoError(t, err)
	out := make([]float64, 3)
	require.NoError(t, f.Contributions(Matrix{Rows: 1, Cols: 2, F64: []float64{1, 1}}, 0, 1, out, nil))
	require.InDelta(t, 4, out[0]+out[1]+out[2], 1e-12)
	require.InDelta(t, 1, out[2], 1e-12)
}

func TestContributionsDoNotAllocateByRow(t *testing.T) {
	if raceDetector {
		t.Skip("pools do not hold under the race detector")
	}
	_, f, data := forestAndRows(t, shape{depth: 6, features: 9}, LessEqual, 50, 200)
	out := make([]float64, 200*3*10)
	for _, rows := range []int{1, 200} {
		m := Matrix{Rows: rows, Cols: 9, F64: data}
		require.NoError(t, f.Contributions(m, 0, 50, out, nil))
		allocated := testing.AllocsPerRun(20, func() { _ = f.Contributions(m, 0, 50, out, nil) })
		require.LessOrEqual(t, allocated, 2+float64(rows)/20, "%d rows: a portion of them may", rows)
	}
}

func TestContributionsNeedCovers(t *testing.T) {
	tree := Tree{Left: []int32{-1}, Right: []int32{-1}, Feature: []int32{0}, Threshold: []float64{0}, Value: []float64{1}}
	f, err := Compile[float64]([]Tree{tree}, Options{Features: 1, Outputs: 1, Width: 1})
	require.NoError(t, err)
	require.ErrorContains(t, f.Contributions(Matrix{Rows: 1, Cols: 1, F64: []float64{1}}, 0, 1, make([]float64, 2), nil), "keeps no weights")
	deep := randomTree(rand.New(rand.NewPCG(1, 1)), shape{depth: maxExplained + 1, features: 2, chain: true})
	f, err = Compile[float64]([]Tree{deep}, Options{Features: 2, Outputs: 1, Width: 1})
	require.NoError(t, err)
	require.ErrorContains(t, f.Contributions(Matrix{Rows: 1, Cols: 2, F64: []float64{1, 1}}, 0, 1, make([]float64, 3), nil), "levels deep")
	long := randomTree(rand.New(rand.NewPCG(1, 1)), shape{depth: maxExplained - 1, features: 2, chain: true})
	many := make([]Tree, 8)
	for i := range many {
		many[i] = long
	}
	f, err = Compile[float64](many, Options{Features: 2, Outputs: 1, Width: 1})
	require.NoError(t, err)
	require.ErrorContains(t, f.Contributions(Matrix{Rows: 1, Cols: 2, F64: []float64{1, 1}}, 0, 8, make([]float64, 3), nil), "times as long as is allowed")
}

// Whoever has no patience any more is not kept for the rest of the rows, nor for the rest of a row that takes long.
func TestContributionsEndWithTheirCallersPatience(t *testing.T) {
	long := randomTree(rand.New(rand.NewPCG(1, 1)), shape{depth: maxExplained / 2, features: 2, chain: true})
	f, err := Compile[float64]([]Tree{long, long, long}, Options{Features: 2, Outputs: 1, Width: 1})
	require.NoError(t, err)
	const rows = 3
	want := make([]float64, 3*rows)
	m := Matrix{Rows: rows, Cols: 2, F64: []float64{1, 1, 0, 2, 3, 0}}
	for row := range rows {
		require.NoError(t, f.Contributions(m.Part(row, row+1), 0, 3, want[3*row:3*row+3], nil))
	}
	asked := 0
	got := make([]float64, 3*rows)
	require.NoError(t, f.Contributions(m, 0, 3, got, func() error { asked++; return nil }))
	require.Equal(t, want, got)
	require.Greater(t, asked, rows)
	left := asked / 2
	gone := errors.New("gone")
	require.ErrorIs(t, f.Contributions(m, 0, 3, got, func() error {
		if left--; left < 0 {
			return gone
		}
		return nil
	}), gone)
}

// BenchmarkContributions explains a forest of 100 trees of depth 6.
func BenchmarkContributions(b *testing.B) {
	_, f, _ := benchForest(b, LessEqual)
	data := benchRows(256)
	wide := make([]float64, len(data))
	for i, v := range data {
		wide[i] = float64(v)
	}
	for _, rows := range []int{1, 100} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			out := make([]float64, rows*31)
			b.ReportAllocs()
			for b.Loop() {
				if err := f.Contributions(Matrix{Rows: rows, Cols: 30, F64: wide}, 0, 100, out, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		})
	}
}
