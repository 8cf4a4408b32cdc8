// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"math"
	"strconv"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

func addEncoders(r map[string]builder) {
	r["preprocessing.OneHotEncoder"] = buildOneHot
}

// categories finds a value's position among a column's categories.
type categories struct {
	cells   []cell
	text    map[string]int32
	number  map[float64]int32
	none    int32 // -1 where it is no category
	nan     int32
	numeric bool // the categories have a numeric dtype
}

func (a *attrs) categories(name string, v any) *categories {
	arr := a.asArray(name, v)
	k := &categories{text: map[string]int32{}, number: map[float64]int32{}, none: -1, nan: -1}
	if a.err != nil {
		return k
	}
	values, err := arr.Values()
	if err != nil || len(arr.Shape) != 1 {
		a.fail(name, "expected a list of categories, got %s", pickle.Kind(arr))
		return k
	}
	k.numeric = arr.DType.IsNumeric()
	for i, v := range values {
		c, ok := asCell(v)
		if !ok {
			a.fail(name, "category %d is %s", i, pickle.Kind(v))
			return k
		}
		k.cells = append(k.cells, c)
		switch c.kind {
		case textCell:
			k.text[c.text] = int32(i)
		case noneCell:
			k.none = int32(i)
		case nanCell:
			k.nan = int32(i)
		default:
			k.number[c.num] = int32(i)
		}
	}
	return k
}

// find is the position of a cell's value, or -1.
func (k *categories) find(c cell) int32 {
	c = c.plain()
	switch c.kind {
	case textCell:
		if i, ok := k.text[c.text]; ok {
			return i
		}
		return -1
	case noneCell:
		return k.none
	case nanCell:
		return k.nan
	default:
		if i, ok := k.number[c.num]; ok {
			return i
		}
		return -1
	}
}

// oneHot makes a column of zeros and ones for each category.
type oneHot struct {
	fitted
	columns      []oneHotColumn
	width        int
	errorUnknown bool
	errorNaN     bool // before 0.24 a missing value was an error
	// legacy is the way of 0.20 and 0.21 with integers: categories are 0 to a limit, of which only those seen have a column.
	legacy bool
	typ    dtype
	frame  bool
}

type oneHotColumn struct {
	*categories
	place   []int32 // by category: the column that gets the one, -1 where it was dropped
	unknown int32   // the same for values that are no category
	offset  int
	limit   float64  // legacy: what the values are below
	names   []string // of the columns made, after the column's own name
}

func buildOneHot(a *attrs) (estimator, error) {
	e := &oneHot{fitted: a.fitted(), frame: a.frameOutput()}
	handle := a.textOr("handle_unknown", "error")
	switch handle {
	case "error":
		e.errorUnknown = true
	case "ignore", "infrequent_if_exist", "warn":
	default:
		a.unsupported("handle_unknown=%q", handle)
	}
	e.typ = a.outputType("dtype")
	e.errorNaN = a.version != (version{}) && !a.version.atLeast(0, 24)
	if a.has("feature_name_combiner") {
		if s, _ := pickle.Text(a.value("feature_name_combiner")); s != "concat" && e.frame {
			a.unsupported("a feature_name_combiner of its own")
		}
	}
	e.legacy = a.flag("_legacy_mode", false)
	items := a.items("categories_")
	a.columns(&e.fitted, len(items), "categories_")
	dropped := a.dropped(len(items))
	var limits []float64
	if e.legacy {
		limits = a.legacyLimits(len(items))
	}
	for j, item := range items {
		col := oneHotColumn{categories: a.categories("categories_", item), offset: e.width, unknown: -1}
		if a.err != nil {
			return nil, a.err
		}
		if limits != nil {
			col.limit = limits[j]
		}
		width := a.places(&col, j, dropped[j], handle == "infrequent_if_exist" || handle == "warn")
		e.width += width
		e.columns = append(e.columns, col)
	}
	return e, a.err
}

// legacyLimits reads what the integers of each column are below.
func (a *attrs) legacyLimits(n int) []float64 {
	if s := a.textOr("_n_values", "auto"); s != "auto" || a.textOr("_categorical_features", "all") != "all" {
		a.unsupported("the legacy mode with n_values or categorical_features")
		return nil
	}
	return a.vectorOf(a.first("_n_values_", "n_values_"), n)
}

// legacyCell makes an integer of a number, and refuses what no category can be.
func (e *oneHot) legacyCell(c cell, k *oneHotColumn) (cell, bool) {
	v, ok := numeric(c)
	v = math.Trunc(v)
	c = cell{kind: integerCell, num: v}
	return c, ok && v >= 0 && (v < k.limit || !e.errorUnknown)
}

// outputType is the dtype parameter of an encoder.
func (a *attrs) outputType(name string) dtype {
	switch v := a.value(name).(type) {
	case nil:
		return float64s
	case pickle.Global:
		switch v.Name {
		case "float64", "float", "float_":
			return float64s
		case "float32":
			return float32s
		case "int64", "int", "int_":
			return integers
		case "bool", "bool_":
			return bools
		}
	case *pickle.DType:
		switch v.String() {
		case "<f8":
			return float64s
		case "<f4":
			return float32s
		case "<i8":
			return integers
		}
	case string:
		return map[string]dtype{"float32": float32s, "int": integers, "int64": integers}[v]
	}
	a.unsupported("%s=%s", name, pickle.Kind(a.value(name)))
	return float64s
}

// dropped are the categories that get no column, by column, after infrequent ones were grouped; -1 for none.
func (a *attrs) dropped(n int) []int {
	out := make([]int, n)
	for j := range out {
		out[j] = -1
	}
	name := "drop_idx_"
	if a.has("_drop_idx_after_grouping") {
		name = "_drop_idx_after_grouping"
	}
	if !a.has(name) {
		return out
	}
	items := a.items(name)
	if len(items) != n {
		a.fail(name, "%d entries for %d columns", len(items), n)
		return out
	}
	for j, v := range items {
		if k, ok := pickle.Int(v); ok && k >= 0 && k < 1<<31 {
			out[j] = int(k)
		} else if v != nil {
			a.fail(name, "expected positions of categories, got %s", pickle.Kind(v))
		}
	}
	return out
}

// places works out which column each category of column j lights, and returns how many there are.
func (a *attrs) places(col *oneHotColumn, j, dropped int, infrequentUnknown bool) int {
	n := len(col.cells)
	group := make([]int, n)
	width := n
	for i := range group {
		group[i] = i
	}
	infrequent := false
	if a.flag("_infrequent_enabled", false) {
		maps := a.items("_default_to_infrequent_mappings")
		if a.err != nil || j >= len(maps) {
			a.fail("_default_to_infrequent_mappings", "%d entries, column %d needs one", len(maps), j)
			return 0
		}
		if maps[j] != nil {
			infrequent = true
			mapped, ok := intItems(maps[j])
			if !ok || len(mapped) != n {
				a.fail("_default_to_infrequent_mappings", "column %d: expected %d positions", j, n)
				return 0
			}
			width = 0
			for i, g := range mapped {
				if g < 0 || g >= n {
					a.fail("_default_to_infrequent_mappings", "column %d: position %d of %d", j, g, n)
					return 0
				}
				group[i] = g
				width = max(width, g+1)
			}
		}
	}
	if dropped >= width {
		a.fail("drop_idx_", "column %d: category %d of %d", j, dropped, width)
		return 0
	}
	place := func(g int) int32 {
		switch {
		case g == dropped:
			return -1
		case dropped >= 0 && g > dropped:
			return int32(g - 1)
		}
		return int32(g)
	}
	col.place = make([]int32, n)
	named := make([]string, width)
	for i, g := range group {
		col.place[i] = place(g)
		named[g] = cellText(col.cells[i])
	}
	if infrequent {
		named[width-1] = "infrequent_sklearn"
		if infrequentUnknown {
			col.unknown = place(width - 1)
		}
	}
	for g, name := range named {
		if g != dropped {
			col.names = append(col.names, name)
		}
	}
	return len(col.names)
}

// cellText is str(value).
func cellText(c cell) string {
	switch c.kind {
	case textCell:
		return c.text
	case noneCell:
		return "None"
	case nanCell:
		return "nan"
	case integerCell:
		return strconv.FormatInt(int64(c.num), 10)
	case boolCell:
		if c.num != 0 {
			return "True"
		}
		return "False"
	default:
		if c.num == float64(int64(c.num)) {
			return strconv.FormatFloat(c.num, 'f', 1, 64)
		}
		return strconv.FormatFloat(c.num, 'g', -1, 64)
	}
}

func (e *oneHot) methods() []string { return []string{transform} }

func (e *oneHot) columnNames(in []string) []string {
	var out []string
	for j := range e.columns {
		name := "x" + strconv.Itoa(j)
		if j < len(in) {
			name = in[j]
		}
		for _, s := range e.columns[j].names {
			out = append(out, name+"_"+s)
		}
	}
	return out
}

func (e *oneHot) run(c *call, _ string, x *table) (*table, error) {
	if err := e.checkShape(x); err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, e.width, e.typ)
	clear(y.num)
	for j := range e.columns {
		k := &e.columns[j]
		col := x.column(j)
		for i := range x.rows {
			v := col.cell(i)
			if v.kind == floatCell && v.num-v.num != 0 && v.num == v.num { // infinity
				return nil, protocol.Errorf(protocol.Invalid, "%s does not take infinity: row %d, column %s", e.class, i, columnName(x, j))
			}
			if e.errorNaN && v.plain().kind == nanCell {
				return nil, protocol.Errorf(protocol.Invalid, "%s does not take NaN: row %d, column %s", e.class, i, columnName(x, j))
			}
			if e.legacy {
				var ok bool
				if v, ok = e.legacyCell(v, k); !ok {
					return nil, protocol.Errorf(protocol.Invalid, "%s: row %d, column %s has %s, and its categories are integers from 0 to %v", e.class, i, columnName(x, j), cellText(v), k.limit-1)
				}
			}
			place := k.unknown
			if at := k.find(v); at >= 0 {
				place = k.place[at]
			} else if e.errorUnknown && !e.legacy {
				return nil, protocol.Errorf(protocol.Invalid, "%s: row %d, column %s has %q, which was no category in training", e.class, i, columnName(x, j), cellText(v.plain()))
			}
			if place >= 0 {
				y.num[i*e.width+k.offset+int(place)] = 1
			}
		}
	}
	if e.frame {
		y.names = e.columnNames(x.names)
	}
	return y, nil
}
