// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"github.com/kserve-go/kserve-go/pkg/data/pickle"
)

// named is an estimator that names the columns it makes.
type named interface {
	// columnNames are the names of the columns made from columns named in.
	columnNames(in []string) []string
}

// frameOutput reports whether set_output asked for data frames.
func (a *attrs) frameOutput() bool {
	config, ok := a.value("_sklearn_output_config").(*pickle.Dict)
	if !ok {
		return false
	}
	v, ok := config.Lookup("transform")
	if !ok || v == nil {
		return false
	}
	text, _ := pickle.Text(v)
	switch text {
	case "default":
		return false
	case "pandas", "polars":
		return true
	}
	a.unsupported("set_output(transform=%q)", text)
	return false
}

// plainOutput is for estimators whose set_output shows only in the steps they consist of.
func (a *attrs) plainOutput() { _ = a.frameOutput() }

// namesOut are the names of a data frame's columns: the part's name before each where asked for.
func (t *columnTransformer) namesOut(results []*table) []string {
	var out []string
	for i, y := range results {
		p := &t.parts[i]
		in := p.seen
		names := in
		if y.names != nil {
			names = y.names
		} else if n, ok := p.est.(named); ok && p.est != nil {
			names = n.columnNames(in)
		}
		for j := range y.cols {
			name := ""
			if j < len(names) {
				name = names[j]
			}
			if t.prefix {
				name = p.name + "__" + name
			}
			out = append(out, name)
		}
	}
	return out
}
