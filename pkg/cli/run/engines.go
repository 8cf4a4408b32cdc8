// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"

	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/lightgbm"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/xgboost"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// probaSuffix names the variant of an engine whose models answer with probabilities, as PREDICT_PROBA asks for.
const probaSuffix = "-proba"

const predictProba = "predict_proba"

func formats() []engine.Engine { return []engine.Engine{sklearn.New(), xgboost.New(), lightgbm.New()} }

// engines are all that this program can open, each also as its probability variant: in a cluster that is a setting of the
// service's own server, here the services share one.
func engines() []engine.Engine {
	var all []engine.Engine
	for _, e := range formats() {
		all = append(all, e, proba{e})
	}
	return all
}

func formatNames() []string {
	var names []string
	for _, e := range formats() {
		names = append(names, e.Name())
	}
	return names
}

type proba struct{ engine.Engine }

func (p proba) Name() string { return p.Engine.Name() + probaSuffix }

func (p proba) Open(ctx context.Context, file string, o engine.Options) (engine.Model, error) {
	m, err := p.Engine.Open(ctx, file, o)
	if err != nil || !slices.Contains(m.Metadata().Methods, predictProba) {
		return m, err
	}
	return probaModel{m}, nil
}

type probaModel struct{ engine.Model }

// Predict calls predict_proba where the request names no method.
func (m probaModel) Predict(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if in.Method != "" {
		return m.Model.Predict(ctx, in, out)
	}
	asked := *in
	asked.Method = predictProba
	return m.Model.Predict(ctx, &asked, out)
}
