// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Golden is a request and the answer that the Python library gave, as deploy/samples/golden has them.
type Golden struct {
	Service string
	Library string
	Request struct {
		Instances [][]float64
	}
	Predictions json.RawMessage
	Datatype    string
	Shape       []int64
	Tolerance   struct{ Abs, Rel float64 }
}

// ReadGolden reads one file.
func ReadGolden(path string) (*Golden, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var g Golden
	if err := json.Unmarshal(raw, &g); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &g, nil
}

// Flat is the predictions in row-major order.
func (g *Golden) Flat() ([]float64, error) { return Flatten(g.Predictions) }

// Flatten is the numbers of a nested JSON list in order.
func Flatten(raw json.RawMessage) ([]float64, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		var v float64
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("%.60s is no number", raw)
		}
		return []float64{v}, nil
	}
	var all []float64
	for _, e := range list {
		part, err := Flatten(e)
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	return all, nil
}

// Compare says how got differs from the golden predictions; nil when it does not.
func (g *Golden) Compare(got []float64) error {
	want, err := g.Flat()
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d values, want %d", len(got), len(want))
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= g.Tolerance.Abs+g.Tolerance.Rel*math.Abs(want[i])) {
			return fmt.Errorf("value %d is %v, want %v", i, got[i], want[i])
		}
	}
	return nil
}
