// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

var nan = math.NaN() //nolint:gochecknoglobals // a constant that Go cannot spell

// finite says which numbers an estimator takes.
type finite uint8

const (
	onlyFinite finite = iota
	allowNaN
	allowAll
)

// check is the library's validation of X: two dimensions, at least one row, the columns of the fit, numbers, finite.
// The result holds rows of numbers and is x itself where x is that already. float32s stay float32s; other numbers, and objects
// that are numbers, become float64s, but for integers and bools, whose type stays known.
func (f *fitted) check(c *call, x *table, allow finite) (*table, error) {
	if err := f.checkShape(x); err != nil {
		return nil, err
	}
	y, err := c.matrix(x)
	if err != nil {
		return nil, err
	}
	if allow != allowAll && (y.typ == float64s || y.typ == float32s) {
		if err := checkFinite(f, y, allow); err != nil {
			return nil, err
		}
	}
	return y, nil
}

// checkShape is the part of check that does not look at the elements.
func (f *fitted) checkShape(x *table) error {
	if x.vector {
		return protocol.Errorf(protocol.Invalid, "%s expected a two-dimensional array, got one of shape [%d]: send one list of features per row", f.class, x.rows)
	}
	if f.names != nil && x.names != nil && !slices.Equal(f.names, x.names) {
		return protocol.Errorf(protocol.Invalid, "%s was fitted with the columns %s, got %s", f.class, listed(f.names), listed(x.names))
	}
	if x.rows == 0 {
		return protocol.Errorf(protocol.Invalid, "%s expected at least one row, got shape [0 %d]", f.class, x.cols)
	}
	if f.n > 0 && x.cols != f.n {
		return protocol.Errorf(protocol.Invalid, "%s expected %d features in a row, got %d", f.class, f.n, x.cols)
	}
	if x.cols == 0 {
		return protocol.Errorf(protocol.Invalid, "%s expected at least one feature, got shape [%d 0]", f.class, x.rows)
	}
	return nil
}

func listed(names []string) string {
	if len(names) > 12 {
		return strings.Join(names[:12], ", ") + " and " + strconv.Itoa(len(names)-12) + " more"
	}
	return strings.Join(names, ", ")
}

// matrix is x as rows of numbers.
func (c *call) matrix(x *table) (*table, error) {
	if x.columns == nil {
		return x, nil
	}
	typ := common(x.columns)
	if typ == objects {
		typ = float64s
	}
	y := c.numbers(x.rows, x.cols, typ)
	for j := range x.columns {
		col := &x.columns[j]
		if col.typ != objects {
			for i := range x.rows {
				y.num[i*x.cols+j] = col.float(i)
			}
			continue
		}
		for i := range x.rows {
			v, ok := numeric(col.cell(i))
			if !ok || x.text && col.cell(i).kind == textCell {
				return nil, protocol.Errorf(protocol.Invalid, "row %d, column %s: expected a number, got %q", i, columnName(x, j), col.cell(i).text)
			}
			y.num[i*x.cols+j] = v
		}
	}
	y.names = x.names
	return y, nil
}

func columnName(x *table, j int) string {
	if x.names != nil {
		return strconv.Quote(x.names[j])
	}
	return strconv.Itoa(j)
}

// numeric is a cell as Python's float() reads it.
func numeric(c cell) (float64, bool) {
	switch c.kind {
	case noneCell, nanCell:
		return nan, true
	case textCell:
		f, err := strconv.ParseFloat(strings.TrimSpace(c.text), 64)
		return f, err == nil || math.IsInf(f, 0)
	default:
		return c.num, true
	}
}

func checkFinite(f *fitted, y *table, allow finite) error {
	for i, v := range y.num {
		if v-v == 0 {
			continue
		}
		isNaN := v != v // the fastest test for NaN
		if isNaN && allow == allowNaN {
			continue
		}
		what := "infinity"
		if isNaN {
			what = "NaN"
		}
		return protocol.Errorf(protocol.Invalid, "%s does not take %s: row %d, column %s", f.class, what, i/y.cols, columnName(y, i%y.cols))
	}
	return nil
}
