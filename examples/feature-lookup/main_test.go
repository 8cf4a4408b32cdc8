// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kserve-go/kserve-go/examples/exampletest"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine/sklearn"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// iris is a predictor that serves the scikit-learn model of the protocol's recordings.
func iris(t *testing.T) exampletest.Server {
	t.Helper()
	return exampletest.Start(t, serve.Options{
		Engines: []engine.Engine{sklearn.New()}, ModelDir: "../../test/data/protocol/models/iris-logreg", ModelName: "m",
	})
}

func TestKeysBecomePredictions(t *testing.T) {
	dir := t.TempDir()
	features := `{"setosa": [5.1, 3.5, 1.4, 0.2], "virginica": [6.7, 3.0, 5.2, 2.3]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "features.json"), []byte(features), 0o600))
	predictor := iris(t)
	for _, to := range exampletest.Protocols() {
		s := exampletest.Transformer(t, &lookup{}, dir, predictor, to)
		for _, from := range exampletest.Protocols() {
			t.Run(string(from)+" before "+string(to), func(t *testing.T) {
				c := s.Client(t, from)
				keys := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.FromStrings("key", []string{"virginica", "setosa"}, 2)}}
				var out tensor.Response
				require.NoError(t, c.Predict(t.Context(), keys, &out))
				require.Equal(t, []int64{2, 0}, tensor.View[int64](out.Outputs[0]))

				keys.Inputs[0] = tensor.FromStrings("key", []string{"tulip"}, 1)
				err := c.Predict(t.Context(), keys, &tensor.Response{})
				require.EqualError(t, err, `there are no features of the key "tulip"`)
				require.Equal(t, protocol.NotFound, protocol.From(err).Code)

				ready, err := c.ServerReady(t.Context())
				require.NoError(t, err)
				require.True(t, ready)
				require.True(t, c.ModelReady(t.Context(), "m"))
			})
		}
	}
}

// What the predictor refuses, the transformer's caller is told, whatever is spoken between them.
func TestThePredictorsWordsReachTheCaller(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "features.json"), []byte(`{"a": [1, 2]}`), 0o600))
	predictor := iris(t)
	for _, to := range exampletest.Protocols() {
		s := exampletest.Transformer(t, &lookup{}, dir, predictor, to)
		for _, from := range exampletest.Protocols() {
			keys := &tensor.Request{Model: "m", Inputs: []*tensor.Tensor{tensor.FromStrings("key", []string{"a"}, 1)}}
			err := s.Client(t, from).Predict(t.Context(), keys, &tensor.Response{})
			require.Equal(t, protocol.Invalid, protocol.From(err).Code, "%s before %s", from, to)
			require.ErrorContains(t, err, "expected 4 features in a row, got 2", "%s before %s", from, to)
		}
	}
}

func TestFeaturesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "features.json",
		"nonsense":                      "read features.json",
		`{"a": [1, 2], "b": [1, 2, 3]}`: "numbers, others have",
	} {
		dir := t.TempDir()
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "features.json"), []byte(text), 0o600))
		}
		require.ErrorContains(t, (&lookup{}).Load(t.Context(), dir), want)
	}
}
