// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// plainNode and plainSum are what a direct implementation does: one tree after another, one row after another.
type plainNode struct {
	split       float32
	left, right int32
	feature     int32
	defaultLeft bool
	value       float32
}

func plainSum(trees [][]plainNode, row []float32) float32 {
	var sum float32
	for _, nodes := range trees {
		at := int32(0)
		for nodes[at].left >= 0 {
			n := &nodes[at]
			v := row[n.feature]
			switch {
			case v != v:
				if n.defaultLeft {
					at = n.left
				} else {
					at = n.right
				}
			case v < n.split:
				at = n.left
			default:
				at = n.right
			}
		}
		sum += nodes[at].value
	}
	return sum
}

func benchForest(b *testing.B, rule Rule) (f32 *Forest[float32], f64 *Forest[float64], plain [][]plainNode) {
	b.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	const features = 30
	trees := make([]Tree, 100)
	for i := range trees {
		trees[i] = randomTree(r, shape{depth: 6, features: features, full: true})
		t := &trees[i]
		nodes := make([]plainNode, len(t.Left))
		for n := range t.Left {
			t.Threshold[n] = r.NormFloat64() * 0.7
			nodes[n] = plainNode{float32(t.Threshold[n]), t.Left[n], t.Right[n], t.Feature[n], t.DefaultLeft[n], float32(t.Value[n])}
		}
		plain = append(plain, nodes)
	}
	o := Options{Rule: rule, Features: features, Outputs: 1, Width: 1}
	var err error
	if f32, err = Compile[float32](trees, o); err == nil {
		f64, err = Compile[float64](trees, o)
	}
	if err != nil {
		b.Fatal(err)
	}
	return f32, f64, plain
}

func benchRows(rows int) []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	data := make([]float32, rows*30)
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	return data
}

// BenchmarkSum compares the compiled forest with the direct loop: 100 trees of depth 6. A single row is a new one every time.
func BenchmarkSum(b *testing.B) {
	const pool = 4096
	data := benchRows(pool)
	xgb, _, plain := benchForest(b, Less)
	_, lgb, _ := benchForest(b, LessEqual)
	_, skl, _ := benchForest(b, LessEqual32)
	wide := make([]float64, len(data))
	for i, v := range data {
		wide[i] = float64(v)
	}
	for _, rows := range []int{1, 10, 1000} {
		sums32, sums64 := make([]float32, rows), make([]float64, rows)
		next := 0
		at := func() int {
			next = (next + rows*7) % (pool - rows)
			return next * 30
		}
		perRow := func(b *testing.B) {
			b.Helper()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
		}
		b.Run(fmt.Sprintf("plain/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from := at()
				for i := range rows {
					sums32[i] = plainSum(plain, data[from+i*30:from+(i+1)*30])
				}
			}
			perRow(b)
		})
		b.Run(fmt.Sprintf("xgboost/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from := at()
				xgb.Sum(Matrix{Rows: rows, Cols: 30, F32: data[from:]}, 0, 100, sums32)
			}
			perRow(b)
		})
		b.Run(fmt.Sprintf("lightgbm/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from := at()
				lgb.Sum(Matrix{Rows: rows, Cols: 30, F64: wide[from:]}, 0, 100, sums64)
			}
			perRow(b)
		})
		b.Run(fmt.Sprintf("sklearn/rows=%d", rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				from := at()
				skl.Sum(Matrix{Rows: rows, Cols: 30, F64: wide[from:]}, 0, 100, sums64)
			}
			perRow(b)
		})
	}
}
