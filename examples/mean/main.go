// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mean serves a model written in Go: it answers the mean of each row.
package main

import (
	"context"
	"os"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// mean answers the mean of each row.
type mean struct{}

func (mean) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	if len(in.Inputs) != 1 || len(in.Inputs[0].Shape) != 2 || in.Inputs[0].Shape[1] == 0 {
		return protocol.Errorf(protocol.Invalid, "expected rows of numbers")
	}
	values, ok := in.Inputs[0].AppendFloat64s(nil)
	if !ok {
		return protocol.Errorf(protocol.Invalid, "expected rows of numbers, got %s", in.Inputs[0].Type)
	}
	rows, columns := in.Inputs[0].Rows(), int(in.Inputs[0].Shape[1])
	means := tensor.View[float64](out.Add("output-0", tensor.FP64, int64(rows)))
	for i := range rows {
		means[i] = 0
		for _, v := range values[i*columns : (i+1)*columns] {
			means[i] += v / float64(columns)
		}
	}
	return nil
}

func main() { os.Exit(serve.Run(mean{})) }
