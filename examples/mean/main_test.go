// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/examples/exampletest"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func TestMeans(t *testing.T) {
	m, err := serve.NewModel(mean{})
	require.NoError(t, err)
	s := exampletest.Start(t, serve.Options{Models: []serve.Model{{Name: "m", Model: m}}})
	for _, p := range exampletest.Protocols() {
		t.Run(string(p), func(t *testing.T) {
			c := s.Client(t, p)
			var out tensor.Response
			in := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, []float64{1, 2, 3, 4, 5, 6}, 2, 3)}}
			require.NoError(t, c.Predict(t.Context(), in, &out))
			require.Equal(t, []float64{2, 5}, tensor.View[float64](out.Outputs[0]))
			in.Inputs[0] = tensor.FromStrings("x", []string{"a"}, 1, 1)
			err := c.Predict(t.Context(), in, &tensor.Response{})
			require.ErrorContains(t, err, "expected rows of numbers")
			require.Equal(t, protocol.Invalid, protocol.From(err).Code)
		})
	}
}
