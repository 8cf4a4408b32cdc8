// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lightgbm serves LightGBM boosters from their text files, of every release since 2.3.
//
// Called by: data/serve/repository, data/serve/engine/sklearn (boosters inside pickles).
// Next: data/trees, which walks the trees.
package lightgbm

import (
	"context"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/rows"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// New makes the LightGBM engine.
func New() engine.Engine { return files{} }

type files struct{}

func (files) Name() string { return "lightgbm" }

func (files) Extensions() []string { return []string{".bst", ".txt", ".model"} }

func (files) Open(_ context.Context, file string, o engine.Options) (engine.Model, error) {
	data, err := engine.ReadFile(file, o)
	if err != nil {
		return nil, err
	}
	b, err := Parse(data, o)
	if err != nil {
		return nil, err
	}
	return NewModel(b), nil
}

// NewModel puts a booster behind the contract of an engine.
func NewModel(b *Booster) engine.Model {
	m := &model{Booster: b, schema: rows.NewSchema(b.Features, b.Names)}
	m.schema.Extra = true
	m.schema.Codes, m.schema.NumberCodes = b.codes()
	return m
}

// model is a booster behind the engine's contract.
type model struct {
	*Booster
	schema  rows.Schema
	buffers rows.Buffers
}

const outputName = "output-0"

func (m *model) Close() error { return nil }

func (m *model) Metadata() engine.Metadata {
	shape, n := m.Shape(Call{}, -1)
	return engine.Metadata{
		Platform: "lightgbm",
		Class:    m.Objective,
		Methods:  []string{"predict"},
		Inputs:   []engine.TensorMetadata{{Name: "input-0", Type: tensor.FP64, Shape: []int64{-1, int64(m.Features)}}},
		Outputs:  []engine.TensorMetadata{{Name: outputName, Type: tensor.FP64, Shape: append([]int64(nil), shape[:n]...)}},
		Features: m.Names,
	}
}

// Predict answers a request. The parameters raw_score, pred_leaf and pred_contrib choose what is answered, start_iteration and
// num_iteration the trees that answer.
func (m *model) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if in.Method != "" && in.Method != "predict" {
		return protocol.Errorf(protocol.Invalid, "method %.40q: a LightGBM model has the method predict only", in.Method)
	}
	call, err := callOf(in.Parameters)
	if err != nil {
		return err
	}
	b := m.buffers.Take()
	defer m.buffers.Give(b)
	x, err := rows.Read(&m.schema, in, b)
	if err != nil {
		return err
	}
	shape, n := m.Shape(call, x.Rows)
	if err := rows.Fits(shape[:n]...); err != nil {
		return err
	}
	width := 1 // numbers a row
	if n > 1 {
		width = int(shape[1])
	}
	if call.Output == Leaf {
		leaves := tensor.View[int32](out.Add(outputName, tensor.Int32, shape[:n]...))
		return rows.Each(ctx, x, func(part trees.Matrix, from int) error {
			m.Leaves(part, call, leaves[from*width:])
			return nil
		})
	}
	values := tensor.View[float64](out.Add(outputName, tensor.FP64, shape[:n]...))
	return rows.Each(ctx, x, func(part trees.Matrix, from int) error {
		answer := values[from*width : (from+part.Rows)*width]
		if call.Output == Contributions {
			return m.Contributions(ctx, part, call, answer)
		}
		m.Booster.Predict(part, call, answer)
		return nil
	})
}

// callOf reads the parameters of a request.
func callOf(p tensor.Parameters) (Call, error) {
	var c Call
	for name, v := range p {
		var err error
		switch name {
		case "raw_score":
			err = c.want(Raw, name, v)
		case "pred_leaf":
			err = c.want(Leaf, name, v)
		case "pred_contrib":
			err = c.want(Contributions, name, v)
		case "start_iteration":
			c.Start, err = engine.Integer(name, v, -1, maxCount)
		case "num_iteration":
			c.Count, err = engine.Integer(name, v, -1, maxCount)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// want sets the output when the flag is on; of several the one that says most wins, as in the library.
func (c *Call) want(o Output, name string, v any) error {
	on, err := engine.Flag(name, v)
	if err != nil {
		return err
	}
	if on && o > c.Output {
		c.Output = o
	}
	return nil
}

// codes are the categories that the file keeps of pandas columns, as lookups by feature.
func (b *Booster) codes() (byText []map[string]float64, byNumber []map[float64]float64) {
	if len(b.pandas) == 0 || len(b.pandas) != len(b.categorical) {
		return nil, nil
	}
	byText, byNumber = make([]map[string]float64, b.Features), make([]map[float64]float64, b.Features)
	for i, f := range b.categorical {
		texts, numbers := map[string]float64{}, map[float64]float64{}
		for code, c := range b.pandas[i] {
			switch c := c.(type) {
			case string:
				texts[c] = float64(code)
			case float64:
				numbers[c] = float64(code)
			case bool:
				value := 0.0
				if c {
					value = 1
				}
				numbers[value] = float64(code)
			}
		}
		if len(texts) > 0 {
			byText[f] = texts
		}
		if len(numbers) > 0 {
			byNumber[f] = numbers
		}
	}
	return byText, byNumber
}
