// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"
	"math/big"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func addImputers(r map[string]builder) {
	r["impute.SimpleImputer"] = buildSimpleImputer
	r["impute.MissingIndicator"] = buildMissingIndicator
}

// asCell is a plain value as a cell; ok is false for kinds that no column holds.
func asCell(v any) (c cell, ok bool) {
	switch u := pickle.Unwrap(v).(type) {
	case nil:
		return cell{kind: noneCell}, true
	case bool:
		c = cell{kind: boolCell}
		if u {
			c.num = 1
		}
		return c, true
	case int64:
		return cell{kind: integerCell, num: float64(u)}, true
	case *big.Int:
		f, _ := pickle.Float(u)
		return cell{kind: integerCell, num: f}, true
	case float64:
		if math.IsNaN(u) {
			return cell{kind: nanCell, num: u}, true
		}
		return cell{kind: floatCell, num: u}, true
	case string:
		return cell{kind: textCell, text: u}, true
	case pickle.Bytes:
		return cell{kind: textCell, text: string(u)}, true
	}
	return cell{}, false
}

// same is Python's ==, with NaN equal to NaN.
func (c cell) same(d cell) bool {
	c, d = c.plain(), d.plain()
	switch {
	case c.kind == textCell || d.kind == textCell:
		return c.kind == d.kind && c.text == d.text
	case c.kind == noneCell || d.kind == noneCell || c.kind == nanCell || d.kind == nanCell:
		return c.kind == d.kind
	}
	return c.num == d.num
}

// plain gives NaN one form.
func (c cell) plain() cell {
	if c.kind == floatCell && math.IsNaN(c.num) {
		c.kind = nanCell
	}
	return c
}

// imputer fills in for missing elements, column by column.
type imputer struct {
	fitted
	missing   cell
	fill      []cell
	keep      []bool // a column without a statistic is dropped
	anyType   bool   // the strategy works on objects too
	asObjects bool   // it was fitted on objects, and makes objects of everything
	strict    bool   // integers may not take a fill that is a float
	indicator *indicator
	frame     bool
}

func buildSimpleImputer(a *attrs) (estimator, error) {
	s := &imputer{fitted: a.fitted(), frame: a.frameOutput()}
	strategy := a.text("strategy")
	var ok bool
	switch strategy {
	case "mean", "median":
	case "most_frequent", "constant":
		s.anyType = true
	default:
		a.unsupported("the strategy %s", strategy)
	}
	if s.missing, ok = asCell(a.value("missing_values")); !ok {
		a.unsupported("missing_values that are %s", pickle.Kind(a.value("missing_values")))
	}
	if d, ok := a.value("_fit_dtype").(*pickle.DType); ok {
		s.asObjects = d.Kind == 'O'
	}
	statistics := a.array("statistics_")
	if a.err != nil {
		return nil, a.err
	}
	values, err := statistics.Values()
	if err != nil || len(statistics.Shape) != 1 {
		a.bad("statistics_", "a number for each column")
		return nil, a.err
	}
	a.columns(&s.fitted, len(values), "statistics_")
	fillType := statistics.DType
	if d, ok := a.value("_fill_dtype").(*pickle.DType); ok {
		fillType = d
	}
	s.strict = strategy == "constant" && a.version.atLeast(1, 4) && fillType.Kind == 'f'
	dropEmpty := strategy != "constant" && !a.flag("keep_empty_features", false) || strategy == "constant" && a.version.atLeast(1, 8) && !a.flag("keep_empty_features", false)
	for _, v := range values {
		fill, ok := asCell(v)
		if !ok {
			a.fail("statistics_", "expected numbers or strings, got %s", pickle.Kind(v))
		}
		s.fill = append(s.fill, fill)
		s.keep = append(s.keep, !dropEmpty || fill.kind != nanCell)
	}
	if a.flag("add_indicator", false) && a.has("indicator_") {
		est := a.child("indicator_")
		if a.err == nil {
			if s.indicator, ok = est.(*indicator); !ok {
				a.bad("indicator_", "a MissingIndicator")
			}
		}
	}
	return s, a.err
}

func (s *imputer) methods() []string { return []string{transform} }

func (s *imputer) columnNames(in []string) []string {
	var out []string
	for j, name := range in {
		if j < len(s.keep) && s.keep[j] {
			out = append(out, name)
		}
	}
	if s.indicator != nil {
		out = append(out, s.indicator.columnNames(in)...)
	}
	return out
}

// prepare is the validation that depends on the strategy: numbers for mean and median, anything but bools for the others.
func (f *fitted) prepare(c *call, x *table, missing cell, anyType bool) (*table, error) {
	if err := f.checkShape(x); err != nil {
		return nil, err
	}
	if x.typ == bools {
		return nil, protocol.Errorf(protocol.Invalid, "%s does not take bools", f.class)
	}
	if x.typ == objects && anyType && common(x.columns) == objects {
		return x, nil
	}
	allow := onlyFinite
	if missing.kind == nanCell {
		allow = allowNaN
	}
	y, err := f.check(c, x, allow)
	if err == nil && missing.kind == textCell {
		err = protocol.Errorf(protocol.Invalid, "%s looks for the string %q and got numbers", f.class, missing.text)
	}
	return y, err
}

func (s *imputer) run(c *call, _ string, x *table) (*table, error) {
	var err error
	if s.asObjects {
		err = s.checkShape(x)
	} else {
		x, err = s.prepare(c, x, s.missing, s.anyType)
	}
	if err != nil {
		return nil, err
	}
	if s.strict && x.typ == integers && !s.asObjects {
		return nil, protocol.Errorf(protocol.Invalid, "%s fills in floats and got integers", s.class)
	}
	var y *table
	if x.typ == objects || s.asObjects {
		y = s.objects(c, x)
	} else {
		y, err = s.numbers(c, x)
	}
	if err != nil || s.indicator == nil {
		return y, err
	}
	mask := s.indicator.mask(c, x)
	if y.typ != objects {
		mask.typ = y.typ
	}
	names := y.names
	y = c.join(x.rows, []*table{y, mask})
	y.names = names
	return y, nil
}

func (s *imputer) numbers(c *call, x *table) (*table, error) {
	typ := x.typ
	if typ == integers && !s.anyType {
		typ = float64s
	}
	n := 0
	for j, keep := range s.keep {
		if keep {
			n++
			if k := s.fill[j].kind; k == textCell {
				return nil, protocol.Errorf(protocol.Invalid, "%s fills in strings and got numbers", s.class)
			}
		}
	}
	y := c.numbers(x.rows, n, typ)
	if s.frame {
		y.names = s.columnNames(x.names)
	}
	at := 0
	for j, keep := range s.keep {
		if !keep {
			continue
		}
		fill := to32(s.fill[j].num, typ == float32s)
		if s.fill[j].kind == nanCell {
			fill = nan
		}
		for i := range x.rows {
			v := x.num[i*x.cols+j]
			if s.missing.kind == nanCell && math.IsNaN(v) || s.missing.kind != nanCell && s.missing.kind != noneCell && v == s.missing.num {
				v = fill
			}
			y.num[i*n+at] = v
		}
		at++
	}
	return y, nil
}

func (s *imputer) objects(c *call, x *table) *table {
	y := c.table()
	y.rows, y.typ = x.rows, objects
	if s.frame {
		y.names = s.columnNames(x.names)
	}
	for j, keep := range s.keep {
		if !keep {
			continue
		}
		col := x.column(j)
		cells := c.cells(x.rows)
		for i := range cells {
			cells[i] = col.cell(i).plain()
			if cells[i].same(s.missing) {
				cells[i] = s.fill[j]
			}
		}
		y.columns = append(y.columns, column{typ: objects, cells: cells, stride: 1})
	}
	y.cols = len(y.columns)
	return y
}

// indicator marks the missing elements of the columns that had some in training, or of all.
type indicator struct {
	fitted
	missing    cell
	columns    []int
	errorOnNew bool
}

func buildMissingIndicator(a *attrs) (estimator, error) {
	m := &indicator{fitted: a.fitted()}
	var ok bool
	if m.missing, ok = asCell(a.value("missing_values")); !ok {
		a.unsupported("missing_values that are %s", pickle.Kind(a.value("missing_values")))
	}
	m.errorOnNew = a.flag("error_on_new", true) && a.textOr("features", "missing-only") == "missing-only"
	if m.n == 0 && a.has("_n_features") {
		m.n = a.count("_n_features")
	}
	columns, isList := intItems(a.must("features_"))
	if a.err == nil && !isList {
		a.bad("features_", "positions of columns")
	}
	for _, j := range columns {
		if j < 0 || j >= m.n {
			a.fail("features_", "column %d of %d", j, m.n)
			break
		}
	}
	m.columns = columns
	return m, a.err
}

func (m *indicator) methods() []string { return []string{transform} }

func (m *indicator) columnNames(in []string) []string {
	var out []string
	for _, j := range m.columns {
		if j < len(in) {
			out = append(out, "missingindicator_"+in[j])
		}
	}
	return out
}

func (m *indicator) run(c *call, _ string, x *table) (*table, error) {
	x, err := m.prepare(c, x, m.missing, true)
	if err != nil {
		return nil, err
	}
	if m.errorOnNew {
		for j := range x.cols {
			if m.has(j) {
				continue
			}
			col := x.column(j)
			for i := range x.rows {
				if col.cell(i).same(m.missing) {
					return nil, protocol.Errorf(protocol.Invalid, "%s: column %s has missing values and had none in training", m.class, columnName(x, j))
				}
			}
		}
	}
	return m.mask(c, x), nil
}

func (m *indicator) has(j int) bool {
	for _, k := range m.columns {
		if k == j {
			return true
		}
	}
	return false
}

func (m *indicator) mask(c *call, x *table) *table {
	y := c.numbers(x.rows, len(m.columns), bools)
	for k, j := range m.columns {
		col := x.column(j)
		for i := range x.rows {
			v := 0.0
			if col.cell(i).same(m.missing) {
				v = 1
			}
			y.num[i*y.cols+k] = v
		}
	}
	return y
}
