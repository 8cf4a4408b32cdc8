// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package trees

import "math"

// A key is a float mapped to an unsigned integer of the same order, so that every library's comparison becomes key < split:
// one instruction, no branch for NaN. Missing values get the key below or above all others, by their column's default side.
type key interface{ uint32 | uint64 }

const (
	missingLeft = 0
	noCategory  = math.MaxUint32
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
	// category columns hold a category's code plus one, missingLeft for missing and noCategory for no category at all.
	category bool
}

// Matrix is rows of features, row-major; exactly one of F32 and F64 is set. Columns that it lacks are missing.
type Matrix struct {
	Rows, Cols int
	F32        []float32
	F64        []float64
}

// Part is the rows [from, to) of a matrix, over the same memory.
func (m Matrix) Part(from, to int) Matrix {
	part := Matrix{Rows: to - from, Cols: m.Cols}
	if m.F32 != nil {
		part.F32 = m.F32[from*m.Cols : to*m.Cols]
	} else {
		part.F64 = m.F64[from*m.Cols : to*m.Cols]
	}
	return part
}

// encoder turns rows into keys.
type encoder struct {
	columns     []column
	rule        Rule
	maxCategory float64
	plain       bool // no categories, no MissingZero, no MissingNone
}

// encode writes the keys of one row, stride apart.
func encode[K key](e *encoder, m *Matrix, row int, dst []K, stride int) {
	if m.F32 != nil {
		encodeRow(e, m.F32[row*m.Cols:(row+1)*m.Cols], dst, stride)
	} else {
		encodeRow(e, m.F64[row*m.Cols:(row+1)*m.Cols], dst, stride)
	}
}

func encodeRow[K key, F float32 | float64](e *encoder, row []F, dst []K, stride int) {
	at := 0
	for i := range e.columns {
		c := &e.columns[i]
		v := math.NaN()
		if uint(c.feature) < uint(len(row)) {
			v = float64(row[c.feature])
		}
		var k K
		switch {
		case !e.plain && c.category:
			k = K(e.categoryKey(v))
		case e.plain && v == v:
			k = toKey[K](e.rule, v)
		default:
			if !e.plain {
				v = e.special(c, v)
			}
			switch {
			case v == v:
				k = toKey[K](e.rule, v)
			case !c.left:
				k = ^K(0)
			}
		}
		dst[at] = k
		at += stride
	}
}

// toKey is the key of v. Wide keys may hold float32 values too.
func toKey[K key](rule Rule, v float64) K {
	if rule.double() {
		return K(key64(v))
	}
	return K(key32(float32(v)))
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
func (e *encoder) categoryKey(v float64) uint32 {
	if !e.rule.double() {
		v = float64(float32(v))
	}
	switch {
	case v != v:
		return missingLeft
	case e.rule == Less && v < 0, v <= -1, v >= e.maxCategory:
		return noCategory
	default:
		return uint32(v) + 1
	}
}
