// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

// Command feature-lookup is a transformer: clients send keys, the predictor gets the features that belong to them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

// lookup has the features of each key. A bigger one would ask a feature store in Preprocess, with the context's deadline.
type lookup struct {
	features map[string][]float64
	width    int
}

// Load reads features.json in the model directory: {"key": [numbers], …}.
func (l *lookup) Load(_ context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "features.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &l.features); err != nil {
		return fmt.Errorf("read features.json: %w", err)
	}
	for key, row := range l.features {
		if l.width == 0 {
			l.width = len(row)
		}
		if len(row) != l.width {
			return fmt.Errorf("features.json: %q has %d numbers, others have %d", key, len(row), l.width)
		}
	}
	return nil
}

// Preprocess takes keys as texts, in V1 {"instances": ["a", "b"]}, and makes a row of features of each.
func (l *lookup) Preprocess(_ context.Context, in *tensor.Request) (*tensor.Request, error) {
	if len(in.Inputs) != 1 || in.Inputs[0].Type != tensor.Bytes {
		return nil, protocol.Errorf(protocol.Invalid, "expected one list of keys")
	}
	keys := in.Inputs[0]
	rows := make([]float64, 0, keys.Len()*l.width)
	for i := range keys.Len() {
		row, ok := l.features[string(keys.Bytes(i))]
		if !ok {
			return nil, protocol.Errorf(protocol.NotFound, "there are no features of the key %.100q", keys.Bytes(i))
		}
		rows = append(rows, row...)
	}
	return &tensor.Request{Inputs: []*tensor.Tensor{
		tensor.From("input-0", tensor.FP64, rows, int64(keys.Len()), int64(l.width)),
	}}, nil
}

func main() { os.Exit(serve.RunTransformer(&lookup{})) }
