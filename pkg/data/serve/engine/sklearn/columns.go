// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"slices"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// columnTransformer sends groups of columns through transformers of their own and joins the results.
type columnTransformer struct {
	fitted
	parts []columnPart
	// prefix and frame are of set_output: the answer is a data frame.
	frame  bool
	prefix bool
	// more says that an array may have more columns than at the fit.
	more bool
	// order are the columns that a data frame must begin with, as versions before 1.0 ask where columns are left over.
	order []string
}

// columnPart is one transformer with its columns.
type columnPart struct {
	name   string
	est    estimator // nil passes the columns through
	weight float64
	selector
}

// selector says which columns a part takes.
type selector struct {
	at    []int    // by position
	names []string // by name, in a data frame
	// single is a column given by itself: the transformer sees a one-dimensional array.
	single bool
	// exact says that the columns were given as a mask or from the end, which before 1.0 asked for as many columns as at the fit.
	exact bool
	// seen are the columns' names at the fit.
	seen []string
}

func buildColumnTransformer(a *attrs) (estimator, error) {
	t := &columnTransformer{fitted: a.fitted()}
	if t.n == 0 && a.has("_n_features") {
		t.n = a.count("_n_features")
	}
	known := t.names
	for _, name := range []string{"_feature_names_in", "_df_columns"} {
		if known == nil && a.has(name) {
			known = a.namesFrom(name)
		}
	}
	if old := a.version != (version{}) && !a.version.atLeast(1, 0); old {
		t.more = !a.version.atLeast(0, 24)
		rest, ok := pickle.Items(a.value("_remainder"))
		if ok && len(rest) == 3 && rest[2] != nil && a.flag("_has_str_cols", !a.version.atLeast(0, 22) || a.picksByName()) {
			t.order = known
		}
	}
	t.frame = a.frameOutput()
	t.prefix = a.flag("verbose_feature_names_out", true)
	indices, _ := a.value("_transformer_to_input_indices").(*pickle.Dict)
	weights, _ := a.value("transformer_weights").(*pickle.Dict)
	for i, item := range a.items("transformers_") {
		part, ok := pickle.Items(item)
		if !ok || len(part) != 3 {
			a.fail("transformers_", "entry %d is %s, not a name, a transformer and columns", i, pickle.Kind(item))
			break
		}
		name, _ := pickle.Text(part[0])
		p := columnPart{name: name, weight: 1}
		text, isText := pickle.Text(part[1])
		if isText && text == "drop" || part[1] == nil {
			continue
		}
		p.selector = a.selector(name, part[2], indices, known, t.n)
		if a.err != nil {
			break
		}
		if len(p.at) == 0 && len(p.selector.names) == 0 {
			continue
		}
		if !isText {
			p.est = a.estimator(name, part[1])
			if a.err == nil && !slices.Contains(p.est.methods(), transform) {
				a.fail(name, "it does not transform")
			}
		}
		if weights != nil {
			if w, ok := weights.Lookup(name); ok {
				p.weight, _ = pickle.Float(w)
			}
		}
		t.parts = append(t.parts, p)
	}
	// Columns are picked by name from a data frame, so its own order and number are free.
	t.fitted.names = nil
	return t, a.err
}

// picksByName reports whether any columns were given by name.
func (a *attrs) picksByName() bool {
	for _, item := range a.items("transformers_") {
		part, _ := pickle.Items(item)
		if len(part) != 3 {
			continue
		}
		columns := part[2]
		if items, ok := pickle.Items(columns); ok && len(items) > 0 {
			columns = items[0]
		}
		if o, ok := columns.(*pickle.Object); ok && len(o.Args) > 0 { // a slice
			columns = o.Args[0]
		}
		if _, ok := pickle.Text(columns); ok {
			return true
		}
	}
	return false
}

// namesFrom reads column names from a list, an array or a pandas index.
func (a *attrs) namesFrom(name string) []string {
	v := a.value(name)
	if o, ok := v.(*pickle.Object); ok && len(o.Args) > 0 { // an Index
		if d, ok := o.Args[0].(*pickle.Dict); ok {
			v, _ = d.Lookup("data")
		}
	}
	items, _ := pickle.Items(v)
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := pickle.Text(item)
		if !ok {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// selector reads one part's columns. indices are those the library resolved itself, from version 1.0.
func (a *attrs) selector(name string, columns any, indices *pickle.Dict, known []string, n int) selector {
	var s selector
	byName := false
	switch v := columns.(type) {
	case string:
		s.single, byName = true, true
		s.names = []string{v}
	case int64:
		s.single = true
		s.at = []int{int(v)}
	case *pickle.Object:
		if v.Class.Name == "slice" {
			a.slice(&s, name, v, known, n)
			break
		}
		data, _ := v.Attr("data") // the remainder, a list with a note
		a.list(&s, name, data)
	default:
		a.list(&s, name, columns)
	}
	byName = byName || s.names != nil
	if indices != nil {
		if resolved, ok := indices.Lookup(name); ok {
			at, ok := intItems(resolved)
			if !ok {
				a.fail("_transformer_to_input_indices", "%s: positions expected, got %s", name, pickle.Kind(resolved))
			}
			s.at = at
		}
	}
	for i, j := range s.at {
		if j < 0 && j >= -n {
			s.at[i] += n
			s.exact = true
		}
		if s.at[i] < 0 || n > 0 && s.at[i] >= n {
			a.fail("transformers_", "%s takes column %d of %d", name, j, n)
			return selector{}
		}
	}
	if s.seen = s.names; s.seen == nil {
		s.seen = namesAt(known, s.at)
	}
	if byName {
		if s.names == nil {
			s.names = namesAt(known, s.at)
		}
		s.at = nil // names need a data frame
	} else if a.version.atLeast(1, 0) || a.version.major == 0 && a.has("feature_names_in_") {
		s.names = namesAt(known, s.at)
	}
	return s
}

func namesAt(known []string, at []int) []string {
	if known == nil {
		return nil
	}
	out := make([]string, 0, len(at))
	for _, j := range at {
		if j >= len(known) {
			return nil
		}
		out = append(out, known[j])
	}
	return out
}

func intItems(v any) ([]int, bool) {
	if o, ok := v.(*pickle.Object); ok {
		v, _ = o.Attr("data")
	}
	items, ok := pickle.Items(v)
	if !ok {
		return nil, false
	}
	out := make([]int, len(items))
	for i, item := range items {
		n, ok := pickle.Int(item)
		if !ok || n < -1<<31 || n > 1<<31 {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// list reads columns given as names, positions or a mask.
func (a *attrs) list(s *selector, name string, v any) {
	items, ok := pickle.Items(v)
	if !ok {
		a.fail("transformers_", "the columns of %s are %s", name, pickle.Kind(v))
		return
	}
	if len(items) == 0 {
		return
	}
	if _, isBool := pickle.Bool(items[0]); isBool {
		s.exact = true
		for j, item := range items {
			if on, _ := pickle.Bool(item); on {
				s.at = append(s.at, j)
			}
		}
		return
	}
	if _, isText := pickle.Text(items[0]); isText {
		for _, item := range items {
			text, ok := pickle.Text(item)
			if !ok {
				a.fail("transformers_", "the columns of %s are names and %s", name, pickle.Kind(item))
				return
			}
			s.names = append(s.names, text)
		}
		return
	}
	at, ok := intItems(v)
	if !ok {
		a.fail("transformers_", "the columns of %s are %s", name, pickle.Kind(items[0]))
	}
	s.at = at
}

// maxSpread bounds the columns that all slices of a file stand for: each takes memory that the file has not paid for.
const maxSpread = 1 << 22

// slice reads columns given as slice(start, stop, step): of positions, or of names with the last included.
func (a *attrs) slice(s *selector, name string, o *pickle.Object, known []string, n int) {
	if known != nil {
		n = len(known)
	}
	bounds := []int{0, n, 1}
	byName := false
	for i, v := range o.Args {
		if text, ok := pickle.Text(v); ok && i < 2 {
			at := slices.Index(known, text)
			if at < 0 {
				a.fail("transformers_", "the columns of %s begin or end at %q, which is unknown", name, text)
				return
			}
			bounds[i], byName = at+i, true
			continue
		}
		if k, ok := pickle.Int(v); ok && i < 3 {
			if k < 0 && i < 2 {
				k += int64(n)
			}
			bounds[i] = int(min(max(k, 0), int64(n)))
		}
	}
	if bounds[2] < 1 {
		a.unsupported("columns in a slice with a negative step")
		return
	}
	if a.spread += max(bounds[1]-bounds[0], 0) / bounds[2]; a.spread > maxSpread {
		a.fail("transformers_", "slices stand for more than %d columns", maxSpread)
		return
	}
	for j := bounds[0]; j < bounds[1]; j += bounds[2] {
		s.at = append(s.at, j)
	}
	if byName {
		s.names = namesAt(known, s.at)
	}
}

func (t *columnTransformer) methods() []string { return []string{transform} }

func (t *columnTransformer) run(c *call, _ string, x *table) (*table, error) {
	if x.names == nil && (!t.more || x.cols <= t.n) || t.n > 0 && x.cols < t.n && !t.namesOnly() {
		if err := t.checkShape(x); err != nil {
			return nil, err
		}
	}
	if t.order != nil && x.names != nil && len(x.names) >= len(t.order) && !slices.Equal(x.names[:len(t.order)], t.order) {
		return nil, protocol.Errorf(protocol.Invalid, "%s passes on columns by position, so the columns must be in the order %s, got %s", t.class, listed(t.order), listed(x.names))
	}
	if x.rows == 0 {
		return nil, protocol.Errorf(protocol.Invalid, "%s expected at least one row, got none", t.class)
	}
	results := make([]*table, 0, len(t.parts))
	for i := range t.parts {
		y, err := t.parts[i].run(c, t, x)
		if err != nil {
			return nil, err
		}
		results = append(results, y)
	}
	if t.frame {
		y := c.sideBySide(x.rows, results)
		y.names = t.namesOut(results)
		return y, nil
	}
	return c.join(x.rows, results), nil
}

func (t *columnTransformer) namesOnly() bool {
	for i := range t.parts {
		if t.parts[i].names == nil {
			return false
		}
	}
	return true
}

func (p *columnPart) run(c *call, t *columnTransformer, x *table) (*table, error) {
	part, err := p.pick(c, t, x)
	if err != nil || p.est == nil {
		return part, err
	}
	y, err := p.est.run(c, transform, part)
	if err != nil || p.weight == 1 {
		return y, err
	}
	if y, err = c.matrix(y); err != nil {
		return nil, err
	}
	scaled := c.numbers(y.rows, y.cols, y.typ)
	for i, v := range y.num {
		scaled.num[i] = v * p.weight
	}
	return scaled, nil
}

// pick is the part of x that p takes.
func (p *columnPart) pick(c *call, t *columnTransformer, x *table) (*table, error) {
	y := c.table()
	y.rows = x.rows
	n := max(len(p.at), len(p.selector.names))
	y.cols, y.columns = n, make([]column, n)
	byName := x.names != nil && p.selector.names != nil
	if byName {
		y.names = p.selector.names
	} else if p.exact && t.more && x.cols != t.n {
		return nil, protocol.Errorf(protocol.Invalid, "%s expected %d columns, got %d", t.class, t.n, x.cols)
	} else if p.at == nil {
		return nil, protocol.Errorf(protocol.Invalid, "%s picks columns by name (%s): send named columns, not an array", t.class, listed(p.selector.names))
	}
	for i := range n {
		var j int
		if byName {
			if j = slices.Index(x.names, p.selector.names[i]); j < 0 {
				return nil, protocol.Errorf(protocol.Invalid, "%s needs the column %q, got %s", t.class, p.selector.names[i], listed(x.names))
			}
		} else if j = p.at[i]; j >= x.cols {
			return nil, protocol.Errorf(protocol.Invalid, "%s needs column %d, got %d columns", t.class, j, x.cols)
		}
		y.columns[i] = x.column(j)
	}
	if !byName && x.names != nil {
		y.names = namesAt(x.names, p.at)
	}
	if y.typ = common(y.columns); x.names != nil {
		y.typ = interleaved(y.columns)
	}
	if p.single {
		y.vector = true
	}
	return y, nil
}

// join puts tables side by side.
func (c *call) join(rows int, parts []*table) *table {
	cols := 0
	typ := float64s
	for i, p := range parts {
		cols += p.cols
		if i == 0 {
			typ = p.typ
		} else {
			typ = promote(typ, p.typ)
		}
	}
	if typ == objects {
		y := c.sideBySide(rows, parts)
		y.typ = objects
		return y
	}
	y := c.numbers(rows, cols, typ)
	at := 0
	for _, p := range parts {
		for j := range p.cols {
			col := p.column(j)
			for i := range rows {
				y.num[i*cols+at+j] = col.float(i)
			}
		}
		at += p.cols
	}
	return y
}

// sideBySide keeps the columns' own types.
func (c *call) sideBySide(rows int, parts []*table) *table {
	y := c.table()
	y.rows = rows
	for _, p := range parts {
		for j := range p.cols {
			y.columns = append(y.columns, p.column(j))
		}
	}
	y.cols, y.typ = len(y.columns), interleaved(y.columns)
	return y
}
