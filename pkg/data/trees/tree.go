// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trees evaluates forests of decision trees exactly as XGBoost, LightGBM and scikit-learn do, in flat arrays that are fast to walk.
//
// Called by: data/serve/engine/{xgboost,lightgbm,sklearn}, which read the trees from their files.
// Next: data/serve/engine, whose engines turn the sums into predictions.
package trees

import (
	"fmt"
	"math"
	"slices"
)

// Tree is one decision tree as a model file has it: parallel arrays by node, the root at 0, in any order of nodes.
type Tree struct {
	// Left and Right are the children of a node; a leaf has a negative Left.
	Left, Right []int32
	// Feature and Threshold say what an inner node compares; Rule says how.
	Feature   []int32
	Threshold []float64
	// DefaultLeft says where a missing value goes; nil means right everywhere.
	DefaultLeft []bool
	// Missing says which values are missing, by node; nil means NaN everywhere.
	Missing []Missing
	// Sets are the categories of categorical nodes; nil when the tree has none. The zero Set is for numeric nodes.
	Sets []Set
	// Value is what the nodes predict: Width numbers a node. Only leaves are read, except by Contributions.
	Value []float64
	// LeafID is the number that the library gives to a node, by node; nil means its position.
	LeafID []int32
	// Output is the column of the sum that the tree adds to when Width is 1.
	Output int
	// Cover is the weight of training rows that reached a node; only Contributions reads it.
	Cover []float64
}

// Set is the test of a categorical node: a set of categories, as bits or, where the categories are few and far between, as a list.
type Set struct {
	Words []uint32
	Codes []uint32 // in rising order; used when Words is nil
	// Left says that the categories of the set go left and all others right; otherwise the reverse.
	Left bool
}

// NewSet makes a set of categories, which it sorts.
func NewSet(codes []uint32, left bool) Set {
	slices.Sort(codes)
	if n := len(codes); n > 0 && int(codes[n-1]/32) < 8*n+64 {
		s := Set{Words: make([]uint32, codes[n-1]/32+1), Left: left}
		for _, c := range codes {
			s.Words[c/32] |= 1 << (c % 32)
		}
		return s
	}
	return Set{Codes: append([]uint32{}, codes...), Left: left}
}

// Categorical reports whether there is a set at all, if an empty one.
func (s *Set) Categorical() bool { return s.Words != nil || s.Codes != nil }

// Has reports whether category c is in the set.
func (s *Set) Has(c uint64) bool {
	if s.Words != nil {
		return c/32 < uint64(len(s.Words)) && s.Words[c/32]>>(c%32)&1 == 1
	}
	_, found := slices.BinarySearch(s.Codes, uint32(min(c, math.MaxUint32)))
	return found
}

// Rule is how a library compares a value with a threshold: which values go left.
type Rule uint8

// The rules.
const (
	// Less compares float32(value) < float32(threshold), as XGBoost does.
	Less Rule = iota
	// LessEqual compares float64(value) <= threshold, as LightGBM does, for which what is within ZeroThreshold of zero is zero.
	LessEqual
	// LessEqual32 compares float32(value) <= float64(threshold), as scikit-learn does.
	LessEqual32
	// LessEqual64 compares float64(value) <= threshold, as scikit-learn's boosting on histograms does.
	LessEqual64
)

// double reports whether values are compared as float64s.
func (r Rule) double() bool { return r == LessEqual || r == LessEqual64 }

// Missing says which values of a feature are missing and so follow DefaultLeft.
type Missing uint8

// The kinds of missing values.
const (
	// MissingNaN is NaN.
	MissingNaN Missing = iota
	// MissingZero is NaN and every value within ZeroThreshold of zero.
	MissingZero
	// MissingNone is nothing: NaN is compared as zero.
	MissingNone
)

// ZeroThreshold is LightGBM's zero: the float32 1e-35 as a float64.
const ZeroThreshold = 1.0000000180025095e-35

// Options say how a forest is compiled.
type Options struct {
	Rule Rule
	// Features is the number of columns that a tree may ask for.
	Features int
	// Outputs is the number of sums of a row.
	Outputs int
	// Width is the number of values of a leaf: 1, added to the tree's Output, or Outputs, added to all.
	Width int
	// Threads is the number of cores that a big batch may use; 0 means 1.
	Threads int
	// MaxCategory is the first category code that is too large to be one; 0 means 1 << 31.
	MaxCategory int64
}

// Error says which node of which tree is inconsistent.
type Error struct {
	Tree, Node int
	Reason     string
}

func (e *Error) Error() string {
	if e.Node < 0 {
		return fmt.Sprintf("tree %d: %s", e.Tree, e.Reason)
	}
	return fmt.Sprintf("tree %d, node %d: %s", e.Tree, e.Node, e.Reason)
}

func (t *Tree) categorical(node int32) bool { return len(t.Sets) > 0 && t.Sets[node].Categorical() }

func (t *Tree) leaf(node int32) bool { return t.Left[node] < 0 }

// check refuses a tree whose arrays disagree, whose children leave it or meet twice, or which asks for what is not there.
// It returns the nodes in breadth-first order, right before left; unreachable nodes are left out.
func (t *Tree) check(at int, o *Options, order []int32) ([]int32, error) {
	n := len(t.Left)
	bad := func(node int, format string, args ...any) ([]int32, error) {
		return nil, &Error{Tree: at, Node: node, Reason: fmt.Sprintf(format, args...)}
	}
	if n == 0 {
		return bad(-1, "has no nodes")
	}
	if n > math.MaxInt32/2 {
		return bad(-1, "has %d nodes, too many", n)
	}
	for _, a := range []struct {
		name      string
		got, want int
		optional  bool
	}{
		{"right children", len(t.Right), n, false},
		{"features", len(t.Feature), n, false},
		{"thresholds", len(t.Threshold), n, false},
		{"default directions", len(t.DefaultLeft), n, true},
		{"missing types", len(t.Missing), n, true},
		{"category sets", len(t.Sets), n, true},
		{"leaf numbers", len(t.LeafID), n, true},
		{"covers", len(t.Cover), n, true},
		{"values", len(t.Value), n * o.Width, false},
	} {
		if a.got != a.want && (!a.optional || a.got != 0) {
			return bad(-1, "has %d %s for %d nodes, expected %d", a.got, a.name, n, a.want)
		}
	}
	if o.Width == 1 && (t.Output < 0 || t.Output >= o.Outputs) {
		return bad(-1, "adds to output %d of %d", t.Output, o.Outputs)
	}
	seen := make([]bool, n)
	seen[0] = true
	order = append(order[:0], 0)
	for i := 0; i < len(order); i++ {
		p := order[i]
		if t.leaf(p) {
			continue
		}
		if f := t.Feature[p]; f < 0 || int(f) >= o.Features {
			return bad(int(p), "splits on feature %d, the model has %d", f, o.Features)
		}
		if math.IsNaN(t.Threshold[p]) && !t.categorical(p) {
			return bad(int(p), "has NaN as its threshold")
		}
		for _, c := range [2]int32{t.Right[p], t.Left[p]} {
			if c < 0 || int(c) >= n {
				return bad(int(p), "has the child %d, the tree has %d nodes", c, n)
			}
			if seen[c] {
				return bad(int(p), "has the child %d, which another branch has too: not a tree", c)
			}
			seen[c] = true
			order = append(order, c)
		}
	}
	return order, nil
}
