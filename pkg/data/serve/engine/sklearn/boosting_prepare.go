// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
)

// preparation is what boosting on histograms does to a row before it looks at it, from 1.4 on and where there are categorical
// columns: they are encoded and moved to the front.
type preparation struct {
	encoder              estimator
	categorical, numeric []int
}

// preparation reads _preprocessor, a column transformer of a fixed form: an encoder, and the numeric columns as they are.
func (a *attrs) preparation(columns int) *preparation {
	p := &preparation{}
	i := a.inner("_preprocessor")
	indices, ok := i.must("_transformer_to_input_indices").(*pickle.Dict)
	if !ok {
		i.bad("_transformer_to_input_indices", "a dict")
	} else {
		p.categorical = i.positions(indices, "encoder", columns)
		p.numeric = i.positions(indices, "numerical", columns)
	}
	if i.err == nil && len(p.categorical)+len(p.numeric) != columns {
		i.fail("_transformer_to_input_indices", "it has %d columns of %d", len(p.categorical)+len(p.numeric), columns)
	}
	for _, item := range i.items("transformers_") {
		part, ok := pickle.Items(item)
		if !ok || len(part) != 3 {
			i.fail("transformers_", "an entry is %s, not a name, a transformer and columns", pickle.Kind(item))
			break
		}
		if name, _ := pickle.Text(part[0]); name == "encoder" {
			p.encoder = i.estimator("encoder", part[1])
		}
	}
	if _, ok := p.encoder.(*ordinal); i.err == nil && !ok {
		i.fail("transformers_", "there is no OrdinalEncoder under the name encoder")
	}
	a.err = i.err
	return p
}

func (a *attrs) positions(d *pickle.Dict, name string, columns int) []int {
	v, _ := d.Lookup(name)
	at, ok := intItems(v)
	for _, i := range at {
		if i < 0 || i >= columns {
			a.fail("_transformer_to_input_indices", "%s has column %d of %d", name, i, columns)
		}
	}
	if !ok && v != nil {
		a.fail("_transformer_to_input_indices", "%s: expected positions, got %s", name, pickle.Kind(v))
	}
	return at
}

func (p *preparation) run(c *call, x *table) (*table, error) {
	part := c.table()
	part.rows, part.cols = x.rows, len(p.categorical)
	part.columns = make([]column, len(p.categorical))
	for k, j := range p.categorical {
		part.columns[k] = x.column(j)
		if x.names != nil {
			part.names = append(part.names, x.names[j])
		}
	}
	codes, err := p.encoder.run(c, transform, part)
	if err != nil {
		return nil, err
	}
	y := c.numbers(x.rows, len(p.categorical)+len(p.numeric), float64s)
	for i := range x.rows {
		copy(y.row(i), codes.row(i))
	}
	for k, j := range p.numeric {
		col := x.column(j)
		for i := range x.rows {
			v, ok := numeric(col.cell(i))
			if !ok {
				return nil, protocol.Errorf(protocol.Invalid, "row %d, column %s: expected a number, got %q", i, columnName(x, j), col.cell(i).text)
			}
			y.row(i)[len(p.categorical)+k] = v
		}
	}
	return y, nil
}
