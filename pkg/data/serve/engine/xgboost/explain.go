// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"context"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/rows"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// Explain implements engine.Explainer: what each feature contributes to the margins, which are what predictions are made of. The parameter
// iteration_range and its like choose the trees.
func (m *model) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	call, err := callOf(in.Parameters)
	if err != nil {
		return err
	}
	call.Output = Contributions
	b := m.buffers.Take()
	defer m.buffers.Give(b)
	x, err := rows.Read(&m.schema, in, b)
	if err != nil {
		return err
	}
	if err := Check(in.Inputs[0].Name, x); err != nil {
		return err
	}
	width := m.Groups * (m.Features + 1)
	if err := rows.Fits(int64(x.Rows), int64(width)); err != nil {
		return err
	}
	a := m.Attribution()
	a.Begin(out, x.Rows, m.Groups, m.Features)
	return rows.Blocks(ctx, x, width, func(part trees.Matrix, block []float64) error { return m.Contributions(ctx, part, call, block) }, a.Set)
}

// Attribution is what is said about the booster's contributions.
func (b *Booster) Attribution() engine.Attribution {
	a := engine.Attribution{Algorithm: "tree_shap", Unit: "margin", Features: b.Names}
	if len(a.Features) == 0 {
		a.Features = nil
	}
	if b.forest == nil {
		a.Algorithm, a.Background = "linear", make([]float64, b.Features)
	}
	return a
}
