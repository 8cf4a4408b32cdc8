// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// Attribution is an explanation that adds up: for each row and output of a model, what each feature contributed, and what the model gives
// without knowing any of them. Their sum is what the model gives for the row, in Unit.
type Attribution struct {
	// Algorithm is tree_shap, or linear.
	Algorithm string
	// Unit is what is added up: "prediction", "probability", "margin" … It is not always what the model answers.
	Unit string
	// Features are the names of the columns; may be nil.
	Features []string
	// Outputs are the names of the outputs, the classes of a classifier; may be nil.
	Outputs []string
	// Background are the values of the features that count as contributing nothing, where the algorithm has such; else nil.
	Background []float64

	rows, outputs, features int
	values, base            []float64
}

// Begin makes room in out for so many rows, outputs and features, and adds what is known already. The parts of the answer are the fields of
// the explanation in V1, by name: shap_values of shape [rows, features], or [rows, outputs, features] where there are several
// outputs; base_values, a number or one for each output; and the fields of a.
func (a *Attribution) Begin(out *tensor.Response, rows, outputs, features int) {
	a.rows, a.outputs, a.features = rows, outputs, features
	text := func(name, value string) { out.Add(name, tensor.Bytes).AppendString(value) }
	text("algorithm", a.Algorithm)
	text("unit", a.Unit)
	texts := func(name string, values []string) {
		if values == nil {
			return
		}
		t := out.Add(name, tensor.Bytes, int64(len(values)))
		for _, v := range values {
			t.AppendString(v)
		}
	}
	texts("feature_names", a.Features)
	texts("outputs", a.Outputs)
	if a.Background != nil {
		copy(tensor.View[float64](out.Add("background", tensor.FP64, int64(len(a.Background)))), a.Background)
	}
	if outputs == 1 {
		a.base = tensor.View[float64](out.Add("base_values", tensor.FP64))
		a.values = tensor.View[float64](out.Add("shap_values", tensor.FP64, int64(rows), int64(features)))
	} else {
		a.base = tensor.View[float64](out.Add("base_values", tensor.FP64, int64(outputs)))
		a.values = tensor.View[float64](out.Add("shap_values", tensor.FP64, int64(rows), int64(outputs), int64(features)))
	}
	clear(a.base)
}

// Set takes rows from row from on, in blocks of features + 1 numbers an output: the contributions and behind them the base value, which is
// the same for all rows.
func (a *Attribution) Set(from int, blocks []float64) {
	width := a.features + 1
	for i := range len(blocks) / width {
		block := blocks[i*width : (i+1)*width]
		copy(a.values[(from*a.outputs+i)*a.features:], block[:a.features])
		a.base[i%a.outputs] = block[a.features]
	}
}
