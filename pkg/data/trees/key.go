// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import "math"

// A key is a float mapped to an unsigned integer of the same order, so that every library's comparison becomes key < split:
// one instruction, no branch for NaN. Missing values get the key below or above all others, by their column's default side.
type key interface{ uint32 | uint64 }

// index is the type of a node's links; a small one makes a small node.
type index interface{ uint16 | uint32 }

const (
	missingLeft    = 0
	missingRight32 = math.MaxUint32 - 1
	missingRight64 = math.MaxUint64 - 1
	// alwaysLeft is above every key.
	alwaysLeft32 = math.MaxUint32
	alwaysLeft64 = math.MaxUint64
)

// key32 orders float32 values; -0 equals 0. NaN is the caller's.
func key32(v float32) uint32 {
	b := math.Float32bits(v)
	if b == 1<<31 {
		b = 0
	}
	return b ^ (uint32(int32(b)>>31) | 1<<31)
}

// key64 orders float64 values; -0 equals 0. NaN is the caller's.
func key64(v float64) uint64 {
	b := math.Float64bits(v)
	if b == 1<<63 {
		b = 0
	}
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

// split32 is the key of the first float32 that goes right.
func split32(rule Rule, threshold float64) uint32 {
	t := float32(threshold)
	k := key32(t)
	if rule == Less {
		return k
	}
	if float64(t) > threshold {
		k--
	}
	return k + 1
}

// column is one derived input: a feature with one treatment of missing values. Nodes name columns, so that they test nothing but order.
type column struct {
	feature int32
	missing Missing
	left    bool
	// category columns hold a category's code plus one, missingLeft for missing and missingRight for no category at all.
	category bool
}

// Matrix is rows of features, row-major; exactly one of F32 and F64 is set. Columns that it lacks are missing.
type Matrix struct {
	Rows, Cols int
	F32        []float32
	F64        []float64
}

// encoder turns rows into keys.
type encoder struct {
	columns     []column
	rule        Rule
	maxCategory float64
	plain       bool // no categories, no MissingZero, no MissingNone
}

func encode[K key](e *encoder, m *Matrix, row int, dst []K) {
	if m.F32 != nil {
		encodeRow(e, m.F32[row*m.Cols:(row+1)*m.Cols], dst)
	} else {
		encodeRow(e, m.F64[row*m.Cols:(row+1)*m.Cols], dst)
	}
}

func encodeRow[K key, F float32 | float64](e *encoder, row []F, dst []K) {
	var k K
	wide := uint64(^k) == math.MaxUint64
	dst = dst[:len(e.columns)]
	for i := range e.columns {
		c := &e.columns[i]
		v := math.NaN()
		if uint(c.feature) < uint(len(row)) {
			v = float64(row[c.feature])
		}
		if !e.plain {
			if c.category {
				dst[i] = K(e.categoryKey(c, v))
				continue
			}
			v = e.special(c, v)
		}
		switch {
		case v != v:
			dst[i] = missingKey[K](c.left)
		case !wide:
			dst[i] = K(key32(float32(v)))
		default:
			dst[i] = K(key64(v))
		}
	}
}

func missingKey[K key](left bool) K {
	if left {
		return missingLeft
	}
	return ^K(0) - 1
}

// special applies LightGBM's rules of zero: tiny values are zero, and NaN is zero where the column does not know it as missing.
func (e *encoder) special(c *column, v float64) float64 {
	if e.rule == LessEqual && math.Abs(v) <= ZeroThreshold {
		v = 0
	}
	switch c.missing {
	case MissingZero:
		if v == 0 {
			return math.NaN()
		}
	case MissingNone:
		if v != v {
			return 0
		}
	case MissingNaN:
	}
	return v
}

// categoryKey is the code of v plus one. A negative or far too large value is no category.
func (e *encoder) categoryKey(c *column, v float64) uint32 {
	if e.rule != LessEqual {
		v = float64(float32(v))
	}
	switch {
	case v != v:
		return missingLeft
	case e.rule == Less && v < 0, v <= -1, v >= e.maxCategory:
		return missingRight32
	default:
		return uint32(v) + 1
	}
}
