// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// ordinal replaces categories by their numbers, as boosting on histograms does before it looks at a row.
type ordinal struct {
	fitted
	columns      []ordinalColumn
	errorUnknown bool
	unknown      float64
	missing      float64 // the number of NaN where it is a category
	typ          dtype
	frame        bool
}

type ordinalColumn struct {
	*categories
	code []float64 // by category
}

func buildOrdinal(a *attrs) (estimator, error) {
	e := &ordinal{fitted: a.fitted(), frame: a.frameOutput(), unknown: nan}
	switch handle := a.textOr("handle_unknown", "error"); handle {
	case "error":
		e.errorUnknown = true
	case "use_encoded_value":
		e.unknown = a.numberOr("unknown_value", nan)
	default:
		a.unsupported("handle_unknown=%q", handle)
	}
	e.missing = a.numberOr("encoded_missing_value", nan)
	e.typ = a.outputType("dtype")
	items := a.items("categories_")
	a.columns(&e.fitted, len(items), "categories_")
	var groups []any
	if a.flag("_infrequent_enabled", false) {
		if groups = a.items("_default_to_infrequent_mappings"); a.err == nil && len(groups) != len(items) {
			a.fail("_default_to_infrequent_mappings", "%d entries for %d columns", len(groups), len(items))
		}
	}
	for j, item := range items {
		col := ordinalColumn{categories: a.categories("categories_", item)}
		if a.err != nil {
			return nil, a.err
		}
		for i := range col.cells {
			col.code = append(col.code, float64(i))
		}
		if groups != nil && groups[j] != nil {
			a.group(&col, groups[j])
		}
		if col.nan >= 0 {
			col.code[col.nan] = e.missing
		}
		e.columns = append(e.columns, col)
	}
	return e, a.err
}

// group gives the categories that are seldom one number.
func (a *attrs) group(col *ordinalColumn, v any) {
	mapped, ok := intItems(v)
	if _, isArray := v.(*pickle.Array); !ok || !isArray || len(mapped) < len(col.code) && col.nan < 0 {
		a.fail("_default_to_infrequent_mappings", "expected %d positions", len(col.code))
		return
	}
	for i := range col.code {
		if i < len(mapped) {
			col.code[i] = float64(mapped[i])
		}
	}
}

func (e *ordinal) methods() []string { return []string{transform} }

func (e *ordinal) columnNames(in []string) []string {
	if in != nil {
		return in
	}
	var out []string
	for j := range e.columns {
		out = append(out, "x"+strconv.Itoa(j))
	}
	return out
}

func (e *ordinal) run(c *call, _ string, x *table) (*table, error) {
	if err := e.checkShape(x); err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, len(e.columns), e.typ)
	for j := range e.columns {
		k := &e.columns[j]
		col := x.column(j)
		for i := range x.rows {
			v := col.cell(i)
			if v.kind == floatCell && v.num-v.num != 0 && v.num == v.num { // infinity
				return nil, protocol.Errorf(protocol.Invalid, "%s does not take infinity: row %d, column %s", e.class, i, columnName(x, j))
			}
			at := k.find(v)
			switch {
			case at >= 0:
				y.num[i*y.cols+j] = k.code[at]
			case e.errorUnknown:
				return nil, protocol.Errorf(protocol.Invalid, "%s: row %d, column %s has %q, which was no category in training", e.class, i, columnName(x, j), cellText(v.plain()))
			default:
				y.num[i*y.cols+j] = e.unknown
			}
		}
	}
	if e.frame {
		y.names = e.columnNames(x.names)
	}
	return y, nil
}
