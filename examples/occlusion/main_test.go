// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/examples/exampletest"
	"github.com/kserve-go/kserve-go/pkg/data/client"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// linear is a predictor whose explanation everybody knows: weight times value.
type linear []float64

func (weights linear) Predict(_ context.Context, in *tensor.Request, out *tensor.Response) error {
	values, ok := in.Inputs[0].AppendFloat64s(nil)
	if !ok || int(in.Inputs[0].Shape[1]) != len(weights) {
		return protocol.Errorf(protocol.Invalid, "expected %d numbers in a row", len(weights))
	}
	answer := tensor.View[float64](out.Add("output-0", tensor.FP64, in.Inputs[0].Shape[0]))
	for i := range answer {
		answer[i] = 7
		for j, w := range weights {
			answer[i] += w * values[i*len(weights)+j]
		}
	}
	return nil
}

func TestExplanationsOfALinearModel(t *testing.T) {
	m, err := serve.NewModel(linear{2, -1, 0.5})
	require.NoError(t, err)
	predictor := exampletest.Start(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}})
	for _, to := range exampletest.Protocols() {
		t.Run(string(to), func(t *testing.T) {
			s := exampletest.Explainer(t, occlusion{}, predictor, to)
			c := s.Client(t, client.V1)
			rows := func(values []float64, shape ...int64) *tensor.Request {
				return &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, values, shape...)}}
			}
			got, err := c.Explain(t.Context(), rows([]float64{1, 2, 3, 10, 20, 30}, 2, 3))
			require.NoError(t, err)
			require.JSONEq(t, `[[2, -2, 1.5], [20, -20, 15]]`, string(got))

			// Predictions are the predictor's, and so are its errors.
			var out tensor.Response
			require.NoError(t, c.Predict(t.Context(), rows([]float64{1, 2, 3}, 1, 3), &out))
			require.InDelta(t, 8.5, out.Outputs[0].Float64(0), 0)
			_, err = c.Explain(t.Context(), rows([]float64{1, 2}, 1, 2))
			require.EqualError(t, err, "expected 3 numbers in a row")
			require.Equal(t, protocol.Invalid, protocol.From(err).Code)
		})
	}
}

func TestWhatCannotBeExplained(t *testing.T) {
	big := make([]float64, 3000)
	for want, in := range map[string]*tensor.Tensor{
		"expected rows of numbers":            tensor.From("x", tensor.FP64, []float64{1}, 1),
		"expected rows of numbers, got BYTES": tensor.FromStrings("x", []string{"a"}, 1, 1),
		"1 rows of 3000 numbers are too many": tensor.From("x", tensor.FP64, big, 1, 3000),
	} {
		err := occlusion{}.Explain(t.Context(), &tensor.Request{Inputs: []*tensor.Tensor{in}}, &tensor.Response{})
		require.ErrorContains(t, err, strings.TrimSpace(want), fmt.Sprint(in.Shape))
	}
}
