// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func dict(pairs ...any) *pickle.Dict {
	d := &pickle.Dict{}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
	return d
}

// allOf is a column transformer that passes on all its n columns, as often as times says.
func allOf(n int64, times int) *pickle.Object {
	every := &pickle.Object{Class: pickle.Global{Module: "builtins", Name: "slice"}, Args: pickle.Tuple{nil, nil, nil}}
	parts := &pickle.List{}
	for range times {
		parts.Items = append(parts.Items, pickle.Tuple{"all", "passthrough", every})
	}
	return &pickle.Object{
		Class: pickle.Global{Module: "sklearn.compose._column_transformer", Name: "ColumnTransformer"},
		State: dict("n_features_in_", n, "transformers_", parts, "_sklearn_version", "1.4.0"),
	}
}

func TestSlicesOfManyColumnsAreRefused(t *testing.T) {
	open := func(o *pickle.Object) error {
		l := &loader{registry: newRegistry(), built: map[*pickle.Object]estimator{}, threads: 1}
		_, err := l.build(o, "model")
		return err
	}
	require.NoError(t, open(allOf(1000, 1000)))
	var bad *engine.BadModel
	require.ErrorAs(t, open(allOf(1<<30, 1)), &bad)
	require.ErrorAs(t, open(allOf(1<<20, 1000)), &bad)
}

// wide makes every row far wider than it came.
type wide struct {
	fitted
	broken bool
}

func (w *wide) methods() []string { return []string{transform} }

func (w *wide) run(c *call, _ string, x *table) (*table, error) {
	if w.broken {
		panic("a fault of the estimator")
	}
	return c.numbers(x.rows, 1<<27, float64s), nil
}

func TestARequestThatNeedsTooMuchMemoryIsRefused(t *testing.T) {
	m := newModel("Wide", &wide{})
	in := &tensor.Request{Inputs: []*tensor.Tensor{tensor.From("x", tensor.FP64, make([]float64, 3), 3, 1)}}
	for range 3 { // what a request took is not held against the next
		var out tensor.Response
		var e *protocol.Error
		require.ErrorAs(t, m.Predict(t.Context(), in, &out), &e)
		require.Equal(t, protocol.TooLarge, e.Code)
		require.Contains(t, e.Message, "send fewer rows")
	}
	require.PanicsWithValue(t, "a fault of the estimator", func() {
		_ = newModel("Broken", &wide{broken: true}).Predict(t.Context(), in, &tensor.Response{})
	})
}
