// Copyright 2026 The kserve-go Authors.
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"math/rand/v2"
	"testing"

	"github.com/kserve-go/kserve-go/pkg/data/tensor"
)

func BenchmarkAppendElements(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	doubles, singles, labels := make([]float64, 1000), make([]float32, 1000), make([]int64, 1000)
	for i := range doubles {
		doubles[i], singles[i], labels[i] = r.Float64(), r.Float32(), int64(i%3)
	}
	for name, t := range map[string]*tensor.Tensor{
		"FP64":  tensor.From("x", tensor.FP64, doubles, 1000),
		"FP32":  tensor.From("x", tensor.FP32, singles, 1000),
		"INT64": tensor.From("x", tensor.Int64, labels, 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				var err error
				if out, err = AppendElements(out[:0], t, 0, t.Len()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
