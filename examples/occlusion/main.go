// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command occlusion is an explainer: it tells what each number of a row adds to the prediction, by what the predictor says without it.
package main

import (
	"context"
	"os"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// maxNumbers bounds what the predictor is asked for one explanation.
const maxNumbers = 4 << 20

// occlusion takes a number away by making it zero.
type occlusion struct{}

// Explain takes rows of numbers, for a predictor that answers a number for each row, and makes an array of their shape.
func (occlusion) Explain(ctx context.Context, in *tensor.Request, out *tensor.Response) error {
	if len(in.Inputs) != 1 || len(in.Inputs[0].Shape) != 2 {
		return protocol.Errorf(protocol.Invalid, "expected rows of numbers")
	}
	values, ok := in.Inputs[0].AppendFloat64s(nil)
	if !ok {
		return protocol.Errorf(protocol.Invalid, "expected rows of numbers, got %s", in.Inputs[0].Type)
	}
	rows, width := in.Inputs[0].Rows(), int(in.Inputs[0].Shape[1])
	if len(values)*(width+1) > maxNumbers {
		return protocol.Errorf(protocol.TooLarge, "%d rows of %d numbers are too many to explain at once", rows, width)
	}
	// One request asks for everything: each row as it is, then without its first number, without its second …
	var asked []float64
	for i := range rows {
		row := values[i*width : (i+1)*width]
		asked = append(asked, row...)
		for j := range row {
			asked = append(asked, row...)
			asked[len(asked)-width+j] = 0
		}
	}
	var answer tensor.Response
	if err := serve.CallPredictor(ctx, &tensor.Request{Inputs: []*tensor.Tensor{
		tensor.From("input-0", tensor.FP64, asked, int64(rows*(width+1)), int64(width)),
	}}, &answer); err != nil {
		return err
	}
	if len(answer.Outputs) != 1 || answer.Outputs[0].Len() != rows*(width+1) {
		return protocol.Errorf(protocol.Unsupported, "the predictor does not answer a number for each row")
	}
	effects := tensor.View[float64](out.Add("effects", tensor.FP64, int64(rows), int64(width)))
	for i := range effects {
		row, j := i/width, i%width
		effects[i] = answer.Outputs[0].Float64(row*(width+1)) - answer.Outputs[0].Float64(row*(width+1)+1+j)
	}
	return nil
}

func main() { os.Exit(serve.RunExplainer(occlusion{})) }
