// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package sklearn

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/pickle"
	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/serve/engine"
	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

const models = "../../../../../test/data/models"

// FuzzOpen changes real model files: what opens must answer, or refuse, every method without a panic.
func FuzzOpen(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(models, "sklearn-*", "model", "model.*"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) < 6<<10 {
			f.Add(data)
		}
	}
	e := &sklearnEngine{registry: newRegistry()}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := e.load(bytes.NewReader(data), pickle.Options{Size: int64(len(data)), MaxBytes: 4 << 20}, 1)
		if err != nil {
			var bad *engine.BadModel
			var unsupported *engine.Unsupported
			if !errors.As(err, &bad) && !errors.As(err, &unsupported) {
				t.Fatalf("an error of another type: %T %v", err, err)
			}
			return
		}
		meta := m.Metadata()
		for _, method := range meta.Methods {
			for _, in := range fuzzInputs(&meta) {
				var out tensor.Response
				in.Method = method
				err := m.Predict(t.Context(), in, &out)
				var e *protocol.Error
				if err != nil && !errors.As(err, &e) {
					t.Fatalf("%s: an error of another type: %T %v", method, err, err)
				}
			}
		}
	})
}

// fuzzInputs are a matrix, a row of strings and a data frame of the model's width, and a list of texts.
func fuzzInputs(meta *engine.Metadata) []*tensor.Request {
	shape := meta.Inputs[0].Shape
	width := max(shape[len(shape)-1], 1)
	if width > 1<<10 {
		return nil
	}
	values := make([]float64, 3*width)
	for i := range values {
		values[i] = float64(i%7) * 1.5
	}
	text := make([]string, width)
	columns := make([]*tensor.Tensor, width)
	for i := range columns {
		text[i] = "Lima"
		columns[i] = tensor.From("x", tensor.FP64, values[:3], 3)
		if i < len(meta.Features) {
			columns[i].Name = meta.Features[i]
		}
	}
	return []*tensor.Request{
		{Inputs: []*tensor.Tensor{tensor.From("input-0", tensor.FP64, values, 3, width)}},
		{Inputs: []*tensor.Tensor{tensor.FromStrings("input-0", text, 1, width)}},
		{Frame: true, Inputs: columns},
		{Inputs: []*tensor.Tensor{tensor.FromStrings("input-0", []string{"Lima, a city: 東京 cities", ""}, 2)}},
	}
}
