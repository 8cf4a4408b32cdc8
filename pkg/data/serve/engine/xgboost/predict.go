// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package xgboost

import (
	"context"
	"math"

	"github.com/kserve-go/kserve-go/pkg/data/protocol"
	"github.com/kserve-go/kserve-go/pkg/data/trees"
)

// Output is what a prediction gives.
type Output uint8

// The outputs.
const (
	Value Output = iota
	Margin
	Leaf
	Contributions
)

// Call says what to predict: the output, from the iterations [First, Last). Last 0 means all.
type Call struct {
	Output      Output
	First, Last int
}

// Rounds is the number of boosting iterations.
func (b *Booster) Rounds() int { return max(len(b.rounds)-1, 0) }

// span is the trees of a call.
func (b *Booster) span(c Call) (first, last int, err error) {
	n := b.Rounds()
	if b.forest == nil {
		if c.First != 0 || c.Last != 0 {
			return 0, 0, protocol.Errorf(protocol.Invalid, "a gblinear model has no iterations to choose from")
		}
		return 0, 0, nil
	}
	if c.Last == 0 {
		c.Last = n
	}
	if c.First < 0 || c.Last < c.First || c.Last > n {
		return 0, 0, protocol.Errorf(protocol.Invalid, "iteration_range is [%d, %d), the model has %d iterations", c.First, c.Last, n)
	}
	return b.rounds[c.First], b.rounds[c.Last], nil
}

// Shape is the shape of a call's result for a number of rows.
func (b *Booster) Shape(c Call, rows int) ([3]int64, int, error) {
	first, last, err := b.span(c)
	n := int64(rows)
	switch {
	case err != nil:
		return [3]int64{}, 0, err
	case c.Output == Leaf && b.forest == nil:
		return [3]int64{}, 0, protocol.Errorf(protocol.Invalid, "a gblinear model has no leaves: pred_leaf cannot be answered")
	case c.Output == Leaf:
		return [3]int64{n, int64(last - first)}, 2, nil
	case c.Output == Contributions && b.Groups > 1:
		return [3]int64{n, int64(b.Groups), int64(b.Features) + 1}, 3, nil
	case c.Output == Contributions:
		return [3]int64{n, int64(b.Features) + 1}, 2, nil
	case b.Groups == 1 || b.link == softmax && c.Output == Value:
		return [3]int64{n}, 1, nil
	default:
		return [3]int64{n, int64(b.Groups)}, 2, nil
	}
}

// Predict writes the values or margins of a call into out, Groups numbers a row; for multi:softmax the first Rows of them are the
// classes. The rows must not hold infinities; see Check.
func (b *Booster) Predict(m trees.Matrix, c Call, out []float32) error {
	first, last, err := b.span(c)
	if err != nil {
		return err
	}
	out = out[:m.Rows*b.Groups]
	for i := 0; i < len(out); i += b.Groups {
		copy(out[i:], b.base)
	}
	if b.forest != nil {
		b.forest.Sum(m, first, last, out)
	} else {
		b.linear(m, out)
	}
	if c.Output == Value {
		b.link.apply(out, b.Groups)
	}
	return nil
}

func value(m *trees.Matrix, row, col int) float32 {
	if m.F32 != nil {
		return m.F32[row*m.Cols+col]
	}
	return float32(m.F64[row*m.Cols+col])
}

// linear adds the features times their weights; missing values count nothing.
func (b *Booster) linear(m trees.Matrix, out []float32) {
	bias := b.weights[b.Features*b.Groups:]
	for r := range m.Rows {
		for g := range b.Groups {
			sum := bias[g] + out[r*b.Groups+g]
			for f := range m.Cols {
				if v := value(&m, r, f); v == v {
					// The conversion keeps the product from being fused with the sum.
					sum += float32(v * b.weights[f*b.Groups+g])
				}
			}
			out[r*b.Groups+g] = sum
		}
	}
}

// Leaves writes the number of the leaf that each row reaches in each tree of a call.
func (b *Booster) Leaves(m trees.Matrix, c Call, out []int32) error {
	first, last, err := b.span(c)
	if err != nil {
		return err
	}
	b.forest.Leaves(m, first, last, out)
	return nil
}

// Contributions writes what each feature contributes to each margin, Features + 1 numbers an output; the last is what does not
// depend on the row.
func (b *Booster) Contributions(ctx context.Context, m trees.Matrix, c Call, out []float64) error {
	first, last, err := b.span(c)
	if err != nil {
		return err
	}
	clear(out)
	width := b.Features + 1
	if b.forest == nil {
		b.linearContributions(m, out)
	} else if err := b.forest.Contributions(m, first, last, out, ctx.Err); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return protocol.Errorf(protocol.Unsupported, "pred_contribs: %s", err)
	}
	for i := range m.Rows * b.Groups {
		out[(i+1)*width-1] += float64(b.base[i%b.Groups])
	}
	return nil
}

func (b *Booster) linearContributions(m trees.Matrix, out []float64) {
	width := b.Features + 1
	for r := range m.Rows {
		for g := range b.Groups {
			row := out[(r*b.Groups+g)*width:][:width]
			row[b.Features] = float64(b.weights[b.Features*b.Groups+g])
			for f := range m.Cols {
				if v := value(&m, r, f); v == v {
					row[f] = float64(v * b.weights[f*b.Groups+g])
				}
			}
		}
	}
}

// Check refuses infinities, which XGBoost refuses too: values that a float32 cannot hold are among them.
func Check(name string, m trees.Matrix) error {
	at := -1
	for i, v := range m.F32 {
		if v-v != 0 && v == v {
			at = i
			break
		}
	}
	for i, v := range m.F64 {
		if math.Abs(v) > math.MaxFloat32 && math.IsInf(float64(float32(v)), 0) {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	return protocol.Errorf(protocol.Invalid, "input %q: row %d, column %d is infinite or too large for a float32", name, at/m.Cols, at%m.Cols)
}
