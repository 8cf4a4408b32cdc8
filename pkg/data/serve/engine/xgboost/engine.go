// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Package xgboost serves XGBoost boosters: JSON, UBJSON and the old binary form, of every release since 0.90.
//
// Called by: data/serve/repository, data/serve/engine/sklearn (boosters inside pickles).
// Next: data/trees, which walks the trees.
package xgboost

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/rows"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// New makes the XGBoost engine.
func New() engine.Engine { return files{} }

type files struct{}

func (files) Name() string { return "xgboost" }

func (files) Extensions() []string { return []string{".bst", ".json", ".ubj", ".model"} }

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

// model is a booster behind the engine's contract.
type model struct {
	*Booster
	schema  rows.Schema
	buffers rows.Buffers
}

// NewModel puts a booster behind the contract of an engine.
func NewModel(b *Booster) engine.Model {
	m := &model{Booster: b, schema: rows.NewSchema(b.Features, b.Names)}
	m.schema.Fewer, m.schema.Exact, m.schema.Known = len(b.Names) == 0, true, true
	m.schema.Codes, m.schema.NumberCodes = b.codes()
	return m
}

func (m *model) Metadata() engine.Metadata {
	call := Call{}
	shape, n, _ := m.Shape(call, -1)
	return engine.Metadata{
		Platform: "xgboost",
		Class:    m.Objective,
		Methods:  []string{"predict"},
		Inputs:   []engine.TensorMetadata{{Name: "input-0", Type: tensor.FP32, Shape: []int64{-1, int64(m.Features)}}},
		Outputs:  []engine.TensorMetadata{{Name: outputName, Type: tensor.FP32, Shape: append([]int64(nil), shape[:n]...)}},
		Features: m.Names,
	}
}

const outputName = "output-0"

func (m *model) Close() error { return nil }

// Predict answers a request. The parameters output_margin, pred_leaf and pred_contribs choose what is answered. iteration_range is
// a string "first,last", or two integers iteration_begin and iteration_end.
func (m *model) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if in.Method != "" && in.Method != "predict" {
		return protocol.Errorf(protocol.Invalid, "method %.40q: an XGBoost model has the method predict only", in.Method)
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
	if err := Check(in.Inputs[0].Name, x); err != nil {
		return err
	}
	out.Absent = m.Features - x.Cols
	shape, n, err := m.Shape(call, x.Rows)
	if err != nil {
		return err
	}
	if err := rows.Fits(shape[:n]...); err != nil {
		return err
	}
	switch call.Output {
	case Leaf:
		return m.answerLeaves(ctx, x, call, out, shape[:n])
	case Contributions:
		return m.answerContributions(ctx, x, call, out, shape[:n])
	case Value, Margin:
	}
	// Softmax needs room for every margin before it keeps the class.
	margins := [2]int64{int64(x.Rows), int64(m.Groups)}
	if err := rows.Fits(margins[:]...); err != nil {
		return err
	}
	t := out.Add(outputName, tensor.FP32, margins[:]...)
	values := tensor.View[float32](t)
	width := 1 // numbers a row that are answered
	if n > 1 {
		width = int(shape[1])
	}
	err = rows.Each(ctx, x, func(part trees.Matrix, from int) error {
		own := values[from*m.Groups : (from+part.Rows)*m.Groups]
		if err := m.Booster.Predict(part, call, own); err != nil {
			return err
		}
		if width < m.Groups {
			copy(values[from*width:], own[:part.Rows*width])
		}
		return nil
	})
	if err != nil {
		return err
	}
	return shrink(t, shape[:n])
}

// answerLeaves answers pred_leaf, as integers where the release that wrote the file did and as floats where it did that.
func (m *model) answerLeaves(ctx context.Context, x trees.Matrix, c Call, out *tensor.Response, shape []int64) error {
	width := int(shape[1])
	if m.intLeaves {
		leaves := tensor.View[int32](out.Add(outputName, tensor.Int32, shape...))
		return rows.Each(ctx, x, func(part trees.Matrix, from int) error {
			return m.Leaves(part, c, leaves[from*width:])
		})
	}
	values := tensor.View[float32](out.Add(outputName, tensor.FP32, shape...))
	var leaves []int32
	return rows.Each(ctx, x, func(part trees.Matrix, from int) error {
		leaves = slices.Grow(leaves[:0], part.Rows*width)[:part.Rows*width]
		if err := m.Leaves(part, c, leaves); err != nil {
			return err
		}
		for i, leaf := range leaves {
			values[from*width+i] = float32(leaf)
		}
		return nil
	})
}

// answerContributions answers pred_contribs.
func (m *model) answerContributions(ctx context.Context, x trees.Matrix, c Call, out *tensor.Response, shape []int64) error {
	single := tensor.View[float32](out.Add(outputName, tensor.FP32, shape...))
	width := m.Groups * (m.Features + 1)
	var values []float64
	return rows.Each(ctx, x, func(part trees.Matrix, from int) error {
		values = slices.Grow(values[:0], part.Rows*width)[:part.Rows*width]
		if err := m.Contributions(ctx, part, c, values); err != nil {
			return err
		}
		for i, v := range values {
			single[from*width+i] = float32(v)
		}
		return nil
	})
}

// shrink gives a tensor a smaller shape over the same memory.
func shrink(t *tensor.Tensor, shape []int64) error {
	elements, _ := tensor.Elements(shape)
	return t.SetRaw(t.Name, t.Type, shape, t.Raw()[:elements*t.Type.Size()])
}

// callOf reads the parameters of a request.
func callOf(p tensor.Parameters) (Call, error) {
	var c Call
	for name, v := range p {
		var on bool
		var err error
		switch name {
		case "output_margin", "pred_leaf", "pred_contribs":
			if on, err = engine.Flag(name, v); err != nil {
				return c, err
			}
			if !on {
				continue
			}
			want := map[string]Output{"output_margin": Margin, "pred_leaf": Leaf, "pred_contribs": Contributions}[name]
			if want > c.Output {
				c.Output = want
			}
		case "iteration_begin":
			c.First, err = engine.Integer(name, v, 0, maxCount)
		case "iteration_end":
			c.Last, err = engine.Integer(name, v, 0, maxCount)
		case "iteration_range":
			c.First, c.Last, err = span(v)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// span reads "first,last", which may stand in brackets as Python prints it.
func span(v any) (first, last int, err error) {
	s, _ := v.(string)
	a, b, ok := strings.Cut(strings.Trim(s, "()[] "), ",")
	if ok {
		if first, err = engine.Integer("iteration_range", a, 0, maxCount); err == nil {
			last, err = engine.Integer("iteration_range", b, 0, maxCount)
		}
	}
	if !ok || err != nil {
		return 0, 0, protocol.Errorf(protocol.Invalid, "parameter iteration_range: expected \"first,last\", got %.40q", fmt.Sprint(v))
	}
	return first, last, nil
}

// codes are the categories that the file keeps, as lookups.
func (b *Booster) codes() (byText []map[string]float64, byNumber []map[float64]float64) {
	if len(b.categories) == 0 {
		return nil, nil
	}
	byText, byNumber = make([]map[string]float64, len(b.categories)), make([]map[float64]float64, len(b.categories))
	for f, c := range b.categories {
		if c.text != nil {
			byText[f] = rows.Codes(c.text)
		}
		if len(c.numbers) > 0 {
			byNumber[f] = map[float64]float64{}
			for i, v := range c.numbers {
				byNumber[f][float64(v)] = float64(i)
			}
		}
	}
	return byText, byNumber
}
